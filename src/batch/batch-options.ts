import type { Settings } from '../client/resolve-settings.ts';
import type { Invocation } from '../command.ts';
import { parseDurationOrZeroMs } from '../config/setting-kinds.ts';
import { type Failure, invalidValueFailure, usageFailure } from '../errors.ts';
import { MIN_TAKE_OVER_MS } from '../files/file-lock.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../flag.ts';
import type { Runtime } from '../runtime.ts';

export type BatchOptions = ReturnType<typeof parseBatchFlags>;

const MAX_CONCURRENT_REQUESTS = 1000;
const secondsPerUnit: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600 };
const TAKE_OVER_VALUES = `at least ${MIN_TAKE_OVER_MS / 1000}s: the process that holds the lock stops by itself in that time`;

export const DEFAULT_BATCH_OPTIONS: BatchOptions = { ...parseBatchFlags(new Map(), {}), outageFlag: '' };

const REQUIRED_FLAGS: { readonly [flag: string]: string } = {
  'retry-unknown': 'resume',
  'accept-changes': 'resume',
  'take-over': 'resume',
  'sample-seed': 'sample',
  'id-column': 'rows',
};

/** Reads the flags of a batch. Throws usage for flags that contradict --batch or each other. */
export function readBatchOptions(
  { args, flags }: Invocation,
  { previewFormat, output }: Pick<Settings, 'previewFormat' | 'output'>,
  env: Runtime['env'],
): BatchOptions {
  if (args.length > 0 && !flags.has('rows'))
    throw usageFailure(
      `--batch takes bodies from a file, not from the argument ${JSON.stringify(args[0])}`,
      'remove the argument',
    );
  if (previewFormat === 'curl')
    throw usageFailure(
      '--curl cannot be combined with --batch: it prints one request',
      'use --dry-run to check the lines',
    );
  if (isFlagOn(flags, 'resume') && (output === undefined || output === '-'))
    throw usageFailure('--resume needs the output file of the earlier run, not stdout', 'name that file with -o');
  for (const [name, other] of Object.entries(REQUIRED_FLAGS))
    if (flags.get(name) && !flags.get(other))
      throw usageFailure(`--${name} needs --${other}`, `add --${other}, or leave out --${name}`);
  return parseBatchFlags(flags, env);
}

function parseBatchFlags(flags: FlagValues, env: Runtime['env']) {
  const parse = <T>(name: string, expected: string, toValue: (text: string) => T | undefined): T | undefined => {
    const text = getStringFlag(flags, name);
    const value = text === undefined ? undefined : toValue(text);
    if (text === undefined || value !== undefined) return value;
    throw invalidValueFailure(`--${name}`, text, expected);
  };
  const parseCount = (name: string): number | undefined =>
    parse(name, 'a whole number from 1 on', (text) => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined));
  const size = parseCount('sample');
  const shard = getStringFlag(flags, 'shard');
  const isFailFast = isFlagOn(flags, 'fail-fast');
  return {
    /** The file of lines as typed; `-` is stdin. */
    input: getStringFlag(flags, 'rows') ?? getStringFlag(flags, 'batch') ?? '-',
    concurrency:
      parse('concurrency', `a number from 1 to ${MAX_CONCURRENT_REQUESTS}`, (text) =>
        /^[1-9]\d{0,3}$/.test(text) && Number(text) <= MAX_CONCURRENT_REQUESTS ? Number(text) : undefined,
      ) ?? 8,
    /** Requests per second. */
    rate: parse('rate', 'requests per second or minute, such as 20/s or 100/m', (text) => {
      const [, count, unit = 's'] = /^(\d{1,6}(?:\.\d{1,6})?)(?:\/([smh]))?$/.exec(text) ?? [];
      const rate = Number(count) / (secondsPerUnit[unit] ?? 1);
      return rate > 0 ? rate : undefined;
    }),
    shard: parseShard(shard ?? (env.SVC_SHARD || undefined), shard === undefined ? 'SVC_SHARD' : '--shard', env),
    limit: parseCount('limit'),
    /** Lines chosen at random: the same ones for the same seed, and all of them in a larger sample. */
    sample: size === undefined ? undefined : { size, seed: getStringFlag(flags, 'sample-seed') ?? '0' },
    maxTotalTokens: parseCount('max-total-tokens'),
    takeOverMs: parse('take-over', TAKE_OVER_VALUES, (text) => {
      const milliseconds = parseDurationOrZeroMs('--take-over', text);
      return milliseconds >= MIN_TAKE_OVER_MS ? milliseconds : undefined;
    }),
    isResumed: isFlagOn(flags, 'resume'),
    canRetryUnknown: isFlagOn(flags, 'retry-unknown'),
    canAcceptChanges: isFlagOn(flags, 'accept-changes'),
    isFailFast,
    maxFailures: parse('max-failures', 'a number such as 10, or 5%', (text) => {
      const [, limit, percent] = /^(\d{1,9}|\d{1,3}\.\d{1,3}(?=%))(%?)$/.exec(text) ?? [];
      const isValid = limit !== undefined && !(percent && Number(limit) > 100);
      return isValid ? { limit: Number(limit), isPercentage: percent === '%' } : undefined;
    }),
    isOrdered: isFlagOn(flags, 'ordered'),
    /** How long lines wait while no connection can be made; 0 if they fail at once. */
    maxOutageMs: isFailFast ? 0 : parseDurationOrZeroMs('--max-outage', getStringFlag(flags, 'max-outage') ?? '5m'),
    outageFlag: '--max-outage',
  };
}

/** The part of the lines that one of several tasks processes: of 10, the third takes lines 3, 13, 23 and so on. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/** The shard of `3/10`, `auto` or `auto/10` from `source`, a flag or variable; without a text all lines. Throws usage. */
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

/** The flags of a batch, with the shard in the place of `{shard}` in the names of the files that it writes: `3-of-10`. */
export function fillShardInFiles(flags: FlagValues, { index, count }: Shard): FlagValues {
  const filled = new Map(flags);
  for (const name of ['output', 'junit', 'summary']) {
    const path = getStringFlag(flags, name);
    if (path !== undefined) filled.set(name, path.replaceAll('{shard}', `${index}-of-${count}`));
  }
  return filled;
}

type TaskPosition = NonNullable<ReturnType<typeof readPosition>>;

/** The variables of a scheduler that numbers its tasks from `first`, by default 0; they count only if `marker` is set. */
interface TaskVariables {
  readonly scheduler: string;
  readonly index: string;
  readonly count?: string;
  readonly first?: number;
  readonly marker?: string;
  /** The index of a job that is no array. */
  readonly none?: string;
  /** The variables with the first and last number of the tasks, and the distance of two numbers. */
  readonly range?: readonly [first: string, last: string, step: string];
}

const taskVariables: readonly TaskVariables[] = [
  {
    scheduler: 'Slurm array',
    index: 'SLURM_ARRAY_TASK_ID',
    count: 'SLURM_ARRAY_TASK_COUNT',
    range: ['SLURM_ARRAY_TASK_MIN', 'SLURM_ARRAY_TASK_MAX', 'SLURM_ARRAY_TASK_STEP'],
  },
  // SLURM_PROCID is set outside of steps too, and is 0 there.
  { scheduler: 'srun', index: 'SLURM_PROCID', count: 'SLURM_STEP_NUM_TASKS', marker: 'SLURM_STEP_ID' },
  { scheduler: 'Kubernetes', index: 'JOB_COMPLETION_INDEX' },
  { scheduler: 'AWS Batch', index: 'AWS_BATCH_JOB_ARRAY_INDEX', count: 'AWS_BATCH_JOB_ARRAY_SIZE' },
  { scheduler: 'Cloud Run', index: 'CLOUD_RUN_TASK_INDEX', count: 'CLOUD_RUN_TASK_COUNT' },
  { scheduler: 'GitLab', index: 'CI_NODE_INDEX', count: 'CI_NODE_TOTAL', first: 1, marker: 'GITLAB_CI' },
  { scheduler: 'CircleCI', index: 'CIRCLE_NODE_INDEX', count: 'CIRCLE_NODE_TOTAL' },
  { scheduler: 'Buildkite', index: 'BUILDKITE_PARALLEL_JOB', count: 'BUILDKITE_PARALLEL_JOB_COUNT' },
  { scheduler: 'Azure Pipelines', index: 'SYSTEM_JOBPOSITIONINPHASE', count: 'SYSTEM_TOTALJOBSINPHASE', first: 1 },
  { scheduler: 'GNU parallel', index: 'PARALLEL_SEQ', first: 1 },
  { scheduler: 'Open MPI', index: 'OMPI_COMM_WORLD_RANK', count: 'OMPI_COMM_WORLD_SIZE' },
  { scheduler: 'MPICH', index: 'PMI_RANK', count: 'PMI_SIZE' },
  { scheduler: 'SkyPilot', index: 'SKYPILOT_NODE_RANK', count: 'SKYPILOT_NUM_NODES' },
  {
    scheduler: 'Grid Engine',
    index: 'SGE_TASK_ID',
    none: 'undefined',
    range: ['SGE_TASK_FIRST', 'SGE_TASK_LAST', 'SGE_TASK_STEPSIZE'],
  },
  { scheduler: 'LSF', index: 'LSB_JOBINDEX', count: 'LSB_JOBINDEX_END', first: 1, none: '0' },
  { scheduler: 'PBS', index: 'PBS_ARRAY_INDEX', first: 1 },
];

// `expectedCount` is the n of `auto/n`. Where no scheduler is found, where two disagree, and for positions that cannot be
// right: never the whole file by mistake.
function detectShard(given: Runtime['env'], source: string, expectedCount: number | undefined): Shard {
  const env: Runtime['env'] = {
    ...given,
    SLURM_STEP_NUM_TASKS: given.SLURM_STEP_NUM_TASKS || given.SLURM_NTASKS,
    // On several nodes, the daemons of mpirun are the tasks of the step, one for each node.
    SLURM_STEP_ID: given.OMPI_COMM_WORLD_RANK || given.PMI_RANK ? undefined : given.SLURM_STEP_ID,
  };
  const undetected = (reason: string, hint = 'name the shard, such as --shard 3/10'): Failure =>
    usageFailure(`cannot determine the shard for ${source}: ${reason}`, hint);
  const found = taskVariables.flatMap((variables) => readPosition(env, variables, undetected) ?? []);
  const stepTasks = found.find(({ scheduler }) => scheduler === 'srun')?.count;
  if (env.SLURM_ARRAY_TASK_ID && stepTasks !== undefined && stepTasks > 1)
    throw undetected('the Slurm array and its step, which has several tasks, give two positions');
  if (!env.SLURM_ARRAY_TASK_ID && stepTasks === 1) throw undetected('the Slurm step has one task');
  // The one task of a CI job, which always says so, does not split the lines if another scheduler does.
  const split = found.filter(({ count }) => count !== 1);
  const positions = split.length > 0 ? split : found;
  const [first] = positions;
  if (!first) throw undetected('no scheduler found in the environment');
  const describe = ({ scheduler, index, count }: TaskPosition): string =>
    `${scheduler} says task ${index}${count === undefined ? '' : ` of ${count}`}`;
  const counts = new Set(positions.flatMap(({ count }) => count ?? []));
  if (positions.some(({ index }) => index !== first.index) || counts.size > 1)
    throw undetected(`schedulers disagree: ${positions.map(describe).join(', ')}`);
  const [foundCount] = counts;
  const count = expectedCount ?? foundCount;
  if (count === undefined)
    throw undetected(
      `${first.scheduler} does not say how many tasks there are`,
      'add the number of tasks, such as --shard auto/8',
    );
  if (first.index > count || (foundCount !== undefined && foundCount !== count))
    throw undetected(`${describe(first)}, which is not a shard of ${count}`);
  return { index: first.index, count };
}

function readPosition(
  env: Runtime['env'],
  { scheduler, index, count, first = 0, marker, none, range }: TaskVariables,
  undetected: (reason: string, hint?: string) => Failure,
) {
  if (!env[index] || env[index] === none || (marker !== undefined && !env[marker])) return undefined;
  const readNumber = (name: string): number => {
    const text = env[name] ?? '';
    if (/^\d{1,9}$/.test(text)) return Number(text);
    throw undetected(text === '' ? `${name} is not set` : `${name} cannot be ${JSON.stringify(text)}`);
  };
  const id = readNumber(index);
  if (!range) {
    const position = id - first + 1;
    const total = count === undefined || !env[count] ? undefined : readNumber(count);
    if (position >= 1 && (total === undefined || position <= total))
      return { scheduler, index: position, count: total };
    throw undetected(`${index}=${env[index]} is not a task of ${total ?? 'a job'}`);
  }
  const [from, to] = [readNumber(range[0]), readNumber(range[1])];
  const step = env[range[2]] ? readNumber(range[2]) : 1;
  const position = (id - from) / step + 1;
  // Slurm reports the end of the range as it was typed: 7 for 0-7:2, whose last task is 6.
  const total = Math.floor((to - from) / step) + 1;
  const isWhole = count === undefined || (total > 1 && readNumber(count) === total);
  if (isWhole && Number.isInteger(position) && position >= 1 && position <= total)
    return { scheduler, index: position, count: total };
  throw undetected(
    `task ${id} of an array from ${from} to ${to} does not show its position in the whole job`,
    'name the shard, such as --shard 3/8 for the third of 8 tasks; auto/8 does not work here',
  );
}
