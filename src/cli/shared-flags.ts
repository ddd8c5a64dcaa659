import { batchFlags } from '../batch/batch-flags.ts';
import { type SettingName, settingFlag } from '../config/settings.ts';
import { type Flag, offFlag, repeatableFlag, switchFlag, valueFlag } from '../flag.ts';
import type { Operation } from '../operations/operation.ts';
import { type ResultKind, resultKinds, schemaViewNames } from '../results/output-format.ts';

const BODY_GROUP = 'Body';
const SERVICE_GROUP = 'Service';
const OUTPUT_GROUP = 'Output';

/** Flags that every command takes: how much it reports, and in which format. */
export const reportFlags: readonly Flag[] = [
  switchFlag('verbose', OUTPUT_GROUP, 'Show requests and responses; secrets are redacted', { short: 'v' }),
  switchFlag('quiet', OUTPUT_GROUP, 'Print errors only', { short: 'q' }),
  settingFlag('error_format'),
  valueFlag('color', '<when>', OUTPUT_GROUP, 'Color: auto, always or never (default: auto)', {
    choices: ['auto', 'always', 'never'],
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
  return [
    valueFlag('format', '<format>', OUTPUT_GROUP, `Format of the result: ${formats.join(', ')}`, { choices: formats }),
    switchFlag('json', OUTPUT_GROUP, 'Same as --format json'),
    valueFlag('jq', '<filter>', OUTPUT_GROUP, 'Filter the JSON with jq; strings print raw'),
  ];
}

/** Selects the profile. */
export const profileFlag: Flag = settingFlag('profile');

/** The flags of base URLs; all three hosts, or the one an operation uses. */
export function baseUrlFlags(hosts: readonly Operation['host'][]): Flag[] {
  const names: readonly SettingName[] = ['base_url', ...hosts.map((host) => `${host}_base_url` as const)];
  return names.map(settingFlag);
}

/** The certificate files of TLS, named as in curl. */
export const certificateFlags: readonly Flag[] = (['cacert', 'cert', 'key'] as const).map(settingFlag);

/** Selects the embedded service. */
export const localFlag: Flag = switchFlag(
  'local',
  SERVICE_GROUP,
  'Use the embedded service; needs no network and no credentials',
);

// How to read files that may be larger than memory.
const streamFlags: readonly Flag[] = [
  valueFlag(
    'group-by',
    '<path>',
    BODY_GROUP,
    'Field that groups the trajectories of files with one per line, such as metadata.task',
  ),
  offFlag(
    'spool',
    BODY_GROUP,
    'Send stdin and compressed input without a copy on disk; svc sends the end only after all checks pass',
  ),
  switchFlag('allow-duplicate', SERVICE_GROUP, 'Send the job even if the same one was already sent from here'),
];

const traceFlags: readonly Flag[] = [
  offFlag('parent', BODY_GROUP, 'Ignore the parent call that TRACEPARENT names'),
  switchFlag('export', OUTPUT_GROUP, 'Print export lines for eval, so that child processes continue the trace', {
    conflicts: ['json', 'format', 'jq', 'batch', 'dry-run', 'curl'],
  }),
];

const sendingFlags: readonly Flag[] = [
  valueFlag('output', '<file>', OUTPUT_GROUP, 'Write the result to a file; - is stdout', { short: 'o' }),
  switchFlag('dry-run', OUTPUT_GROUP, 'Print the request and send nothing'),
  switchFlag('curl', OUTPUT_GROUP, 'Print the request as a curl command and send nothing', { conflicts: ['dry-run'] }),
];

/** Where to send a request, and as whom. */
export function serviceFlags(...hosts: readonly Operation['host'][]): Flag[] {
  return [
    profileFlag,
    localFlag,
    ...baseUrlFlags(hosts),
    ...(['headers', 'timeout', 'retries'] as const).map(settingFlag),
    ...certificateFlags,
    switchFlag('allow-http', SERVICE_GROUP, 'Allow credentials over plain http'),
  ];
}

/** The flags that may come before the command: those that several commands share. */
export function sharedFlags(): Flag[] {
  return [...serviceFlags('trace', 'chat', 'train'), ...resultFlags('chat'), ...sendingFlags, ...reportFlags];
}

/** The flags of all five operations, in addition to those of their bodies. */
export function operationFlags(operation: Operation): Flag[] {
  const hasFileArguments = typeof operation.arguments?.as === 'object';
  return [
    valueFlag(
      'file',
      '<file>',
      BODY_GROUP,
      'Body to send: a JSON object, or YAML in a .yaml file; flags change it; - is stdin',
      { short: 'f', isOnce: true },
    ),
    repeatableFlag(
      'set',
      '<path=value>',
      BODY_GROUP,
      'Set a field by its path: a.b=text, or a.b:=JSON such as a.b:=null (repeatable)',
    ),
    switchFlag('exact', BODY_GROUP, 'Send the body as given: add no fields'),
    switchFlag('strict', BODY_GROUP, 'Treat warnings as errors', { conflicts: ['no-check'] }),
    offFlag('check', BODY_GROUP, 'Treat errors in the body as warnings'),
    ...(operation.arguments?.as === 'prompt'
      ? [offFlag('stdin', BODY_GROUP, 'Do not read stdin, for example in a loop')]
      : []),
    ...(hasFileArguments ? streamFlags : []),
    ...(operation.continuesTrace ? traceFlags : []),
    ...resultKindFlags(operation),
    ...batchFlags,
    ...serviceFlags(operation.host),
    ...resultFlags(operation.result.as),
    ...sendingFlags,
    ...reportFlags,
  ];
}

const EXPECTATION_GROUP = 'Expectations';
const preview = ['dry-run', 'curl'] as const;

/** The flags about the result of an operation that only its kind of result has. */
function resultKindFlags({ result }: Operation): readonly Flag[] {
  return result.as === 'rows' ? schemaFlags : result.as === 'chat' ? chatFlags : [];
}

const schemaFlags: readonly Flag[] = [
  valueFlag('view', '<view>', 'Common', `How to show the schema: ${schemaViewNames.join(', ')}`, {
    choices: schemaViewNames,
    conflicts: ['format', 'json', 'jq', 'batch', ...preview],
  }),
  valueFlag(
    'expect',
    '<file>',
    EXPECTATION_GROUP,
    'Exit with 13 and list the differences if the schema differs from the one saved in this file',
    { conflicts: ['batch', ...preview] },
  ),
  switchFlag('update', EXPECTATION_GROUP, 'Write the file of --expect instead of comparing with it'),
];

const chatFlags: readonly Flag[] = [
  valueFlag('extract', '<kind>', 'Output', 'Print only the first code block of the text, or the first JSON', {
    choices: ['code', 'json'],
    conflicts: ['format', 'json', 'jq', 'batch'],
  }),
  switchFlag('stats', 'Output', 'Report tokens, time to the first token, tokens per second and retries on stderr', {
    conflicts: ['batch'],
  }),
  switchFlag('continue', 'Common', 'Continue the last conversation in the history, which must keep bodies (svc log)', {
    conflicts: ['conversation', 'batch'],
  }),
  repeatableFlag(
    'expect-text',
    '<regex>',
    EXPECTATION_GROUP,
    'Exit with 13 unless the text matches this regular expression (repeatable)',
    { conflicts: preview },
  ),
  repeatableFlag(
    'expect-not',
    '<regex>',
    EXPECTATION_GROUP,
    'Exit with 13 if the text matches this regular expression (repeatable)',
    { conflicts: preview },
  ),
  valueFlag(
    'expect-schema',
    '<@file>',
    EXPECTATION_GROUP,
    'Exit with 13 unless the text is JSON that conforms to this JSON Schema',
    { conflicts: preview },
  ),
  valueFlag('expect-finish', '<reason>', EXPECTATION_GROUP, 'Exit with 13 unless finish_reason has this value', {
    offers: ['stop', 'length', 'tool_calls'],
    conflicts: preview,
  }),
  valueFlag(
    'expect-max-latency',
    '<time>',
    EXPECTATION_GROUP,
    'Exit with 13 if the complete response takes longer, such as 2s',
    { conflicts: preview },
  ),
  valueFlag(
    'junit',
    '<file>',
    EXPECTATION_GROUP,
    'Write the outcome as a JUnit report, with one test case per request',
    { conflicts: preview },
  ),
];
