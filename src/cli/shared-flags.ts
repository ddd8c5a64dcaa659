import { batchFlags } from '../batch/batch-flags.ts';
import { settingFlag } from '../config/settings.ts';
import { type Flag, flagGroup } from '../flag.ts';
import type { Operation } from '../operations/operation.ts';
import { type ResultKind, requestResultKind, resultKinds, schemaViewNames } from '../results/output-format.ts';

/** Flags that every command takes: how much it reports, and in which format. */
export const reportFlags: readonly Flag[] = [
  ...flagGroup('Output', {
    '-v, --verbose': 'Show requests and responses; secrets are redacted',
    '-q, --quiet': 'Print errors only',
  }),
  settingFlag('error_format'),
  ...flagGroup('Output', {
    '--color <when>': {
      summary: 'Color: auto, always or never (default: auto); --no-color is never',
      choices: ['auto', 'always', 'never'],
      hasOff: true,
      offSummary: 'Print without color',
    },
    '--no-input': 'Never prompt and start no interactive session; the same as CI=1',
  }),
];

/** The same flags, of which some have no effect on a command: it accepts them, and help does not list them. */
export function reportFlagsExcept(...hidden: readonly ('verbose' | 'quiet')[]): Flag[] {
  const names: readonly string[] = hidden;
  return reportFlags.map((flag) => (names.includes(flag.name) ? { ...flag, isHidden: true } : flag));
}

/** The flags that select the format of a result, among those that its kind has. */
export function resultFlags(kind: ResultKind): Flag[] {
  const { formats } = resultKinds[kind];
  return flagGroup('Output', {
    '--format <format>': {
      summary: `Format of the result: ${formats.join(', ')}`,
      choices: formats,
      choicesBeside: (flags) => resultKinds[requestResultKind(kind, flags)].formats,
    },
    '--json': 'Same as --format json',
    '--jq <filter>': 'Filter the JSON with jq; strings are printed without quotes',
  });
}

/** Skips a confirmation. */
export const yesFlag: readonly Flag[] = flagGroup('Common', { '-y, --yes': 'Do not ask for confirmation' });

/** Selects the profile. */
export const profileFlag: Flag = settingFlag('profile');

/** The certificate files of TLS, named as in curl. */
export const certificateFlags: readonly Flag[] = (['cacert', 'cert', 'key'] as const).map(settingFlag);

/** Selects the local service. */
export const localFlags: readonly Flag[] = flagGroup('Service', {
  '--local': 'Use the local service; needs no network and no credentials',
});

const trainFlags: readonly Flag[] = [
  ...flagGroup('Body', {
    '--group-by <path>': {
      summary: 'Field that groups the trajectories of files with one per line, such as metadata.task',
      conflicts: ['batch'],
    },
  }),
  ...flagGroup('Service', {
    '--allow-duplicate': 'Send the job even if the same one was already sent from this machine',
  }),
];

const traceFlags: readonly Flag[] = [
  ...flagGroup('Body', { '--no-parent': 'Ignore the parent call that TRACEPARENT names' }),
  ...flagGroup('Output', {
    '--export': {
      summary: 'Print export lines for eval, so that child processes continue the trace',
      conflicts: ['json', 'format', 'jq', 'batch', 'dry-run', 'curl'],
    },
  }),
];

const sendingFlags: readonly Flag[] = flagGroup('Output', {
  '-o, --output <file>': 'Write the result to a file; - is stdout',
  '-n, --dry-run': 'Print the request and send nothing',
  '--curl': { summary: 'Print the request as a curl command and send nothing', conflicts: ['dry-run'] },
});

/** The destination and the credentials of a request. */
export function serviceFlags(): Flag[] {
  return [
    profileFlag,
    ...localFlags,
    ...(['base_url', 'headers', 'timeout', 'retries'] as const).map(settingFlag),
    ...certificateFlags,
    ...flagGroup('Service', { '--allow-http': 'Allow credentials over plain http' }),
  ];
}

/** The flags that may come before the command: those that several commands share. */
export function sharedFlags(): Flag[] {
  return [...serviceFlags(), ...resultFlags('chat'), ...sendingFlags, ...reportFlags];
}

/** The flags of all five operations, in addition to those of their bodies. */
export function operationFlags(operation: Operation): Flag[] {
  const { as } = operation.arguments ?? {};
  return [
    ...flagGroup('Body', {
      '-f, --file <file>': {
        summary: 'Body to send: a JSON object, or YAML in a .yaml file; flags change its fields; - is stdin',
        isOnce: true,
      },
      '--set <path=value>...': 'Set a field by its path: a.b=text, or a.b:=JSON such as a.b:=null (repeatable)',
      '--exact': 'Send the body as given: add no fields',
      '--strict': { summary: 'Treat warnings as errors', conflicts: ['no-check'] },
      '--no-check': 'Treat errors in the body as warnings',
      '--[no-]stdin': {
        summary:
          'Read stdin, and wait for it without the limit of 10 minutes; --no-stdin never reads it, for example in a loop',
        offSummary: 'Never read stdin',
        conflicts: as === 'prompt' ? ['batch'] : ['batch', 'file'],
      },
    }),
    ...(typeof as === 'object' ? trainFlags : []),
    ...(operation.continuesTrace ? traceFlags : []),
    ...resultKindFlags(operation),
    ...batchFlags,
    ...serviceFlags(),
    ...resultFlags(operation.result.as),
    ...sendingFlags,
    ...reportFlags,
  ];
}

function resultKindFlags({ result }: Operation): readonly Flag[] {
  return result.as === 'rows' ? schemaFlags : result.as === 'chat' ? chatFlags : [];
}

const preview = ['dry-run', 'curl'] as const;

const schemaFlags: readonly Flag[] = [
  ...flagGroup('Common', {
    '--view <view>': {
      summary: `How to show the schema: ${schemaViewNames.join(', ')}`,
      choices: schemaViewNames,
      conflicts: ['format', 'json', 'jq', 'batch', ...preview],
    },
  }),
  ...flagGroup('Expectations', {
    '--expect <file>': {
      summary: 'Exit with 13 and list the differences if the schema differs from the one saved in this file',
      conflicts: ['batch', ...preview],
    },
    '--update': 'Write the file of --expect instead of comparing with it',
  }),
];

const chatFlags: readonly Flag[] = [
  ...flagGroup('Output', {
    '--extract <code|json>': {
      summary: 'Print only the first code block of the text, or the first JSON',
      choices: ['code', 'json'],
      conflicts: ['format', 'json', 'jq', 'batch'],
    },
    '--stats': {
      summary: 'Report tokens, time to the first token, tokens per second and retries on stderr',
      conflicts: ['batch'],
    },
  }),
  ...flagGroup('Common', {
    '--continue': {
      summary: 'Continue the last conversation in the history, which must include bodies (see svc log)',
      conflicts: ['conversation', 'batch'],
    },
  }),
  ...flagGroup('Expectations', {
    '--expect-text <regex>...': 'Exit with 13 unless the text matches this regular expression (repeatable)',
    '--expect-not <regex>...': 'Exit with 13 if the text matches this regular expression (repeatable)',
    '--expect-schema <@file>': 'Exit with 13 unless the text is JSON that conforms to this JSON Schema',
    '--expect-finish <reason>': {
      summary: 'Exit with 13 unless finish_reason has this value',
      offers: ['stop', 'length', 'tool_calls'],
    },
    '--expect-max-latency <duration>': 'Exit with 13 if the complete response takes longer, such as 2s',
    '--junit <file>': 'Write the outcome as a JUnit report, with one test case per request',
  }).map((flag) => ({ ...flag, conflicts: preview })),
];
