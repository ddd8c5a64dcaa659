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
  {
    name: 'error-format',
    takes: 'value',
    value: '<text|json>',
    choices: ['text', 'json'],
    group: OUTPUT_GROUP,
    summary: 'Form of what goes to stderr',
  },
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
export const profileFlag: Flag = {
  name: 'profile',
  takes: 'value',
  value: '<name>',
  group: SERVICE_GROUP,
  summary: 'Profile to use; "local" is the embedded service',
};

/** The flags of base addresses; all three hosts, or the one an operation goes to. */
export function baseUrlFlags(hosts: readonly Operation['host'][]): Flag[] {
  const names = { trace: 'feedback and calls', chat: 'chat completions', train: 'training jobs' };
  return [
    { name: 'base-url', takes: 'value', value: '<url>', group: SERVICE_GROUP, summary: 'Base address of the service' },
    ...hosts.map((host) => ({
      name: `${host}-base-url`,
      takes: 'value' as const,
      value: '<url>',
      group: SERVICE_GROUP,
      summary: `Base address for ${names[host]} only`,
    })),
  ];
}

/** Adds a header. */
export const headerFlag: Flag = {
  name: 'header',
  short: 'H',
  takes: 'values',
  value: '<name: value>',
  group: SERVICE_GROUP,
  summary: 'Header to add; may be given again',
};

/** Sets the time limit. */
export const timeoutFlag: Flag = {
  name: 'timeout',
  takes: 'value',
  value: '<time>',
  group: SERVICE_GROUP,
  summary: 'Limit for the whole exchange: 90s, 2m, 1h',
};

/** Sets how often a request may be repeated. */
export const retriesFlag: Flag = {
  name: 'retries',
  takes: 'value',
  value: '<n>',
  group: SERVICE_GROUP,
  summary: 'Repeats after passing failures, where they do no harm: 3 if not set, 0 for none',
};

/** Name the files TLS trusts and shows, as curl does. */
export const certificateFlags: readonly Flag[] = [
  {
    name: 'cacert',
    takes: 'value',
    value: '<file>',
    group: SERVICE_GROUP,
    summary: 'PEM file of authorities to trust besides the usual ones',
  },
  { name: 'cert', takes: 'value', value: '<file>', group: SERVICE_GROUP, summary: 'PEM file of a client certificate' },
  {
    name: 'key',
    takes: 'value',
    value: '<file>',
    group: SERVICE_GROUP,
    summary: 'PEM file of its key, without a passphrase; in the file of --cert if absent',
  },
];

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
    headerFlag,
    timeoutFlag,
    retriesFlag,
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
