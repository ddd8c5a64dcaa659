import { Buffer } from 'node:buffer';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure, FILE_LIMIT_HINT, type RequestOutcome, safetyFailure } from '../errors.ts';
import type { LockRuntime } from '../files/file-lock.ts';
import {
  JOURNAL_START,
  type JournalFile,
  NOT_A_RECORD,
  openJournal,
  parseRecord,
  readJournal,
  withJournalLock,
} from '../files/journal.ts';
import { currentOwner, isOwnerRunning, type OwnerRuntime, type ProcessOwner } from '../files/process-owner.ts';
import { firstStringMember, getMember, type JsonNode, numberMember, rawText } from '../json/json-node.ts';
import { RawJson, writeJson } from '../json/write-json.ts';
import type { Runtime } from '../runtime.ts';

/** A training job about to be sent. Jobs with the same digest, target and model are the same job. */
export interface TrainingJob {
  readonly digest: string;
  /** The URL it is sent to, without userinfo; `local_file` for the local service. */
  readonly target: string;
  readonly model: string | undefined;
  readonly files: readonly string[];
  readonly bytes: number;
  readonly groups: number;
  readonly trajectories: number;
  /** The JSON of its parameters, `null` without them; undefined if it is too long to be recorded. */
  readonly config?: string | undefined;
  readonly run?: string;
  readonly line?: number;
}

export interface TrainingJobRecord {
  readonly start: JsonNode;
  end: JsonNode | undefined;
}

/** The outcome of a job. `in-flight`: none yet, and the process that sends it runs where this one can look it up. */
type JobStatus = 'applied' | 'not-applied' | 'unknown' | 'in-flight';

export function jobStatus({ start, end }: TrainingJobRecord, runtime: OwnerRuntime): JobStatus {
  const applied = firstStringMember(end, 'applied');
  if (applied !== undefined) return applied === 'yes' ? 'applied' : applied === 'no' ? 'not-applied' : 'unknown';
  const owner: ProcessOwner = {
    pid: numberMember(start, 'pid') ?? 0,
    host: firstStringMember(start, 'host') ?? '',
    start: firstStringMember(start, 'process_start'),
    scope: firstStringMember(start, 'process_scope'),
  };
  return isOwnerRunning(owner, runtime) ? 'in-flight' : 'unknown';
}

export type AllowedDuplicates = boolean | 'unknown';

type JobHistoryRuntime = LockRuntime & Pick<Runtime, 'now'>;

export function jobHistoryFile(directory: string): string {
  return join(directory, 'training-jobs.jsonl');
}

/**
 * The jobs sent from this machine, in a file (0600, in a 0700 directory). Only what other processes have added is read again.
 * Every function throws Failure `local_file` for the file, and `safety_check` for an invalid record.
 */
export function createJobHistory(path: string, context: JobHistoryRuntime) {
  const { read, append } = createHistoryFile(path, context);
  const isOf = ({ run, line }: TrainingJob, { start }: TrainingJobRecord): boolean =>
    firstStringMember(start, 'run') === run && numberMember(start, 'line') === line;
  return {
    read: (): Promise<TrainingJobRecord[]> => read((index) => index.records()),
    /** The last record of the same job, for the same line of the same batch. */
    find: (job: TrainingJob): Promise<TrainingJobRecord | undefined> =>
      read((index) => index.recordsOf(job).findLast((record) => isOf(job, record))),
    /** The failure with which `begin` would refuse a job; undefined for one that it would record. */
    findDuplicate: (job: TrainingJob, allowed: AllowedDuplicates): Promise<Failure | undefined> =>
      read((index) => duplicateFailure(index.recordsOf(job), allowed, context)),
    /**
     * Records a job durably before it is sent, and returns a function that records its outcome. Throws Failure `safety_check` if
     * the same job was applied before, may have been, or is in flight, unless that duplicate is allowed; a job that was rejected
     * or never sent does not count. Of many processes that ask at once for the same job, only one may send it.
     */
    begin: async (
      job: TrainingJob,
      allowed: AllowedDuplicates,
    ): Promise<(outcome: RequestOutcome) => Promise<void>> => {
      const entry = Buffer.from(context.randomBytes(8)).toString('hex');
      const now = (): string => new Date(context.now()).toISOString();
      await append((index) => {
        const failure = duplicateFailure(index.recordsOf(job), allowed, context);
        if (failure) throw failure.with({}, `${failure.message}; nothing was sent`);
        const { model, config, ...facts } = job;
        const { pid, host, start, scope } = currentOwner(context);
        const seen = scope === undefined ? {} : { process_start: start ?? null, process_scope: scope };
        const parameters = config === undefined ? {} : { experimental_config: new RawJson(config) };
        const what = { ...facts, model_id: model ?? null, ...parameters };
        return writeJson({ entry, started_at: now(), ...what, pid, host, ...seen });
      });
      return ({ applied, exitCode, id }) =>
        append(() => writeJson({ entry, ended_at: now(), applied, exit_code: exitCode, id: id ?? null }));
    },
  };
}

type JobIndex = ReturnType<typeof createJobIndex>;
type ToRecord = (index: JobIndex) => string;

// The file of the jobs. Of the callers of one process, one at a time reads it; after an error it is read from its start.
function createHistoryFile(path: string, context: JobHistoryRuntime) {
  const hint = 'fix that line, or move the file away to start without earlier jobs';
  const file: JournalFile = { path, displayPath: path, hint };
  let end = JOURNAL_START;
  let index = createJobIndex();
  const reset = (): void => {
    [end, index] = [JOURNAL_START, createJobIndex()];
  };
  const refresh = async (): Promise<void> => {
    const { size } = await stat(path).catch(() => ({ size: 0 }));
    if (size < end.bytes) reset();
    end = (await readJournal(file, index.add, end)) ?? JOURNAL_START;
  };
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(action: () => Promise<T>): Promise<T> => {
    const result = last.then(action).catch((error: unknown) => {
      reset();
      throw withHint(error);
    });
    last = result.catch(() => {});
    return result;
  };
  const appendGroup = async (group: readonly ToRecord[]): Promise<unknown[]> => {
    await refresh();
    const { texts, errors } = addRecords(index, group);
    if (texts.length === 0) return errors;
    const journal = await openJournal(file, end.bytes);
    await journal.append(...texts).finally(journal.close);
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, end.bytes);
    end = { bytes, lines: end.lines + texts.length };
    return errors;
  };
  let waiting: ToRecord[] = [];
  let appending: Promise<unknown[]> | undefined;
  return {
    read: <T>(use: (index: JobIndex) => T): Promise<T> => inTurn(refresh).then(() => use(index)),
    /**
     * Takes the lock once for all records that are waiting, as the lines of a batch do. A caller may end the process, so it
     * continues after the lock is released.
     */
    append: async (toRecord: ToRecord): Promise<void> => {
      const position = waiting.push(toRecord) - 1;
      appending ??= inTurn(() => {
        const group = waiting;
        [waiting, appending] = [[], undefined];
        return withJournalLock(path, context, () => appendGroup(group));
      });
      const error = (await appending)[position];
      if (error !== undefined) throw error;
    },
  };
}

// Adds each record at once, because the next one may be of the same job; `errors` has that of each record that is not to be written.
function addRecords(index: JobIndex, group: readonly ToRecord[]) {
  const texts: string[] = [];
  const errors = group.map((toRecord): unknown => {
    try {
      const text = toRecord(index);
      index.add(Buffer.from(text));
      texts.push(text);
      return undefined;
    } catch (error) {
      return error;
    }
  });
  return { texts, errors };
}

// The records of a history, and those of each job.
function createJobIndex() {
  const records = new Map<string, TrainingJobRecord>();
  const recordsByJob = new Map<string, TrainingJobRecord[]>();
  return {
    records: () => [...records.values()],
    recordsOf: ({ digest, target, model }: TrainingJob): readonly TrainingJobRecord[] =>
      recordsByJob.get(jobKey(digest, target, model)) ?? [],
    /** Returns what is wrong with a record that cannot be added. */
    add: (bytes: Buffer): string | undefined => {
      const node = parseRecord(bytes);
      if (!node) return NOT_A_RECORD;
      const entry = firstStringMember(node, 'entry') ?? '';
      const earlier = records.get(entry);
      if (firstStringMember(node, 'started_at') === undefined) {
        if (!earlier) return 'it is the outcome of an unknown training job, so earlier jobs are unknown';
        earlier.end = node;
        return undefined;
      }
      const record = { start: node, end: undefined };
      records.set(entry, record);
      const job = jobKey(...(['digest', 'target', 'model_id'] as const).map((name) => firstStringMember(node, name)));
      const sameJobs = recordsByJob.get(job) ?? [];
      sameJobs.push(record);
      recordsByJob.set(job, sameJobs);
      return undefined;
    },
  };
}

function withHint(error: unknown): unknown {
  if (!(error instanceof Failure) || error.code !== 'local_file' || error.facts.hint === FILE_LIMIT_HINT) return error;
  const hint = 'set SVC_DATA_DIR to another directory';
  return error.with({ hint, applied: 'no' });
}

function jobKey(...parts: readonly (string | undefined)[]): string {
  return JSON.stringify(parts.map((part) => part ?? null));
}

// The last of several jobs, which the user is most likely to remember.
function duplicateFailure(
  records: readonly TrainingJobRecord[],
  allowed: AllowedDuplicates,
  context: JobHistoryRuntime,
): Failure | undefined {
  const earlier = records.findLast((record) => {
    const status = jobStatus(record, context);
    return allowed !== true && status !== 'not-applied' && status !== allowed;
  });
  if (!earlier) return undefined;
  const { start, end } = earlier;
  const id = firstStringMember(end, 'id');
  const when = firstStringMember(start, 'started_at');
  const pid = getMember(start, 'pid');
  const who = `process ${pid && rawText(pid)} on ${firstStringMember(start, 'host')}`;
  const descriptions = {
    applied: [`was sent at ${when} and was applied`, 'svc train log lists it'],
    'in-flight': [`has been in flight since ${when}, in ${who}`, 'wait for it'],
    unknown: [`was sent at ${when} by ${who}, and may have been applied`, 'check the service first'],
  };
  const status = jobStatus(earlier, context);
  const [what, step] = descriptions[status === 'not-applied' ? 'unknown' : status];
  return safetyFailure('duplicate_job', `the same job ${what}`, {
    hint: `${step}; to send it again, run svc train with --allow-duplicate`,
    applied: 'no',
    ids: id === undefined ? {} : { job: id },
  });
}
