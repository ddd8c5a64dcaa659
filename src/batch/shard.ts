import { type Failure, usageFailure } from '../errors.ts';
import { type FlagValues, getStringFlag } from '../flag.ts';
import type { Runtime } from '../runtime.ts';

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
    throw usageFailure(
      `${source} cannot be ${JSON.stringify(text)}`,
      'use 3/10 for the third of ten shards, or auto on a scheduler',
    );
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

/** The variables of a scheduler that numbers its tasks. */
interface TaskVariables {
  readonly scheduler: string;
  readonly index: string;
  readonly count?: string;
  /** The number of the first task. */
  readonly first: 0 | 1;
  /** The variables count only if this one is set. */
  readonly marker?: string;
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
  if (!first)
    throw undetectedFailure(source, 'no scheduler found in the environment', 'name the shard, such as --shard 3/10');
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
  { scheduler, index, count, first, marker }: TaskVariables,
  source: string,
): TaskPosition | undefined {
  if (!env[index] || (marker !== undefined && !env[marker])) return undefined;
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
    if (stepTasks?.count === 1)
      throw undetectedFailure(source, 'the Slurm step has one task', 'name the shard, such as --shard 3/10');
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
  if (
    count === 1 ||
    Math.floor((max - min) / step) + 1 !== count ||
    !Number.isInteger(index) ||
    index < 1 ||
    index > count
  )
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
