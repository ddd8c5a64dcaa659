import { flagTarget } from '../operations/operation.ts';
import type { LineChecks } from './prepare-line.ts';
import { digestValue } from './seal.ts';
import type { Shard } from './shard.ts';

/** What identifies a batch besides its lines; only the same batch can resume a checkpoint. */
export interface BatchIdentity {
  /** The path of the operation. */
  readonly operation: string;
  /** `3/10`. */
  readonly shard: string;
  /** The base URL with a slash at its end; only its origin, without the slash, in older records. */
  readonly baseUrl: string;
  /**
   * The values that flags, environment and profile put into bodies, by field or flag; digests of them in a record. A value
   * that differs from run to run, such as an age, is its argument.
   */
  readonly values: Readonly<Record<string, string>>;
}

/** The identity of a batch whose requests go to `url`. */
export function createBatchIdentity(
  url: URL,
  { index, count }: Shard,
  { operation, defaults, settings, parent }: Pick<LineChecks, 'operation' | 'defaults' | 'settings' | 'parent'>,
): BatchIdentity {
  const { fieldEdits, perLineFlags } = defaults;
  const { fields } = flagTarget(operation);
  const autofilled = Object.entries(fields).flatMap(([name, { fill }]) =>
    fill === 'project' || fill === 'model' ? [[name, settings?.[fill].text ?? '']] : [],
  );
  return {
    operation: operation.path,
    shard: `${index}/${count}`,
    baseUrl: url.href.slice(0, 1 - operation.path.length),
    values: Object.fromEntries([
      ['--exact', String(settings === undefined)],
      ...autofilled,
      ...(parent ? [['TRACEPARENT', `${parent.traceId} ${parent.spanId}`]] : []),
      ...fieldEdits.map(({ path, text, origin }) => [path.join('.'), origin.argument ?? text.toString()]),
      ...Array.from(perLineFlags, ([name, value]) => [`--${name}`, String(value)]),
    ]),
  };
}

/** An identity as a checkpoint stores it: values may be secret, so only their digests are stored. */
export function recordedIdentity(identity: BatchIdentity, runId: string): BatchIdentity {
  const values = Object.entries(identity.values).map(([name, value]) => [name, digestValue(runId, value)]);
  return { ...identity, values: Object.fromEntries(values) };
}

/** The `run` and `settings` members that tie each result line to its batch. */
export function formatStamp(identity: BatchIdentity, runId: string): string {
  const { operation, shard, baseUrl, values } = recordedIdentity(identity, runId);
  const valuesDigest = digestValue(runId, JSON.stringify(Object.entries(values).sort()));
  return `"run":"${runId}","settings":"${operation} ${shard} ${digestValue(runId, baseUrl)} ${valuesDigest}"`;
}

/** The run that a stamp names. */
export function stampRunId(stamp: string): string {
  return stamp.slice('"run":"'.length, '"run":"'.length + UUID_CHARS);
}

const UUID_CHARS = 36;

/** The operation and the shard that a stamp names, and the text of the operation and the number of shards in a sentence. */
export function describeStamp(stamp: string): {
  readonly operation: string;
  readonly shard: string;
  readonly text: string;
} {
  const { operation, shard } = stampParts(stamp);
  const count = shard.slice(shard.indexOf('/') + 1);
  return { operation, shard, text: `${operation}${count === '1' ? '' : ` in ${count} shards`}` };
}

/** The differences between a batch and the batch that wrote a checkpoint. */
export interface IdentityDifferences {
  /** Another batch: its results cannot be in the same file. */
  readonly fatal: readonly string[];
  /** The same batch with other values or at another service, which the user may accept. */
  readonly acceptable: readonly string[];
}

/** Compares a batch with the stamps of result lines; of several values the batch has to match one. */
export function compareStamps(stamps: Iterable<string>, current: BatchIdentity, runId: string): IdentityDifferences {
  const expected = stampParts(formatStamp(current, runId));
  const found = Array.from(stamps, stampParts);
  const accepted = acceptedBaseUrls(current).map((url) => digestValue(runId, url));
  const isNewBaseUrl = found.length > 0 && !found.some(({ baseUrl }) => accepted.includes(baseUrl));
  const isNewValues = found.length > 0 && !found.some(({ values }) => values === expected.values);
  return {
    fatal: [...new Set(found.flatMap((stamp) => fatalDifferences(stamp, expected)))],
    acceptable: [
      ...(isNewBaseUrl ? [`its results came from a base URL other than ${current.baseUrl}`] : []),
      ...(isNewValues ? ['its results were made with other flags, environment variables or profile settings'] : []),
    ],
  };
}

/** Compares a batch with the record of an earlier run, which can name what differs. */
export function compareIdentities(recorded: BatchIdentity, current: BatchIdentity): IdentityDifferences {
  const names = new Set([...Object.keys(recorded.values), ...Object.keys(current.values)]);
  const changed = Array.from(names).filter((name) => recorded.values[name] !== current.values[name]);
  return {
    fatal: fatalDifferences(recorded, current),
    acceptable: [
      ...(acceptedBaseUrls(current).includes(recorded.baseUrl)
        ? []
        : [`its results came from ${recorded.baseUrl}, but the base URL is now ${current.baseUrl}`]),
      ...(changed.length === 0 ? [] : [`it was started with other values for ${changed.join(', ')}`]),
    ],
  };
}

type BatchPart = Pick<BatchIdentity, 'operation' | 'shard'>;

function fatalDifferences(found: BatchPart, current: BatchPart): string[] {
  if (found.operation !== current.operation)
    return [`it holds results of ${found.operation}, not ${current.operation}`];
  return found.shard === current.shard ? [] : [`it holds results of shard ${found.shard}, not ${current.shard}`];
}

// Older records have the origin alone.
function acceptedBaseUrls({ baseUrl }: BatchIdentity): string[] {
  return [baseUrl, new URL(baseUrl).origin];
}

function stampParts(stamp: string): { operation: string; shard: string; baseUrl: string; values: string } {
  const [operation = '', shard = '', baseUrl = '', values = ''] = (/"settings":"([^"]*)"/.exec(stamp)?.[1] ?? '').split(
    ' ',
  );
  return { operation, shard, baseUrl, values };
}
