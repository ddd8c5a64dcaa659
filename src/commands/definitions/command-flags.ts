import { settingFlag } from '../../config/settings.ts';
import { flagGroup, joinFlags } from '../../flag.ts';
import { faultForms } from '../../local-service/fault-terms.ts';
import { allOperations } from '../../operations/all-operations.ts';
import { changesNothing } from '../../operations/operation.ts';
import { resultFilters, resultFlagNames, spreadsheetFlag } from '../../output/output-format.ts';
import { lintKindNames } from '../../reports/lint/lint-kinds.ts';

// The own flags of commands, apart from the commands, so that help and completion load nothing else of them.

export const yesFlag = flagGroup('Common', { '-y, --yes': 'Do not ask for confirmation' });

export const credentialFlags = flagGroup('Common', {
  '--password-stdin': 'Read the password from stdin',
  '--password-file <file>': 'Read the password from a file',
  '--token-stdin': 'Read the token for chat and training from stdin',
  '--token-file <file>': 'Read the token from a file',
  '--no-token': {
    summary: 'The server needs no credentials; requests are sent without any',
    conflicts: ['token-stdin', 'token-file'],
  },
  '--keychain': "Store the secrets in the operating system's keychain, if available",
  '--no-verify': 'Store the credentials without verifying them',
});

export const callProjectFlag = flagGroup('Common', { '--project-id <entity/project>': projectForm('the calls') });

export const callRunFlags = joinFlags(
  flagGroup('Common', {
    '--project-id <entity/project>': projectForm('the call'),
    '--op-name <name>': { summary: 'Name of the operation', default: 'the name of the command' },
    '--require': 'Record the call first, and run the command only if the service confirms it',
    '--grace <duration>': { summary: 'How long to wait for the service after the command ends', default: '5s' },
  }),
  flagGroup('Call', {
    '--inputs <none|name|argv>': {
      summary:
        'What to record of the command line: nothing, the name of the command (default), or all arguments; of these svc redacts its own credentials, values of variables and flags whose names mark secrets, and passwords in URLs, and records other secrets',
      choices: ['none', 'name', 'argv'],
    },
    '--env <name>...': 'Record this environment variable (repeatable)',
    '--no-parent': 'Start a new trace, even if TRACEPARENT names a parent',
    '--exact': 'Record no attributes and no parent',
    '--log-file <file>': 'Append a JSON line with ids, times and exit code',
    '--exit-feedback[=<type>]': 'Send exit code and duration as feedback on the call (default type: exit)',
    '--spool[=<only>]': {
      summary: 'Keep the record on disk until it is confirmed; with =only, send it later with svc call flush',
      choices: ['only'],
    },
  }),
);

export const lintFlags = flagGroup('Common', {
  '-f, --file <file>': 'A whole training body; - is stdin',
  '--group-by <path>': 'Group trajectories by the value at this path, such as metadata.task',
  '--fail-on <kinds>...': {
    summary: `Exit with 13 on findings of these kinds, separated by commas: any, ${lintKindNames.join(', ')}`,
    offers: ['any', ...lintKindNames],
  },
  '--strict': 'Exit with 3 on warnings, too, as svc train --strict does',
  '--annotations <github>': {
    summary: 'Also print each finding on stderr as a workflow command, which GitHub shows beside the line',
    choices: ['github'],
  },
  '--plot': {
    summary: 'Print as text, also when piped, with a histogram of the differences within groups',
    conflicts: resultFlagNames,
  },
  '--html <file>': 'Also write a self-contained HTML page with charts and links to the data',
});

export const limitJobsFlag = flagGroup('Common', { '--limit <n>': 'Show only the newest n jobs' });

export const limitRequestsFlag = flagGroup('Common', { '--limit <n>': 'Show only the newest n requests' });

export const pruneFlags = flagGroup('Common', {
  '--older-than <age>': 'Remove what is older: 90s, 15m, 12h, 7d, 2w',
  '--max-size <size>': 'Keep the newest requests up to this size, such as 10M',
  '-n, --dry-run': 'Report what would be removed, and remove nothing',
});

export const serveFlags = joinFlags(
  flagGroup('Common', {
    '--port <n>': { summary: 'Port on 127.0.0.1', default: '0, a free port' },
    '--data <file|url>': {
      summary: 'Database file, or postgres://user@host/database',
      default: 'svc.db in the data directory',
    },
    '--credentials <file>': { summary: 'JSON file with username, password and token', conflicts: ['no-auth'] },
    '--no-auth': 'Accept requests without credentials',
    '--upstream <url>': 'Forward chats to this server (vLLM, llama.cpp, Ollama); its token is SVC_UPSTREAM_TOKEN',
    '--models <names>': {
      summary: 'Serve only these models, separated by commas; other names get 404',
      default: 'every name',
      conflicts: ['upstream'],
    },
    '--max-body <size>':
      'Reject bodies above this size with 413, such as 8M; the limits of the operations always apply',
    '--log <format>': {
      summary: 'Log each request on stderr: text, json or off',
      default: 'off',
      choices: ['text', 'json', 'off'],
    },
    '--prune <age>': {
      summary: 'Remove what was stored longer ago, at the start and each hour: 12h, 7d, 2w',
      default: 'keep all',
    },
    '--drain <duration>': { summary: 'Time for requests in flight after SIGTERM', default: '5s' },
    '--open': 'Print a login link to the page of the service, valid once within 60 s, and open it in a browser',
  }),
  flagGroup('Testing', {
    '--fault <rule>...': `Inject failures; a rule is terms joined by commas, such as operation=chat,status=503. Terms: ${faultForms.join(', ')} (repeatable)`,
    '--record <file>': 'Record requests and responses as HAR 1.2, without credentials',
    '--replay <file>': {
      summary: 'Respond from a HAR file; exit with 13 at the end if a request was not recorded',
      conflicts: ['record', 'fault', 'upstream', 'models', 'data', 'max-body', 'open', 'prune'],
    },
  }),
);

export const mergeFlags = flagGroup('Common', {
  '--input <file>': 'Input file of the batches, to detect missing lines at its end',
  '-o, --output <file>': 'Write the results to a file; - is stdout',
  '--join <file>': {
    summary:
      'Write the rows of this CSV or TSV file, which --rows sent, with the columns of --columns; not with --format, --json or --jq',
    conflicts: ['output-format', ...resultFlagNames],
    instead: { jq: 'filters of results are columns: --join <file> --columns <name>=<filter>' },
  },
  '--delimiter <character>': { summary: 'What separates the cells of --join', default: 'found in the header' },
  '--columns <name=filter>...':
    'Columns that --join adds: jq filters for the result of the row, such as a=.x,b=.y, or names, such as text,latency_ms,cost; if one is a column of the table, the output has exactly those listed (repeatable)',
  ...spreadsheetFlag,
  '--output-format <openai>': {
    summary: 'Write the results as OpenAI batches have them',
    choices: ['openai'],
    conflicts: Object.keys(resultFilters),
  },
});

export const batchReportFlags = joinFlags(
  flagGroup('Common', {
    '--html <file>': 'Also write a self-contained HTML page with charts and samples',
    '--input <file>': 'The input of the batch, for the lines or rows of the samples in the page',
    '--plot': { summary: 'Print as text, also when piped, with finer histograms', conflicts: resultFlagNames },
    '--compare': 'Compare two outputs: figures side by side, and lines that got worse, got better, or changed',
  }),
  [settingFlag('price_prompt'), settingFlag('price_completion')],
);

export const specFlags = flagGroup('Common', {
  '--response': 'Print the schema of the response',
  '--reply': { summary: 'The same as --response', isHidden: true },
  '--skeleton[=<all>]': {
    summary:
      'Print the smallest valid body, with the fields that flags set; =all prints every field with a comment, as YAML (train: JSONC)',
    choices: ['all'],
  },
  '--openapi': 'Print all operations as an OpenAPI 3.1 document',
});

export const doctorFlags = flagGroup('Common', {
  '--probe': 'Also call feedback schema, which changes nothing; not with a token alone',
  '--all': 'Also list defaults, and the settings that are not set',
});

export const mcpFlags = flagGroup('Common', {
  '--allow <tools>...': {
    summary: `Also offer these tools: ${writingToolNames().join(', ')}; separated by commas, or repeated`,
    offers: writingToolNames(),
  },
  '--print <client>': {
    summary: 'Print the registration of this server for a client: claude, codex, cursor or vscode',
    choices: ['claude', 'codex', 'cursor', 'vscode'],
  },
});

function projectForm(owner: string) {
  const summary = `Project of ${owner} (default: from the environment or profile)`;
  return { summary, completes: 'projects' } as const;
}

// The tools that svc mcp offers only with --allow.
function writingToolNames(): string[] {
  return allOperations.flatMap((one) => (changesNothing(one) ? [] : one.command.join('_'))).sort();
}
