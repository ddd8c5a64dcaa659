import { type Failure, invalidValueFailure, usageFailure } from '../../errors.ts';
import type { Runtime } from '../../runtime.ts';

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

/** In the order in which `auto` reads them. To add a scheduler, add a row, and name it in docs/scale.md. */
export const taskVariables: readonly TaskVariables[] = [
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
