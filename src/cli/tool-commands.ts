import type { Command } from '../command.ts';
import { settingFlag } from '../config/settings.ts';
import { type Flag, flagGroup } from '../flag.ts';
import { faultForms } from '../local-service/fault-terms.ts';
import { allOperations } from '../operations/all-operations.ts';
import { changesNothing } from '../operations/operation.ts';
import { lintKindNames } from '../reports/lint/lint-kinds.ts';
import { resultFilters, resultFlagNames } from '../results/output-format.ts';
import { bodyFlags } from './operation-commands.ts';
import { defineCommands, filterForms, localFlags, profileFlag, serviceFlags, yesFlag } from './shared-flags.ts';

/** The topics of `svc help` beside the commands. Their texts are in docs/help-topics.ts, which only help loads. */
export const helpTopicNames = [
  'bodies',
  'batch',
  'exit-codes',
  'environment',
  'connection',
  'output',
  'profiles',
  'retries',
  'training',
  'tracing',
  'local-service',
] as const;

export const toolCommands: readonly Command[] = defineCommands('Tools', {
  'train lint': {
    summary: 'Check trajectories without sending them',
    about:
      'Needs no credentials. Reports groups, trajectories, rewards and sizes, and data that a service accepts although it contains no training signal. Counts all findings, and prints the first ones of each kind (--json: the first 100). Minimum and maximum of rewards are exact; mean and standard deviation are doubles. Exits with 3 if a file is invalid.',
    argument: {
      name: 'files',
      summary: 'Trajectory groups: JSON arrays, JSONL with one group per line, gzip, directories; - is stdin',
      isRepeatable: true,
      isFile: true,
    },
    flags: {
      '-f, --file <file>': 'A whole training body; - is stdin',
      '--group-by <path>': 'Group trajectories by the value at this path, such as metadata.task',
      '--fail-on <kinds>...': {
        summary: `Exit with 13 on findings of these kinds, separated by commas: any, ${lintKindNames.join(', ')}`,
        offers: ['any', ...lintKindNames],
      },
      '--annotations <github>': {
        summary: 'Also print each finding on stderr as a workflow command, which GitHub shows beside the line',
        choices: ['github'],
      },
      '--plot': {
        summary: 'Print as text, also when piped, with a histogram of the differences within groups',
        conflicts: resultFlagNames,
      },
      '--html <file>': 'Also write a self-contained HTML page with charts and links to the data',
    },
    result: 'report',
    examples: {
      'train lint groups.jsonl': 'Summarize the training data',
      'train lint groups.jsonl --fail-on zero-variance,no-logprobs': 'Fail in CI if data has no training signal',
      'train lint runs.jsonl --group-by metadata.task': 'Group trajectories by task, one trajectory per line',
    },
    load: async () => (await import('../commands/train/lint.ts')).runTrainLint,
  },
  'train log': {
    summary: 'List the training jobs sent from this machine',
    about:
      'Lists time, id, digest of the body, size, outcome, service and files of each job that svc train sent or tried to send, newest last. A job with an unknown outcome may have been applied.',
    flags: { '--limit <n>': 'Show only the newest n jobs' },
    result: 'rows',
    examples: { 'train log --limit 10': 'Show the last jobs', 'train log --json': 'Print all jobs as JSON' },
    load: async () => (await import('../commands/log.ts')).runTrainLog,
  },
  log: {
    summary: 'List the requests sent from this machine, if the history is on',
    about:
      'Lists time, command, HTTP status, exit code, tokens, duration, model, last message (if bodies are recorded) and ids of each request, newest last. To enable the history, set SVC_HISTORY=1, or run svc profile set <name> --history on; with bodies instead of on, svc also records request and response bodies. Batch lines are recorded in their output files instead; traced commands and requests of svc mcp are not recorded.',
    flags: { '--limit <n>': 'Show only the newest n requests' },
    result: 'rows',
    examples: { 'log --limit 10': 'Show the last ten requests', 'log --json': 'Print all requests as JSON' },
    load: async () => (await import('../commands/log.ts')).runLog,
  },
  'log show': {
    summary: 'Show one recorded request with its bodies',
    argument: { name: 'n', summary: 'Number of the request in svc log', isRequired: true },
    result: 'document',
    examples: { 'log show 1': 'Show the first request' },
    load: async () => (await import('../commands/log.ts')).runLogShow,
  },
  'log prune': {
    summary: 'Remove old requests from the history',
    about:
      'Removes requests and prompts of interactive chats that are older than an age, or the oldest requests above a size, and reports how many.',
    flags: {
      '--older-than <age>': 'Remove what is older: 90s, 15m, 12h, 7d, 2w',
      '--max-size <size>': 'Keep the newest requests up to this size, such as 10M',
      '-n, --dry-run': 'Report what would be removed, and remove nothing',
    },
    result: 'record',
    examples: {
      'log prune --older-than 30d': 'Remove requests of more than 30 days ago',
      'log prune --max-size 10M --dry-run': 'Report how many requests exceed 10 MiB',
    },
    load: async () => (await import('../commands/log.ts')).runLogPrune,
  },
  'log clear': {
    summary: 'Remove all recorded requests and prompts',
    flags: () => yesFlag,
    result: 'record',
    examples: { 'log clear --yes': 'Remove the history without confirmation' },
    load: async () => (await import('../commands/log.ts')).runLogClear,
  },
  serve: {
    summary: 'Run the local service on a port',
    about:
      'Serves all operations from an embedded database, for development, tests and CI. Credentials come from SVC_USERNAME, SVC_PASSWORD and SVC_TOKEN or from a file; otherwise svc generates them and stores them next to the data.',
    flags: () => [
      ...flagGroup('Common', {
        '--port <n>': 'Port on 127.0.0.1 (default: 0, a free port)',
        '--data <file|url>': 'Database file, or postgres://user@host/database (default: svc.db in the data directory)',
        '--credentials <file>': { summary: 'JSON file with username, password and token', conflicts: ['no-auth'] },
        '--no-auth': 'Accept requests without credentials',
        '--upstream <url>': 'Forward chats to this server (vLLM, llama.cpp, Ollama); its token is SVC_UPSTREAM_TOKEN',
        '--models <names>': {
          summary: 'Serve only these models, separated by commas; other names get 404 (default: every name)',
          conflicts: ['upstream'],
        },
        '--max-body <size>':
          'Reject bodies above this size with 413, such as 8M; the limits of the operations always apply',
        '--log <format>': {
          summary: 'Log each request on stderr: text, json or off (default: off)',
          choices: ['text', 'json', 'off'],
        },
        '--prune <age>':
          'Remove what was stored longer ago, at the start and each hour: 12h, 7d, 2w (default: keep all)',
        '--drain <duration>': 'Time for requests in flight after SIGTERM (default: 5s)',
        '--open': 'Print a login link to the page of the service, valid once within 60 s, and open it in a browser',
      }),
      ...flagGroup('Testing', {
        '--fault <rule>...': `Inject failures; a rule is terms joined by commas, such as operation=chat,status=503. Terms: ${faultForms.join(', ')} (repeatable)`,
        '--record <file>': 'Record requests and responses as HAR 1.2, without credentials',
        '--replay <file>': {
          summary: 'Respond from a HAR file; exit with 13 at the end if a request was not recorded',
          conflicts: ['record', 'fault', 'upstream', 'models', 'data', 'max-body', 'open', 'prune'],
        },
      }),
    ],
    result: 'report',
    examples: {
      'serve --data ./svc.db --json': 'Use a free port and a separate database',
      'serve --fault operation=chat,every=3,status=429': 'Rate limit every third chat',
      'serve --port 8080 --upstream http://127.0.0.1:11434/v1': 'Forward chats to a model server',
    },
    load: async () => (await import('../commands/serve.ts')).runServe,
  },
  'batch merge': {
    summary: 'Combine the outputs of sharded batches',
    about:
      'Reads the files that --batch wrote with -o, one per shard, and prints one result per input line in input order. Reports missing lines.',
    argument: { name: 'files', summary: 'Output files of the shards', isRepeatable: true, isFile: true },
    flags: {
      '--input <file>': 'Input file of the batches, to detect missing lines at its end',
      '-o, --output <file>': 'Write the results to a file; - is stdout',
      '--join <file>': {
        summary: 'Write the rows of this CSV or TSV file, which --rows sent, with the columns of --columns',
        conflicts: ['output-format', ...resultFlagNames],
      },
      '--columns <name=filter>...': 'A column that --join adds: a jq filter for the result of the row (repeatable)',
      '--output-format <openai>': {
        summary: 'Write the results as OpenAI batches have them',
        choices: ['openai'],
        conflicts: Object.keys(resultFilters),
      },
    },
    result: 'lines',
    examples: {
      'batch merge a.jsonl b.jsonl --input prompts.jsonl -o all.jsonl': 'Combine two shards and report missing lines',
    },
    load: async () => (await import('../commands/batch/merge.ts')).runBatchMerge,
  },
  'batch report': {
    summary: 'Summarize the output of a batch',
    about:
      'Reads output files of --batch and prints counts, failures by cause, token sums, latency and expectations; on a terminal, also histograms.',
    argument: { name: 'files', summary: 'Output files of batches', isRepeatable: true, isFile: true },
    flags: {
      '--html <file>': 'Also write a self-contained HTML page with charts and samples',
      '--compare': 'Compare two outputs: figures side by side, and lines that got worse, got better, or changed',
    },
    result: 'report',
    examples: { 'batch report a.jsonl b.jsonl --compare --html report.html': 'Compare two runs, with charts' },
    load: async () => (await import('../commands/batch/report.ts')).runBatchReport,
  },
  spec: {
    summary: 'Print the JSON Schema, a skeleton, or the OpenAPI document',
    argument: {
      name: 'command',
      summary: 'The operation, such as chat or feedback replace',
      isRepeatable: true,
      offers: [...new Set(allOperations.map(({ command: [first = ''] }) => first))],
    },
    flags: () => [
      ...flagGroup('Common', {
        '--response': 'Print the schema of the response',
        '--reply': { summary: 'The same as --response', isHidden: true },
        '--skeleton[=<all>]': {
          summary:
            'Print the smallest valid body, with the fields that flags set; =all prints every field with a comment, as YAML (train: JSONC)',
          choices: ['all'],
        },
        '--openapi': 'Print all operations as an OpenAPI 3.1 document',
      }),
      ...skeletonFlags(),
    ],
    result: 'document',
    hides: ['verbose', 'quiet'],
    examples: {
      'spec chat': 'Print the schema of a chat body',
      'spec chat --skeleton=all': 'Print every field with comments',
      'spec feedback replace --skeleton --project-id acme/support-bot': 'Print a body to fill in',
      'spec --openapi': 'Print an OpenAPI document for other tools',
    },
    load: async () => (await import('../commands/spec/spec.ts')).runSpec,
  },
  doctor: {
    summary: 'Show the settings in effect and test the connection',
    about:
      'Shows the settings in effect with their sources and the files that svc uses, and connects to each base URL (TCP and TLS). Only --probe calls an operation and runs a credential command. Secrets are redacted. Exits with 0 if there are no errors, otherwise with the first of: 12 (a file is unusable), 2 (a setting is invalid, or there is no base URL), 13 (insecure), 4 (no credentials), 5 to 9 or 11 (the probe failed), 7 (could not connect).',
    flags: () => [
      profileFlag,
      ...localFlags,
      ...(['base_url', 'cacert', 'cert', 'key'] as const).map(settingFlag),
      ...flagGroup('Common', {
        '--probe': 'Also call feedback schema, which changes nothing; not with a token alone',
        '--all': 'Also list defaults, and the settings that are not set',
      }),
    ],
    result: 'report',
    hides: [],
    examples: {
      doctor: 'Show the settings and test the connection',
      'doctor --profile work --probe --json': 'Also test the credentials, and print JSON',
    },
    load: async () => (await import('../commands/doctor/doctor.ts')).runDoctor,
  },
  completion: {
    summary: 'Print a completion script for a shell',
    about:
      'bash: source <(svc completion bash). zsh: save the output as _svc in a directory of $fpath. fish: svc completion fish | source. Completion offers commands, flags, values and files, and the profiles, projects and models found in the environment, the configuration and the history. It never opens a connection.',
    argument: { name: 'shell', summary: 'Shell of the script', isRequired: true, choices: ['bash', 'zsh', 'fish'] },
    hides: ['verbose', 'quiet'],
    examples: { 'completion bash': 'Print the script for bash' },
    load: async () => (await import('../commands/completion.ts')).runCompletion,
  },
  help: {
    summary: 'Show help for a command or topic',
    argument: { name: 'topic', summary: 'A command or a topic', isRepeatable: true, offers: helpTopicNames },
    flags: {
      '--json': {
        summary: 'Print the command tree, or the named commands, as JSON: flags, types, defaults, examples',
        conflicts: ['skill'],
      },
      ...filterForms({ conflicts: ['skill'] }),
      '--skill': 'Print a skill file for agents',
    },
    hides: ['verbose', 'quiet'],
    examples: { 'help exit-codes': 'List the exit codes' },
    load: async () => (await import('./docs/show-help.ts')).runHelp,
  },
  mcp: {
    summary: 'Serve the operations as tools for agents (MCP)',
    about:
      'Serves the Model Context Protocol over stdin and stdout, in every revision from 2024-11-05 to 2026-07-28. Offers tools that write only if --allow names them.',
    flags: () => [
      ...flagGroup('Common', {
        '--allow <tools>...': {
          summary: `Also offer these tools: ${writingToolNames().join(', ')}; separated by commas, or repeated`,
          offers: writingToolNames(),
        },
        '--print <client>': {
          summary: 'Print the registration of this server for a client: claude, codex, cursor or vscode',
          choices: ['claude', 'codex', 'cursor', 'vscode'],
        },
      }),
      ...serviceFlags(),
    ],
    hides: [],
    examples: {
      'mcp --local --allow call_start,feedback_replace': 'Serve the local service, with two tools that write',
      'mcp --profile work --print claude': 'Print the registration for a client',
    },
    load: async () => (await import('../commands/mcp/mcp.ts')).runMcp,
  },
});

// The flags of all bodies, which fill a skeleton in; those of one name mean the same.
function skeletonFlags(): Flag[] {
  const flags = allOperations.flatMap(bodyFlags).filter(({ name }) => name !== 'conversation');
  const all = [...flags, ...flagGroup('Body', { '--set <path=text>...': 'Set a field' })];
  const byName = new Map(all.map((flag) => [flag.name, flag]));
  return Array.from(byName.values(), ({ conflicts: _conflicts, ...flag }) => ({ ...flag, isHidden: true }));
}

// The tools that svc mcp offers only with --allow.
function writingToolNames(): string[] {
  return allOperations.flatMap((one) => (changesNothing(one) ? [] : one.command.join('_'))).sort();
}
