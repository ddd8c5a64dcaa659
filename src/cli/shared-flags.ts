import { batchFlags } from '../batch/batch-flags.ts';
import { type SettingName, settingFlag } from '../config/settings.ts';
import type { Flag } from '../flag.ts';
import type { Operation } from '../operations/operation.ts';
import { type ResultKind, resultKinds } from '../results/output-format.ts';
import { resultKindFlags } from './result-flags.ts';

const BODY_GROUP = 'Body';
const SERVICE_GROUP = 'Service';
const OUTPUT_GROUP = 'Output';

/** Flags that every command takes: how much it reports, and in which format. */
export const reportFlags: readonly Flag[] = [
  {
    name: 'verbose',
    short: 'v',
    takes: 'switch',
    group: OUTPUT_GROUP,
    summary: 'Show requests and responses; secrets are redacted',
  },
  { name: 'quiet', short: 'q', takes: 'switch', group: OUTPUT_GROUP, summary: 'Print errors only' },
  settingFlag('error_format'),
  {
    name: 'color',
    takes: 'value',
    value: '<when>',
    choices: ['auto', 'always', 'never'],
    group: OUTPUT_GROUP,
    summary: 'Color: auto, always or never (default: auto)',
  },
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
    {
      name: 'format',
      takes: 'value',
      value: '<format>',
      choices: formats,
      group: OUTPUT_GROUP,
      summary: `Format of the result: ${formats.join(', ')}`,
    },
    { name: 'json', takes: 'switch', group: OUTPUT_GROUP, summary: 'Same as --format json' },
    {
      name: 'jq',
      takes: 'value',
      value: '<filter>',
      group: OUTPUT_GROUP,
      summary: 'Filter the JSON with jq; strings print raw',
    },
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
export const localFlag: Flag = {
  name: 'local',
  takes: 'switch',
  group: SERVICE_GROUP,
  summary: 'Use the embedded service; needs no network and no credentials',
};

// How to read files that may be larger than memory.
const streamFlags: readonly Flag[] = [
  {
    name: 'group-by',
    takes: 'value',
    value: '<path>',
    group: BODY_GROUP,
    summary: 'Field that groups the trajectories of files with one per line, such as metadata.task',
  },
  {
    name: 'spool',
    takes: 'off',
    group: BODY_GROUP,
    summary: 'Send stdin and compressed input without a copy on disk; the end is sent after all checks passed',
  },
  {
    name: 'allow-duplicate',
    takes: 'switch',
    group: SERVICE_GROUP,
    summary: 'Send the job even if the same one was already sent from here',
  },
];

const traceFlags: readonly Flag[] = [
  {
    name: 'parent',
    takes: 'off',
    group: BODY_GROUP,
    summary: 'Ignore the parent call that TRACEPARENT names',
  },
  {
    name: 'export',
    takes: 'switch',
    group: OUTPUT_GROUP,
    conflicts: ['json', 'format', 'batch', 'dry-run', 'curl'],
    summary: 'Print export lines for eval, so that child processes continue the trace',
  },
];

const sendingFlags: readonly Flag[] = [
  {
    name: 'output',
    short: 'o',
    takes: 'value',
    value: '<file>',
    group: OUTPUT_GROUP,
    summary: 'Write the result to a file; - is stdout',
  },
  { name: 'dry-run', takes: 'switch', group: OUTPUT_GROUP, summary: 'Print the request and send nothing' },
  {
    name: 'curl',
    takes: 'switch',
    group: OUTPUT_GROUP,
    conflicts: ['dry-run'],
    summary: 'Print the request as a curl command and send nothing',
  },
];

/** Where to send a request, and as whom. */
export function serviceFlags(...hosts: readonly Operation['host'][]): Flag[] {
  return [
    profileFlag,
    localFlag,
    ...baseUrlFlags(hosts),
    ...(['headers', 'timeout', 'retries'] as const).map(settingFlag),
    ...certificateFlags,
    { name: 'allow-http', takes: 'switch', group: SERVICE_GROUP, summary: 'Allow credentials over plain http' },
  ];
}

/** The flags that may come before the command: those that several commands share. */
export const sharedFlags: readonly Flag[] = [
  ...serviceFlags('trace', 'chat', 'train'),
  ...resultFlags('chat'),
  ...sendingFlags,
  ...reportFlags,
];

/** The flags of all five operations, in addition to those of their bodies. */
export function operationFlags(operation: Operation): Flag[] {
  return [
    {
      name: 'file',
      short: 'f',
      takes: 'value',
      value: '<file>',
      group: BODY_GROUP,
      summary: 'Body to send, as a JSON object, or YAML in a .yaml file; flags change it; - is stdin',
    },
    {
      name: 'set',
      takes: 'values',
      value: '<path=value>',
      group: BODY_GROUP,
      summary: 'Set a field by its path: a.b=text, or a.b:=JSON such as a.b:=null (repeatable)',
    },
    { name: 'exact', takes: 'switch', group: BODY_GROUP, summary: 'Send the body as given: add no field to it' },
    {
      name: 'strict',
      takes: 'switch',
      group: BODY_GROUP,
      conflicts: ['no-check'],
      summary: 'Treat warnings as errors',
    },
    { name: 'check', takes: 'off', group: BODY_GROUP, summary: 'Treat errors in the body as warnings' },
    ...(operation.arguments?.as === 'prompt'
      ? [
          {
            name: 'stdin',
            takes: 'off',
            group: BODY_GROUP,
            summary: 'Do not read stdin, for example in a loop',
          } as const,
        ]
      : []),
    ...(typeof operation.arguments?.as === 'object' ? streamFlags : []),
    ...(operation.continuesTrace ? traceFlags : []),
    ...resultKindFlags(operation),
    ...batchFlags,
    ...serviceFlags(operation.host),
    ...resultFlags(operation.result.as),
    ...sendingFlags,
    ...reportFlags,
  ];
}
