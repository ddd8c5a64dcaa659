import { type SettingName, settingFlag } from '../config/settings.ts';
import type { Flag } from '../flag.ts';
import type { Operation } from '../operations/operation.ts';
import { type ResultKind, resultKinds } from '../results/output-format.ts';
import { batchFlags } from './batch-flags.ts';

const BODY_GROUP = 'Body';
const SERVICE_GROUP = 'Service';
const OUTPUT_GROUP = 'Output';

/** Flags that every command takes: how much is said, and how. */
export const reportFlags: readonly Flag[] = [
  {
    name: 'verbose',
    short: 'v',
    takes: 'switch',
    group: OUTPUT_GROUP,
    summary: 'Show requests and replies, without secrets',
  },
  { name: 'quiet', short: 'q', takes: 'switch', group: OUTPUT_GROUP, summary: 'Say nothing but errors' },
  settingFlag('error_format'),
];

/** Choose the format of a result, among those its kind has. */
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
  ];
}

/** Names the profile. */
export const profileFlag: Flag = settingFlag('profile');

/** The flags of base URLs; all three hosts, or the one an operation uses. */
export function baseUrlFlags(hosts: readonly Operation['host'][]): Flag[] {
  const names: readonly SettingName[] = ['base_url', ...hosts.map((host) => `${host}_base_url` as const)];
  return names.map(settingFlag);
}

/** The certificate files of TLS, named as in curl. */
export const certificateFlags: readonly Flag[] = (['cacert', 'cert', 'key'] as const).map(settingFlag);

/** Chooses the embedded service. */
export const localFlag: Flag = {
  name: 'local',
  takes: 'switch',
  group: SERVICE_GROUP,
  summary: 'Use the embedded service, without a network',
};

// How files that may be larger than memory are read.
const streamFlags: readonly Flag[] = [
  {
    name: 'group-by',
    takes: 'value',
    value: '<path>',
    group: BODY_GROUP,
    summary: 'Of files with a trajectory a line: the member that says which are a group, such as metadata.task',
  },
  {
    name: 'spool',
    takes: 'off',
    group: BODY_GROUP,
    summary: 'Send stdin and what is compressed as it comes, without a copy on the disk; its end waits for the checks',
  },
  {
    name: 'allow-duplicate',
    takes: 'switch',
    group: SERVICE_GROUP,
    summary: 'Send it although the same job was sent from here before',
  },
];

/** The flags of all five operations, beside those of their bodies. */
export function operationFlags(operation: Operation): Flag[] {
  return [
    {
      name: 'file',
      short: 'f',
      takes: 'value',
      value: '<file>',
      group: BODY_GROUP,
      summary: 'JSON object to send, to which flags are added; - is stdin',
    },
    {
      name: 'set',
      takes: 'values',
      value: '<path=text>',
      group: BODY_GROUP,
      summary: 'Set a member by its path, as text or (:=) as JSON; may be given again',
    },
    { name: 'exact', takes: 'switch', group: BODY_GROUP, summary: 'Add nothing to the body' },
    { name: 'strict', takes: 'switch', group: BODY_GROUP, summary: 'Treat warnings as errors' },
    { name: 'check', takes: 'off', group: BODY_GROUP, summary: 'Treat errors of the body as warnings' },
    ...(operation.arguments?.as === 'prompt'
      ? [{ name: 'stdin', takes: 'off', group: BODY_GROUP, summary: 'Leave stdin alone' } as const]
      : []),
    ...(typeof operation.arguments?.as === 'object' ? streamFlags : []),
    ...batchFlags,
    profileFlag,
    localFlag,
    ...baseUrlFlags([operation.host]),
    ...(['headers', 'timeout', 'retries'] as const).map(settingFlag),
    ...certificateFlags,
    { name: 'allow-http', takes: 'switch', group: SERVICE_GROUP, summary: 'Send credentials over plain http' },
    ...resultFlags(operation.result.as),
    {
      name: 'output',
      short: 'o',
      takes: 'value',
      value: '<file>',
      group: OUTPUT_GROUP,
      summary: 'Write the result to a file',
    },
    { name: 'dry-run', takes: 'switch', group: OUTPUT_GROUP, summary: 'Show what would be sent, and send nothing' },
    {
      name: 'curl',
      takes: 'switch',
      group: OUTPUT_GROUP,
      summary: 'Print the request as a curl command, and send nothing',
    },
    ...reportFlags,
  ];
}
