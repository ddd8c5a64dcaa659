import { hash } from 'node:crypto';
import { resolveSymlinks } from '../../files/file-replacement.ts';
import { type JournalFile, NOT_A_RECORD, openJournal, parseRecord, readJournal } from '../../files/journal.ts';
import { writeJson } from '../../json/write-json.ts';
import { flagTarget } from '../../operations/operation.ts';
import type { BatchOptions } from '../batch-options.ts';
import type { LineChecks } from '../check/prepare-line.ts';
import { isPartRecord, type PartRecord } from '../read/input-part.ts';
import { type LineTable, MAX_LINE_NUMBER, type SentLine } from './line-table.ts';
import type { OutputPath } from './output-file.ts';

/** The journal of a batch: the output's name with `.journal`, which may be a link to another file system. */
export async function batchJournalFile({ path, displayPath }: OutputPath): Promise<JournalFile> {
  const hint = 'restore the file from a copy; without the journal, lines without a result count as unknown';
  return { path: await resolveSymlinks(`${path}.journal`), displayPath: `${displayPath}.journal`, hint };
}

/** What the journal of earlier runs says, apart from its lines. */
type BatchJournalState = NonNullable<Awaited<ReturnType<typeof readBatchJournal>>>;

/** Reads the journal of a batch into a table; undefined if there is none. Throws Failure `safety_check` for one that is damaged. */
export async function readBatchJournal(file: JournalFile, table: LineTable) {
  const runs: RunRecord[] = [];
  let counted: { readonly empty: number; readonly lines: number | undefined } | undefined;
  const end = await readJournal(file, (bytes) => {
    const text = bytes.toString();
    const { groups } = LINE_RECORD.exec(text) ?? {};
    if (groups && runs.length > 0) return readLineRecord(groups, table);
    const [, empty, lines] = COUNTS_RECORD.exec(text) ?? [];
    if (empty !== undefined && runs.length > 0) {
      counted = { empty: Number(empty), lines: lines === undefined ? undefined : Number(lines) };
      return undefined;
    }
    if (!parseRecord(bytes)) return NOT_A_RECORD;
    const run = parseRunRecord(text);
    if (!run) return NOT_OF_A_BATCH;
    const [first = run] = runs;
    runs.push(run);
    return run.run === first.run ? undefined : 'it belongs to another run';
  });
  return end && { runs, end, counted };
}

/** Of an input that a run read to its end: empty lines, and the others that the run selected. */
export type LineCounts = { readonly empty: number; readonly lines: number };

const NOT_OF_A_BATCH = 'it is not the record of a batch';

// Exactly as svc writes them, so that no changed byte is taken for another record.
const LINE_RECORD =
  /^\{"(?<kind>sending|withdrawn)":(?<line>\d{1,13}),"input":"(?<digest>[0-9a-f]{16})"(?:,"was":"(?<was>[0-9a-f]{16})")?(?:,"at":(?<time>\d{1,15}))?\}$/;

// Journals of an earlier version have empty lines alone.
const COUNTS_RECORD = /^\{"empty":(\d{1,13})(?:,"lines":(\d{1,13}))?\}$/;

function readLineRecord(groups: { readonly [name: string]: string }, table: LineTable): string | undefined {
  const { kind, digest = '', was = digest, time } = groups;
  const isSending = kind === 'sending';
  if (isSending !== (time !== undefined)) return NOT_OF_A_BATCH;
  const line = Number(groups.line);
  if (line < 1 || line > MAX_LINE_NUMBER) return `its line number is not from 1 to ${MAX_LINE_NUMBER}`;
  const earlier = table.sent(line);
  if (earlier && earlier.digest !== was) return `line ${line} was recorded with another input before`;
  if (!isSending && !earlier) return `line ${line} was not recorded before`;
  table.setSent(line, { digest, timestampMs: Number(time ?? 0) });
  if (!isSending) table.setSent(line, undefined);
  return undefined;
}

/**
 * Opens the journal of a batch after its complete records, and records the run; see openJournal. `was` is the digest of the last
 * `sending` record of a line that changed since.
 */
export async function openBatchJournal(
  file: JournalFile,
  run: RunRecord,
  earlier: BatchJournalState | undefined,
  beforeWrite: () => void,
) {
  const { append, close } = await openJournal(file, earlier?.end.bytes ?? 0, beforeWrite);
  const text = writeJson(run);
  if (!earlier?.runs.some((record) => writeJson(record) === text)) await append(text);
  const lineStart = (kind: string, line: number, digest: string, was: string | undefined): string =>
    `{"${kind}":${line},"input":"${digest}"${was === undefined ? '' : `,"was":"${was}"`}`;
  return {
    /** Records that a line is about to be sent; durable when it returns. */
    recordSending: (line: number, { digest, timestampMs }: SentLine, was?: string): Promise<void> =>
      append(`${lineStart('sending', line, digest, was)},"at":${timestampMs}}`),
    /** Records that nothing of the last `sending` was applied, or that the line changed since and was not sent; nothing without a digest. */
    recordWithdrawn: async (line: number, digest: string | undefined, was?: string): Promise<void> => {
      if (digest !== undefined) await append(`${lineStart('withdrawn', line, digest, was)}}`);
    },
    recordCounts: async ({ empty, lines }: LineCounts): Promise<void> => {
      const { counted } = earlier ?? {};
      if (empty !== counted?.empty || lines !== counted.lines) await append(`{"empty":${empty},"lines":${lines}}`);
    },
    close,
  };
}

/** What identifies a batch besides its lines; only the same batch can resume an output. The names are those of the file. */
export type BatchIdentity = {
  readonly operation: string;
  /** `3/10`. */
  readonly shard: string;
  /** What the shard of a regular file is; undefined for every n-th line. */
  readonly part?: PartRecord | undefined;
  /** With a slash at its end. */
  readonly base_url: string;
  /** What flags, environment and profile put into bodies, by field or flag: of an age, which differs from run to run, the argument. */
  readonly values: Readonly<Record<string, string>>;
  readonly limit?: number | undefined;
  readonly sample?: number | undefined;
  readonly seed?: string | undefined;
};

export function createBatchIdentity(url: URL, options: BatchOptions, checks: LineChecks): BatchIdentity {
  const { settings, defaults, parent } = checks;
  const { shard, limit, sample } = options;
  const { operation, isExact } = settings;
  const autofilled = Object.entries(flagTarget(operation).fields).flatMap(([name, { fill }]) =>
    fill === 'project' || fill === 'model' ? [[name, (isExact ? undefined : settings.defaults[fill].text) ?? '']] : [],
  );
  return {
    operation: operation.path,
    shard: `${shard.index}/${shard.count}`,
    base_url: url.href.slice(0, 1 - operation.path.length),
    values: Object.fromEntries([
      ['--exact', String(isExact)],
      ...autofilled,
      ...(parent ? [['TRACEPARENT', `${parent.traceId} ${parent.spanId}`]] : []),
      ...defaults.fieldEdits.map(({ path, text, origin }) => [path.join('.'), origin.argument ?? text.toString()]),
      ...Array.from(defaults.perLineFlags, ([name, value]) => [`--${name}`, String(value)]),
    ]),
    limit,
    sample: sample?.size,
    seed: sample?.seed,
  };
}

/** A `run` record: an identity whose base URL and values are digests, salted by the id of the run, because they may be secret. */
type RunRecord = BatchIdentity & {
  readonly run: string;
  /** Earlier records were lost: any line without a result may have been sent. */
  readonly journal_lost: true | undefined;
};

export function createRunRecord(identity: BatchIdentity, run: string, isJournalLost = false): RunRecord {
  const digest = (value: string): string => hash('sha256', `${run} ${value}`, 'hex').slice(0, 8);
  const values = Object.entries(identity.values).map(([name, value]) => [name, digest(value)]);
  const { operation, shard, part, base_url, limit, sample, seed } = identity;
  const record = { run, operation, shard, part, base_url: digest(base_url), values: Object.fromEntries(values) };
  return { ...record, limit, sample, seed, journal_lost: isJournalLost || undefined };
}

// Undefined for anything but what svc writes, in the same order.
function parseRunRecord(text: string): RunRecord | undefined {
  const { run, operation, shard, part, base_url, values, limit, sample, seed, journal_lost } = JSON.parse(text);
  const isComplete = [run, operation, shard, base_url].every((part) => typeof part === 'string' && part !== '');
  if (!isComplete || typeof values !== 'object' || values === null) return undefined;
  if (part !== undefined && !isPartRecord(part)) return undefined;
  const record = { run, operation, shard, part, base_url, values, limit, sample, seed, journal_lost };
  return writeJson(record) === text && [true, undefined].includes(journal_lost) ? record : undefined;
}

/** The differences of a batch from earlier runs: its values have to match one of them, and its lines include those of the last. */
export function compareRuns(records: readonly RunRecord[], identity: BatchIdentity): string[] {
  const last = records.at(-1);
  if (!last) return [];
  const differences = records.map((record) => differencesFromRun(record, identity));
  const [before, now] = [describeSelection(last), describeSelection(identity)];
  return [
    ...(differences.some((one) => one.length === 0) ? [] : (differences.at(-1) ?? [])),
    ...(includesLines(identity, last)
      ? []
      : [`it was started with ${before}, and now has ${now}; ${wayToContinue(last)}`]),
  ];
}

function includesLines(current: BatchIdentity, before: BatchIdentity): boolean {
  const isSameKind = current.seed === before.seed && (current.limit === undefined) === (before.limit === undefined);
  const sizeOf = ({ limit, sample }: BatchIdentity): number => limit ?? sample ?? 0;
  return isSameKind && sizeOf(current) >= sizeOf(before);
}

function wayToContinue({ limit, sample }: BatchIdentity): string {
  if (limit !== undefined) return `--limit ${limit} or more continues it`;
  return sample === undefined ? 'leave them out to continue it' : `--sample ${sample} or more continues it`;
}

function describeSelection({ limit, sample, seed }: BatchIdentity): string {
  if (limit !== undefined) return `--limit ${limit}`;
  return sample === undefined ? 'neither --limit nor --sample' : `--sample ${sample} --sample-seed ${seed}`;
}

function differencesFromRun(record: RunRecord, identity: BatchIdentity): string[] {
  const current = createRunRecord(identity, record.run);
  const names = Object.keys({ ...record.values, ...current.values });
  const changed = names.filter((name) => record.values[name] !== current.values[name]);
  const isSameUrl = record.base_url === current.base_url;
  return [
    ...(isSameUrl ? [] : [`its results came from a base URL other than ${identity.base_url}`]),
    ...(changed.length === 0 ? [] : [`it was started with other values for ${changed.join(', ')}`]),
  ];
}
