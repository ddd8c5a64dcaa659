import { hash } from 'node:crypto';
import { resolveSymlinks } from '../files/file-replacement.ts';
import {
  type Journal,
  type JournalEnd,
  type JournalFile,
  NOT_A_RECORD,
  openJournal,
  parseRecord,
  readJournal,
} from '../files/journal.ts';
import {
  firstStringMember,
  getMember,
  isTrue,
  type JsonNode,
  kindOf,
  membersOf,
  numberMember,
  stringOf,
} from '../json/json-node.ts';
import { writeJson } from '../json/write-json.ts';
import { flagTarget } from '../operations/operation.ts';
import type { BatchOptions } from './batch-options.ts';
import type { LineTable, SentLine } from './line-table.ts';
import type { LineChecks } from './prepare-line.ts';
import type { Checkpoint } from './result-line.ts';

/** The table holds 41 bytes per line, up to the last. */
export const MAX_LINES = 50_000_000;

/** The journal of a batch: the output's name with `.journal`, which may be a link to another file system. */
export async function batchJournalFile({
  path,
  displayPath,
}: Pick<JournalFile, 'path' | 'displayPath'>): Promise<JournalFile> {
  return {
    path: await resolveSymlinks(`${path}.journal`),
    displayPath: `${displayPath}.journal`,
    hint: 'restore the file from a copy; without the journal, lines without a result count as unknown',
  };
}

/** What the journal of earlier runs says, apart from its lines. */
export interface BatchJournalState {
  readonly runs: readonly RunRecord[];
  readonly end: JournalEnd;
}

/**
 * Reads the journal of a batch into a table; undefined if there is none. Throws Failure `safety_check` for a file that is not such a
 * journal, or that is damaged: the digests of input lines tell a record of another line.
 */
export async function readBatchJournal(file: JournalFile, table: LineTable): Promise<BatchJournalState | undefined> {
  const runs: RunRecord[] = [];
  const end = await readJournal(file, (bytes) => {
    const text = bytes.toString();
    const line = LINE_RECORD.exec(text);
    if (line && runs.length > 0) return readLineRecord(line, table);
    const record = parseRecord(bytes);
    if (!record) return NOT_A_RECORD;
    const run = parseRunRecord(record);
    if (!run || formatRunRecord(run) !== text) return 'it is not the record of a batch';
    const [first = run] = runs;
    runs.push(run);
    return run.run === first.run ? undefined : 'it belongs to another run';
  });
  return end && { runs, end };
}

// Exactly as svc writes them, so that no changed byte is taken for another record.
const LINE_RECORD =
  /^\{"(?:sending":(\d{1,8}),"input":"([0-9a-f]{16})"(?:,"was":"([0-9a-f]{16})")?,"at":(\d{1,15})|withdrawn":(\d{1,8}),"input":"([0-9a-f]{16})"(?:,"was":"([0-9a-f]{16})")?)\}$/;

function readLineRecord(record: RegExpExecArray, table: LineTable): string | undefined {
  const [, sending, sentDigest, sentWas, timestampMs = 0, withdrawn, withdrawnDigest, withdrawnWas] = record;
  const line = Number(sending ?? withdrawn);
  const digest = sentDigest ?? withdrawnDigest ?? '';
  if (line < 1 || line > MAX_LINES) return `its line number is not from 1 to ${MAX_LINES}`;
  const earlier = table.sent(line);
  if (earlier && earlier.digest !== (sentWas ?? withdrawnWas ?? digest))
    return `line ${line} was recorded with another input before`;
  if (withdrawn !== undefined && !earlier) return `line ${line} was not recorded before`;
  table.setSent(line, { digest, timestampMs: Number(timestampMs) });
  if (withdrawn !== undefined) table.setSent(line, undefined);
  return undefined;
}

/** The journal of a running batch. Every function throws Failure `local_file`. */
export interface BatchJournal {
  /**
   * Records that a line is about to be sent; durable when it returns. `replacedDigest` is that of its last `sending` record,
   * if the line changed since.
   */
  readonly recordSending: (line: number, sent: SentLine, replacedDigest: string | undefined) => Promise<void>;
  /** Records that nothing of the last `sending` was applied, or that the line changed since and was not sent. */
  readonly recordWithdrawn: (line: number, digest: string, replacedDigest?: string) => Promise<void>;
  readonly close: Journal['close'];
}

/** Opens the journal of a batch after its complete records, and records the run. See openJournal. */
export async function openBatchJournal(
  file: JournalFile,
  run: RunRecord,
  earlier: BatchJournalState | undefined,
  beforeWrite: () => void,
): Promise<BatchJournal> {
  const { append, close } = await openJournal(file, earlier?.end.bytes ?? 0, beforeWrite);
  const text = formatRunRecord(run);
  if (!earlier?.runs.some((record) => formatRunRecord(record) === text)) await append(text);
  return {
    recordSending: (line, { digest, timestampMs }, replacedDigest) =>
      append(`{"sending":${line},"input":"${digest}"${formatReplaced(replacedDigest)},"at":${timestampMs}}`),
    recordWithdrawn: (line, digest, replacedDigest) =>
      append(`{"withdrawn":${line},"input":"${digest}"${formatReplaced(replacedDigest)}}`),
    close,
  };
}

function formatReplaced(digest: string | undefined): string {
  return digest === undefined ? '' : `,"was":"${digest}"`;
}

/** What identifies a batch besides its lines; only the same batch can resume an output. */
export interface BatchIdentity {
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
  readonly selection: RunSelection;
}

/** The lines that `--limit` or `--sample` choose; without any, all lines. */
export interface RunSelection {
  readonly limit?: number | undefined;
  readonly sample?: number | undefined;
  readonly seed?: string | undefined;
}

export function createBatchIdentity(
  url: URL,
  { shard: { index, count }, limit, sample }: Pick<BatchOptions, 'shard' | 'limit' | 'sample'>,
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
    selection: { limit, sample: sample?.size, seed: sample?.seed },
  };
}

/** A `run` record: an identity whose base URL and values are digests, because they may be secret. */
interface RunRecord extends BatchIdentity {
  /** The id of the run, a UUID, which salts the digests. */
  readonly run: string;
  /** Earlier records were lost: any line without a result may have been sent. */
  readonly isJournalLost: boolean;
}

export function createRunRecord(identity: BatchIdentity, run: string, isJournalLost = false): RunRecord {
  const digest = (value: string): string => hash('sha256', `${run} ${value}`, 'hex').slice(0, 8);
  const values = Object.entries(identity.values).map(([name, value]) => [name, digest(value)]);
  return { ...identity, run, isJournalLost, baseUrl: digest(identity.baseUrl), values: Object.fromEntries(values) };
}

/** A `run` record as a line of the journal. */
function formatRunRecord({ run, operation, shard, baseUrl, values, selection, isJournalLost }: RunRecord): string {
  const { limit, sample, seed = '' } = selection;
  const lost = isJournalLost ? { journal_lost: true } : {};
  const chosen = { ...(limit === undefined ? {} : { limit }), ...(sample === undefined ? {} : { sample, seed }) };
  return writeJson({ run, operation, shard, base_url: baseUrl, values, ...chosen, ...lost });
}

/** Reads a `run` record; undefined if a field is missing. */
function parseRunRecord(record: JsonNode): RunRecord | undefined {
  const [run, operation, shard, baseUrl] = ['run', 'operation', 'shard', 'base_url'].map((name) =>
    firstStringMember(record, name),
  );
  const values = getMember(record, 'values');
  if (!run || !operation || !shard || !baseUrl || !values || kindOf(values) !== 'object') return undefined;
  const digests = Array.from(membersOf(values), ({ key, value }) => [key, stringOf(value)]);
  const isJournalLost = isTrue(getMember(record, 'journal_lost'));
  const selection = {
    limit: numberMember(record, 'limit'),
    sample: numberMember(record, 'sample'),
    seed: firstStringMember(record, 'seed'),
  };
  return { run, operation, shard, baseUrl, values: Object.fromEntries(digests), selection, isJournalLost };
}

/** The difference that makes two batches different ones; undefined if there is none. */
export function differentKind(found: Omit<Checkpoint, 'run' | 'input'>, current: BatchIdentity): string | undefined {
  if (found.operation !== current.operation) return `it holds results of ${found.operation}, not ${current.operation}`;
  return found.shard === current.shard ? undefined : `it holds results of shard ${found.shard}, not ${current.shard}`;
}

/** Compares a batch with the records of earlier runs: it has to match one of them, and differs from the last otherwise. */
export function compareRuns(records: readonly RunRecord[], identity: BatchIdentity): string[] {
  const differences = records.map((record) => differencesFromRun(record, identity));
  return differences.some((one) => one.length === 0) ? [] : (differences.at(-1) ?? []);
}

/** How the lines of a batch are fewer than those of the last of earlier runs, or others; undefined if none is missing. */
export function narrowedSelection(records: readonly RunRecord[], current: RunSelection): string | undefined {
  const before = records.at(-1)?.selection;
  if (!before) return undefined;
  const isWider =
    before.limit === undefined && before.sample === undefined
      ? current.limit === undefined && current.sample === undefined
      : before.limit === undefined
        ? (current.sample ?? 0) >= (before.sample ?? 0) && current.seed === before.seed
        : (current.limit ?? 0) >= before.limit;
  return isWider
    ? undefined
    : `it was started with ${describeSelection(before)}, and now has ${describeSelection(current)}`;
}

function describeSelection({ limit, sample, seed }: RunSelection): string {
  if (limit !== undefined) return `--limit ${limit}`;
  return sample === undefined ? 'neither --limit nor --sample' : `--sample ${sample} --sample-seed ${seed}`;
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
