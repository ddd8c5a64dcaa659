import { hash } from 'node:crypto';
import { firstStringMember, getMember, isTrue, type JsonNode, kindOf, membersOf, stringOf } from '../json/json-node.ts';
import { writeJson } from '../json/write-json.ts';
import { flagTarget } from '../operations/operation.ts';
import type { LineChecks } from './prepare-line.ts';
import type { Shard } from './shard.ts';

/** What identifies a batch besides its lines; only the same batch can resume an output. */
export interface BatchIdentity {
  /** The path of the operation. */
  readonly operation: string;
  /** `3/10`. */
  readonly shard: string;
  /** The base URL with a slash at its end. */
  readonly baseUrl: string;
  /**
   * The values that flags, environment and profile put into bodies, by field or flag. A value that differs from run to run,
   * such as an age, is its argument.
   */
  readonly values: Readonly<Record<string, string>>;
}

/** The identity of a batch whose requests go to `url`. */
export function createBatchIdentity(
  url: URL,
  { index, count }: Shard,
  { operation, defaults, autofill, parent }: Pick<LineChecks, 'operation' | 'defaults' | 'autofill' | 'parent'>,
): BatchIdentity {
  const { fieldEdits, perLineFlags } = defaults;
  const { fields } = flagTarget(operation);
  const autofilled = Object.entries(fields).flatMap(([name, { fill }]) =>
    fill === 'project' || fill === 'model' ? [[name, autofill?.[fill].text ?? '']] : [],
  );
  return {
    operation: operation.path,
    shard: `${index}/${count}`,
    baseUrl: url.href.slice(0, 1 - operation.path.length),
    values: Object.fromEntries([
      ['--exact', String(autofill === undefined)],
      ...autofilled,
      ...(parent ? [['TRACEPARENT', `${parent.traceId} ${parent.spanId}`]] : []),
      ...fieldEdits.map(({ path, text, origin }) => [path.join('.'), origin.argument ?? text.toString()]),
      ...Array.from(perLineFlags, ([name, value]) => [`--${name}`, String(value)]),
    ]),
  };
}

/** A `run` record: an identity whose base URL and values are digests, because they may be secret. */
export interface RunRecord extends BatchIdentity {
  /** The id of the run, a UUID, which salts the digests. */
  readonly run: string;
  /** Earlier records were lost: any line without a result may have been sent. */
  readonly isJournalLost: boolean;
}

/** The record of a run of a batch. */
export function createRunRecord(identity: BatchIdentity, run: string, isJournalLost = false): RunRecord {
  const digest = (value: string): string => hash('sha256', `${run} ${value}`, 'hex').slice(0, 8);
  const values = Object.entries(identity.values).map(([name, value]) => [name, digest(value)]);
  return { ...identity, run, isJournalLost, baseUrl: digest(identity.baseUrl), values: Object.fromEntries(values) };
}

/** A `run` record as a line of the journal. */
export function formatRunRecord({ run, operation, shard, baseUrl, values, isJournalLost }: RunRecord): string {
  return writeJson({
    run,
    operation,
    shard,
    base_url: baseUrl,
    values,
    ...(isJournalLost ? { journal_lost: true } : {}),
  });
}

/** Reads a `run` record; undefined if a member is missing. */
export function parseRunRecord(record: JsonNode): RunRecord | undefined {
  const [run, operation, shard, baseUrl] = ['run', 'operation', 'shard', 'base_url'].map((name) =>
    firstStringMember(record, name),
  );
  const values = getMember(record, 'values');
  if (!run || !operation || !shard || !baseUrl || !values || kindOf(values) !== 'object') return undefined;
  const digests = Array.from(membersOf(values), ({ key, value }) => [key, stringOf(value)]);
  const isJournalLost = isTrue(getMember(record, 'journal_lost'));
  return { run, operation, shard, baseUrl, values: Object.fromEntries(digests), isJournalLost };
}

/** The part of an identity that result lines have too. */
export type BatchKind = Pick<BatchIdentity, 'operation' | 'shard'>;

/** The difference that makes two batches different ones; undefined if there is none. */
export function differentKind(found: BatchKind, current: BatchKind): string | undefined {
  if (found.operation !== current.operation) return `it holds results of ${found.operation}, not ${current.operation}`;
  return found.shard === current.shard ? undefined : `it holds results of shard ${found.shard}, not ${current.shard}`;
}

/** Compares a batch with the records of earlier runs: it has to match one of them, and differs from the last otherwise. */
export function compareRuns(records: readonly RunRecord[], identity: BatchIdentity): string[] {
  const differences = records.map((record) => differencesFromRun(record, identity));
  return differences.some((one) => one.length === 0) ? [] : (differences.at(-1) ?? []);
}

function differencesFromRun(record: RunRecord, identity: BatchIdentity): string[] {
  const current = createRunRecord(identity, record.run);
  const names = new Set([...Object.keys(record.values), ...Object.keys(current.values)]);
  const changed = Array.from(names).filter((name) => record.values[name] !== current.values[name]);
  return [
    ...(record.baseUrl === current.baseUrl ? [] : [`its results came from a base URL other than ${identity.baseUrl}`]),
    ...(changed.length === 0 ? [] : [`it was started with other values for ${changed.join(', ')}`]),
  ];
}
