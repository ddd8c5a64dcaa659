import type { Settings } from '../client/settings.ts';
import type { Invocation } from '../command.ts';
import { parseDurationOrZeroMs } from '../config/parse-duration.ts';
import { type Failure, invalidValueFailure, usageFailure } from '../errors.ts';
import { MIN_TAKE_OVER_MS } from '../files/file-lock.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../flag.ts';
import type { Runtime } from '../runtime.ts';

export interface MaxFailures {
  readonly limit: number;
  readonly isPercentage: boolean;
}

/** Lines chosen at random: the same ones for the same seed, and all of them in a larger sample. */
export interface Sample {
  readonly size: number;
  readonly seed: string;
}

export interface BatchOptions {
  /** The file of lines as typed; `-` is stdin. */
  readonly input: string;
  /** Maximum requests in flight. */
  readonly concurrency: number;
  /** Maximum requests per second; undefined for no limit. */
  readonly rate: number | undefined;
  readonly shard: Shard;
  /** The number of lines that are sent, from the first one of the shard; undefined for all. */
  readonly limit: number | undefined;
  readonly sample: Sample | undefined;
  /** The lines of the sample, once they are chosen. */
  readonly sampledLines: ReadonlySet<number> | undefined;
  /** No more lines are sent once the responses of this run used as many tokens. */
  readonly maxTotalTokens: number | undefined;
  /** Milliseconds after which the lock of another machine is taken over, if it was not renewed. */
  readonly takeOverMs: number | undefined;
  readonly isResumed: boolean;
  readonly canRetryUnknown: boolean;
  readonly canAcceptChanges: boolean;
  readonly isFailFast: boolean;
  /** The number of lines that may fail, or a percentage of the lines so far. */
  readonly maxFailures: MaxFailures | undefined;
  readonly isOrdered: boolean;
  /** Milliseconds that lines wait while no connection can be made; 0 if they fail at once. */
  readonly maxOutageMs: number;
  /** The flag that changes that time, for messages. */
  readonly outageFlag: '--max-outage' | undefined;
}

const MAX_CONCURRENT_REQUESTS = 1000;

/** The options of a batch without flags. */
export const DEFAULT_BATCH_OPTIONS: BatchOptions = {
  input: '-',
  concurrency: 8,
  rate: undefined,
  shard: { index: 1, count: 1 },
  limit: undefined,
  sample: undefined,
  sampledLines: undefined,
  maxTotalTokens: undefined,
  takeOverMs: undefined,
  isResumed: false,
  canRetryUnknown: false,
  canAcceptChanges: false,
  isFailFast: false,
  maxFailures: undefined,
  isOrdered: false,
  maxOutageMs: 5 * 60_000,
  outageFlag: undefined,
};

/** Reads the flags of a batch. Throws usage for flags that contradict --batch or each other. */
export function readBatchOptions(
  { args, flags }: Invocation,
  { previewFormat, output }: Pick<Settings, 'previewFormat' | 'output'>,
  env: Runtime['env'],
): BatchOptions {
  const isRows = flags.has('rows');
  if (flags.has('file'))
    throw usageFailure(
      `--file cannot be combined with --${isRows ? 'rows' : 'batch'}`,
      isRows ? 'describe the body with flags' : 'put the body on a line of the --batch file',
    );
  if (flags.has('id-column') && !isRows)
    throw usageFailure('--id-column works only with --rows', 'write a custom_id into the lines of the --batch file');
  const argument = JSON.stringify(args[0]);
  if (args.length > 0 && !isRows)
    throw usageFailure(`--batch takes bodies from a file, not from the argument ${argument}`, 'remove the argument');
  if (previewFormat === 'curl')
    throw usageFailure(
      '--curl cannot be combined with --batch: it prints one request',
      'use --dry-run to check the lines',
    );
  if (isFlagOn(flags, 'resume') && (output === undefined || output === '-'))
    throw usageFailure('--resume needs the output file of the earlier run, not stdout', 'name that file with -o');
  for (const name of ['retry-unknown', 'accept-changes', 'take-over'])
    if (flags.get(name) && !isFlagOn(flags, 'resume'))
      throw usageFailure(`--${name} needs --resume`, `add --resume, or leave out --${name}`);
  const shard = getStringFlag(flags, 'shard');
  return {
    input: getStringFlag(flags, 'rows') ?? getStringFlag(flags, 'batch') ?? DEFAULT_BATCH_OPTIONS.input,
    concurrency: parseConcurrency(getStringFlag(flags, 'concurrency')),
    rate: parseRate(getStringFlag(flags, 'rate')),
    shard: parseShard(shard ?? (env.SVC_SHARD || undefined), shard === undefined ? 'SVC_SHARD' : '--shard', env),
    limit: parseCount('limit', getStringFlag(flags, 'limit')),
    sample: readSample(flags),
    sampledLines: undefined,
    maxTotalTokens: parseCount('max-total-tokens', getStringFlag(flags, 'max-total-tokens')),
    takeOverMs: parseTakeOver(getStringFlag(flags, 'take-over')),
    isResumed: isFlagOn(flags, 'resume'),
    canRetryUnknown: isFlagOn(flags, 'retry-unknown'),
    canAcceptChanges: isFlagOn(flags, 'accept-changes'),
    isFailFast: isFlagOn(flags, 'fail-fast'),
    maxFailures: parseMaxFailures(getStringFlag(flags, 'max-failures')),
    isOrdered: isFlagOn(flags, 'ordered'),
    maxOutageMs: isFlagOn(flags, 'fail-fast') ? 0 : parseMaxOutage(getStringFlag(flags, 'max-outage')),
    outageFlag: '--max-outage',
  };
}

function readSample(flags: FlagValues): Sample | undefined {
  const size = parseCount('sample', getStringFlag(flags, 'sample'));
  const seed = getStringFlag(flags, 'sample-seed');
  if (size !== undefined) return { size, seed: seed ?? '0' };
  if (seed === undefined) return undefined;
  throw usageFailure('--sample-seed works only with --sample', 'add --sample <n>, or leave out --sample-seed');
}

function parseCount(name: string, text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]\d{0,14}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw invalidValueFailure(`--${name}`, text, 'use a whole number from 1 on');
}

function parseTakeOver(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const milliseconds = parseDurationOrZeroMs('--take-over', text);
  if (milliseconds >= MIN_TAKE_OVER_MS) return milliseconds;
  const reason = 'the process that holds the lock stops by itself in that time';
  throw invalidValueFailure('--take-over', text, `at least ${MIN_TAKE_OVER_MS / 1000}s: ${reason}`);
}

function parseConcurrency(text: string | undefined): number {
  if (text === undefined) return DEFAULT_BATCH_OPTIONS.concurrency;
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= MAX_CONCURRENT_REQUESTS) return Number(text);
  throw invalidValueFailure('--concurrency', text, `a number from 1 to ${MAX_CONCURRENT_REQUESTS}`);
}

function parseMaxFailures(text: string | undefined): MaxFailures | undefined {
  if (text === undefined) return undefined;
  const [, limit, percent] = /^(\d{1,9}|\d{1,3}\.\d{1,3}(?=%))(%?)$/.exec(text) ?? [];
  if (limit === undefined || (percent && Number(limit) > 100))
    throw invalidValueFailure('--max-failures', text, 'a number such as 10, or 5%');
  return { limit: Number(limit), isPercentage: percent === '%' };
}

function parseMaxOutage(text: string | undefined): number {
  return text === undefined ? DEFAULT_BATCH_OPTIONS.maxOutageMs : parseDurationOrZeroMs('--max-outage', text);
}

const secondsPerUnit: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600 };

// In requests per second.
function parseRate(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = 's'] = /^(\d{1,6}(?:\.\d{1,6})?)(?:\/([smh]))?$/.exec(text) ?? [];
  const rate = Number(count) / (secondsPerUnit[unit] ?? 1);
  if (rate > 0) return rate;
  throw invalidValueFailure('--rate', text, 'requests per second or minute, such as 20/s or 100/m');
}

/** The part of the lines that one of several tasks processes: of 10, the third takes lines 3, 13, 23 and so on. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/**
 * The shard of `3/10`, `auto` or `auto/10`, from the flag or the variable that `source` names; without a text all lines.
 * Throws usage for anything else.
 */
export function parseShard(text: string | undefined, source: string, env: Runtime['env']): Shard {
  if (text === undefined) return { index: 1, count: 1 };
  const [isAuto, autoCount] = /^auto(?:\/([1-9]\d{0,5}))?$/.exec(text) ?? [];
  if (isAuto !== undefined)
    return detectShard(env, `${source} ${text}`, autoCount === undefined ? undefined : Number(autoCount));
  const [, index, count] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(text) ?? [];
  if (index === undefined || Number(index) > Number(count))
    throw invalidValueFailure(source, text, '3/10 for the third of ten shards, or auto on a scheduler');
  return { index: Number(index), count: Number(count) };
}

/** True for the lines of a shard; line numbers start at 1. */
export function isInShard(line: number, { index, count }: Shard): boolean {
  return (line - index) % count === 0;
}

/** The flags of a batch, with the shard in the place of `{shard}` in the names of the files that it writes. */
export function fillShardInFiles(flags: FlagValues, shard: Shard): FlagValues {
  const filled = new Map(flags);
  for (const name of ['output', 'junit', 'summary']) {
    const path = getStringFlag(flags, name);
    if (path !== undefined) filled.set(name, fillShard(path, shard));
  }
  return filled;
}

/** A path with the shard in the place of `{shard}`: `out-{shard}.jsonl` is `out-3-of-10.jsonl`. */
export function fillShard(path: string, { index, count }: Shard): string {
  return path.replaceAll('{shard}', `${index}-of-${count}`);
}

/** The position of this task according to a scheduler: its number from 1, and the number of tasks if it is known. */
interface TaskPosition {
  readonly scheduler: string;
  readonly index: number;
  readonly count: number | undefined;
}

/** The variables of a scheduler that numbers its tasks from `first`; they count only if `marker` is set. */
interface TaskVariables extends Pick<TaskPosition, 'scheduler'> {
  readonly index: string;
  readonly count?: string;
  readonly first: 0 | 1;
  readonly marker?: string;
  /** The index of a job that is no array. */
  readonly none?: string;
  /** The variables with the last number and the distance of two numbers, instead of a count. */
  readonly range?: { readonly first: string; readonly last: string; readonly step: string };
}

const taskVariables: readonly TaskVariables[] = [
  { scheduler: 'Kubernetes', index: 'JOB_COMPLETION_INDEX', first: 0 },
  { scheduler: 'AWS Batch', index: 'AWS_BATCH_JOB_ARRAY_INDEX', count: 'AWS_BATCH_JOB_ARRAY_SIZE', first: 0 },
  { scheduler: 'Cloud Run', index: 'CLOUD_RUN_TASK_INDEX', count: 'CLOUD_RUN_TASK_COUNT', first: 0 },
  { scheduler: 'GitLab', index: 'CI_NODE_INDEX', count: 'CI_NODE_TOTAL', first: 1, marker: 'GITLAB_CI' },
  { scheduler: 'CircleCI', index: 'CIRCLE_NODE_INDEX', count: 'CIRCLE_NODE_TOTAL', first: 0 },
  { scheduler: 'Buildkite', index: 'BUILDKITE_PARALLEL_JOB', count: 'BUILDKITE_PARALLEL_JOB_COUNT', first: 0 },
  { scheduler: 'Azure Pipelines', index: 'SYSTEM_JOBPOSITIONINPHASE', count: 'SYSTEM_TOTALJOBSINPHASE', first: 1 },
  { scheduler: 'GNU parallel', index: 'PARALLEL_SEQ', first: 1 },
  { scheduler: 'Open MPI', index: 'OMPI_COMM_WORLD_RANK', count: 'OMPI_COMM_WORLD_SIZE', first: 0 },
  { scheduler: 'MPICH', index: 'PMI_RANK', count: 'PMI_SIZE', first: 0 },
  { scheduler: 'SkyPilot', index: 'SKYPILOT_NODE_RANK', count: 'SKYPILOT_NUM_NODES', first: 0 },
  {
    scheduler: 'Grid Engine',
    index: 'SGE_TASK_ID',
    first: 1,
    none: 'undefined',
    range: { first: 'SGE_TASK_FIRST', last: 'SGE_TASK_LAST', step: 'SGE_TASK_STEPSIZE' },
  },
  { scheduler: 'LSF', index: 'LSB_JOBINDEX', count: 'LSB_JOBINDEX_END', first: 1, none: '0' },
  { scheduler: 'PBS', index: 'PBS_ARRAY_INDEX', first: 1 },
];

// `expectedCount` is the n of `auto/n`. Where no scheduler is found, where two disagree, and for positions that cannot be
// right: never the whole file by mistake.
function detectShard(env: Runtime['env'], source: string, expectedCount: number | undefined): Shard {
  const found = [
    readSlurmPosition(env, source),
    ...taskVariables.map((variables) => readPosition(env, variables, source)),
  ].filter((position) => position !== undefined);
  // The one task of a CI job, which always says so, does not split the lines if another scheduler does.
  const split = found.filter(({ count }) => count !== 1);
  const positions = split.length > 0 ? split : found;
  const [first] = positions;
  if (!first) throw undetectedFailure(source, 'no scheduler found in the environment');
  const counts = new Set(positions.flatMap(({ count }) => count ?? []));
  if (positions.some(({ index }) => index !== first.index) || counts.size > 1)
    throw undetectedFailure(source, `schedulers disagree: ${positions.map(describePosition).join(', ')}`);
  const [foundCount] = counts;
  if (expectedCount !== undefined && foundCount !== undefined && foundCount !== expectedCount)
    throw undetectedFailure(source, `${describePosition(first)}, which is not a shard of ${expectedCount}`);
  const count = foundCount ?? expectedCount;
  if (count === undefined)
    throw undetectedFailure(
      source,
      `${first.scheduler} does not say how many tasks there are`,
      'add the number of tasks, such as --shard auto/8',
    );
  if (first.index > count)
    throw undetectedFailure(source, `${describePosition(first)}, which is not a shard of ${count}`);
  return { index: first.index, count };
}

function readPosition(
  env: Runtime['env'],
  { scheduler, index, count, first, marker, none, range }: TaskVariables,
  source: string,
): TaskPosition | undefined {
  if (!env[index] || env[index] === none || (marker !== undefined && !env[marker])) return undefined;
  if (range) {
    const [id, start, end, step] = [index, range.first, range.last, range.step].map((name) =>
      readNumber(env, name, source),
    );
    if (id === undefined || start === undefined || end === undefined || !step) return undefined;
    return { scheduler, index: (id - start) / step + 1, count: Math.floor((end - start) / step) + 1 };
  }
  const position = readNumber(env, index, source) - first + 1;
  const total = count === undefined || !env[count] ? undefined : readNumber(env, count, source);
  if (position < 1 || (total !== undefined && position > total))
    throw undetectedFailure(source, `${index}=${env[index]} is not a task of ${total ?? 'a job'}`);
  return { scheduler, index: position, count: total };
}

// An array, or the tasks of one step. SLURM_PROCID is set outside of steps too, and is 0 there.
function readSlurmPosition(env: Runtime['env'], source: string): TaskPosition | undefined {
  const stepTasks = env.SLURM_STEP_ID && env.SLURM_PROCID ? readStepPosition(env, source) : undefined;
  if (!env.SLURM_ARRAY_TASK_ID) {
    if (stepTasks?.count === 1) throw undetectedFailure(source, 'the Slurm step has one task');
    return stepTasks;
  }
  if (stepTasks?.count !== undefined && stepTasks.count > 1)
    throw undetectedFailure(source, 'the Slurm array and its step, which has several tasks, give two positions');
  const [id, min, max, count] = ['TASK_ID', 'TASK_MIN', 'TASK_MAX', 'TASK_COUNT'].map((name) =>
    readNumber(env, `SLURM_ARRAY_${name}`, source),
  );
  const step = env.SLURM_ARRAY_TASK_STEP ? readNumber(env, 'SLURM_ARRAY_TASK_STEP', source) : 1;
  if (id === undefined || min === undefined || max === undefined || count === undefined) return undefined;
  const index = (id - min) / step + 1;
  // Slurm reports the end of the range as it was typed: 7 for 0-7:2, whose last task is 6.
  const isRange = count > 1 && Math.floor((max - min) / step) + 1 === count;
  if (!isRange || !Number.isInteger(index) || index < 1 || index > count)
    throw undetectedFailure(
      source,
      `task ${id} of a Slurm array of ${count} from ${min} to ${max} does not show its position in the whole job`,
      'name the shard, such as --shard 3/8 for the third of 8 tasks; auto/8 does not work here',
    );
  return { scheduler: 'Slurm array', index, count };
}

function readStepPosition(env: Runtime['env'], source: string): TaskPosition {
  const count = readNumber(env, env.SLURM_STEP_NUM_TASKS ? 'SLURM_STEP_NUM_TASKS' : 'SLURM_NTASKS', source);
  const index = readNumber(env, 'SLURM_PROCID', source) + 1;
  if (index > count) throw undetectedFailure(source, `SLURM_PROCID=${index - 1} is not a task of ${count}`);
  return { scheduler: 'srun', index, count };
}

function readNumber(env: Runtime['env'], name: string, source: string): number {
  const text = env[name] ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw undetectedFailure(source, text === '' ? `${name} is not set` : `${name} cannot be ${JSON.stringify(text)}`);
}

function describePosition({ scheduler, index, count }: TaskPosition): string {
  return `${scheduler} says task ${index}${count === undefined ? '' : ` of ${count}`}`;
}

function undetectedFailure(source: string, reason: string, hint = 'name the shard, such as --shard 3/10'): Failure {
  return usageFailure(`cannot determine the shard for ${source}: ${reason}`, hint);
}
