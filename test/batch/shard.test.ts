import { describe, expect, it } from 'vitest';
import { fillShard } from '../../src/batch/batch-options.ts';
import { parseShard, taskVariables } from '../../src/batch/read/shard.ts';

type Env = Record<string, string>;
const array = (id: number, min: number, max: number, count: number, step = 1): Env => ({
  SLURM_ARRAY_TASK_ID: `${id}`,
  SLURM_ARRAY_TASK_MIN: `${min}`,
  SLURM_ARRAY_TASK_MAX: `${max}`,
  SLURM_ARRAY_TASK_COUNT: `${count}`,
  SLURM_ARRAY_TASK_STEP: `${step}`,
});
const batchScript = { SLURM_PROCID: '0', SLURM_NTASKS: '4' };
const step = (procId: number, tasks: number): Env => ({
  SLURM_STEP_ID: '0',
  SLURM_PROCID: `${procId}`,
  SLURM_NTASKS: '16',
  SLURM_STEP_NUM_TASKS: `${tasks}`,
});

const gridEngine = (id: string, first: string, last: string, stepSize: string): Env => ({
  SGE_TASK_ID: id,
  SGE_TASK_FIRST: first,
  SGE_TASK_LAST: last,
  SGE_TASK_STEPSIZE: stepSize,
});
const mpiInGridEngine = {
  ...gridEngine('undefined', 'undefined', 'undefined', 'undefined'),
  OMPI_COMM_WORLD_RANK: '1',
  OMPI_COMM_WORLD_SIZE: '2',
};

const positions: readonly (readonly [what: string, shard: string, env: Env, index: number, count: number])[] = [
  ['a Slurm array from 0', 'auto', array(3, 0, 7, 8), 4, 8],
  ['a Slurm array from 1', 'auto/8', array(8, 1, 8, 8), 8, 8],
  ['a Slurm array with a step', 'auto', array(20, 10, 30, 3, 10), 2, 3],
  ['a Slurm array whose end is not one of its tasks', 'auto', array(6, 0, 7, 4, 2), 4, 4],
  ['a Slurm array in a batch script', 'auto', { ...array(2, 1, 8, 8), ...batchScript }, 2, 8],
  ['a Slurm array with a step of one task', 'auto', { ...array(2, 1, 8, 8), ...step(0, 1) }, 2, 8],
  ['srun', 'auto', step(2, 4), 3, 4],
  ['srun without SLURM_STEP_NUM_TASKS', 'auto', { SLURM_STEP_ID: '1', SLURM_PROCID: '3', SLURM_NTASKS: '4' }, 4, 4],
  ['Kubernetes', 'auto/8', { JOB_COMPLETION_INDEX: '7' }, 8, 8],
  ['AWS Batch', 'auto', { AWS_BATCH_JOB_ARRAY_INDEX: '0', AWS_BATCH_JOB_ARRAY_SIZE: '5' }, 1, 5],
  ['Cloud Run', 'auto', { CLOUD_RUN_TASK_INDEX: '4', CLOUD_RUN_TASK_COUNT: '5' }, 5, 5],
  ['GitLab', 'auto', { GITLAB_CI: 'true', CI_NODE_INDEX: '2', CI_NODE_TOTAL: '3' }, 2, 3],
  ['CircleCI', 'auto', { CIRCLE_NODE_INDEX: '2', CIRCLE_NODE_TOTAL: '3' }, 3, 3],
  ['Buildkite', 'auto/4', { BUILDKITE_PARALLEL_JOB: '0', BUILDKITE_PARALLEL_JOB_COUNT: '4' }, 1, 4],
  ['Azure Pipelines', 'auto', { SYSTEM_JOBPOSITIONINPHASE: '2', SYSTEM_TOTALJOBSINPHASE: '2' }, 2, 2],
  ['GNU parallel', 'auto/8', { PARALLEL_SEQ: '8' }, 8, 8],
  ['Open MPI', 'auto', { OMPI_COMM_WORLD_RANK: '0', OMPI_COMM_WORLD_SIZE: '4' }, 1, 4],
  [
    'Open MPI on several nodes of Slurm',
    'auto',
    { ...step(0, 2), OMPI_COMM_WORLD_RANK: '5', OMPI_COMM_WORLD_SIZE: '8' },
    6,
    8,
  ],
  ['MPICH', 'auto', { PMI_RANK: '3', PMI_SIZE: '4' }, 4, 4],
  ['MPICH under srun', 'auto', { ...step(2, 4), PMI_RANK: '2', PMI_SIZE: '4' }, 3, 4],
  ['SkyPilot', 'auto', { SKYPILOT_NODE_RANK: '1', SKYPILOT_NUM_NODES: '2' }, 2, 2],
  ['a Grid Engine array', 'auto', gridEngine('5', '1', '9', '2'), 3, 5],
  ['a Grid Engine array from 10', 'auto', gridEngine('12', '10', '12', '1'), 3, 3],
  ['MPI in a Grid Engine job that is no array', 'auto', mpiInGridEngine, 2, 2],
  ['an LSF array', 'auto', { LSB_JOBINDEX: '3', LSB_JOBINDEX_END: '8' }, 3, 8],
  ['MPI in an LSF job that is no array', 'auto', { LSB_JOBINDEX: '0', PMI_RANK: '0', PMI_SIZE: '2' }, 1, 2],
  ['a PBS array', 'auto/3', { PBS_ARRAY_INDEX: '3' }, 3, 3],
  [
    'two systems that agree',
    'auto',
    { PARALLEL_SEQ: '2', GITLAB_CI: '1', CI_NODE_INDEX: '2', CI_NODE_TOTAL: '3' },
    2,
    3,
  ],
  [
    'GNU parallel in a CI job of one task',
    'auto/8',
    { PARALLEL_SEQ: '3', SYSTEM_JOBPOSITIONINPHASE: '1', SYSTEM_TOTALJOBSINPHASE: '1' },
    3,
    8,
  ],
  ['a CI job of one task', 'auto', { CIRCLE_NODE_INDEX: '0', CIRCLE_NODE_TOTAL: '1' }, 1, 1],
  ['nothing, with a shard that is named', '3/10', array(3, 3, 3, 1), 3, 10],
];

describe('--shard auto', () => {
  it.each(taskVariables)('is tested on $scheduler', ({ index }) => {
    expect(
      positions.some(([, , env]) => index in env),
      `add a row with ${index} to positions`,
    ).toBe(true);
  });

  it.each(positions)('finds the shard of %s', (_, text, env, index, count) => {
    expect(parseShard(text, '--shard', env)).toEqual({ index, count });
  });

  it.each<[string, string, Env, string]>([
    ['nothing', 'auto', {}, 'no scheduler found'],
    ['nothing, with a count', 'auto/8', {}, 'no scheduler found'],
    ['a batch script outside of a step', 'auto', batchScript, 'no scheduler found'],
    ['CI variables of somebody else', 'auto', { CI_NODE_INDEX: '1', CI_NODE_TOTAL: '2' }, 'no scheduler found'],
    ['a gap in a Slurm array', 'auto', array(7, 1, 7, 3), 'does not show its position'],
    ['a gap in a Slurm array, with a count', 'auto/7', array(7, 1, 7, 3), 'does not show its position'],
    ['a gap in a Slurm array with a step', 'auto', array(6, 0, 7, 3, 2), 'does not show its position'],
    ['a task beside the steps of a Slurm array', 'auto', array(7, 0, 7, 4, 2), 'does not show its position'],
    ['one task of a Slurm array', 'auto', array(3, 3, 3, 1), 'does not show its position'],
    ['a Slurm array with a step of several tasks', 'auto', { ...array(2, 1, 8, 8), ...step(1, 4) }, 'two positions'],
    ['a step of one task', 'auto', step(0, 1), 'has one task'],
    ['a Slurm array without its size', 'auto', { SLURM_ARRAY_TASK_ID: '3' }, 'SLURM_ARRAY_TASK_MIN is not set'],
    ['Kubernetes without a count', 'auto', { JOB_COMPLETION_INDEX: '7' }, 'does not say how many'],
    [
      'GNU parallel in a job of CircleCI with one task',
      'auto',
      { PARALLEL_SEQ: '1', CIRCLE_NODE_INDEX: '0', CIRCLE_NODE_TOTAL: '1' },
      'GNU parallel does not say how many',
    ],
    [
      'Kubernetes in a job of Azure Pipelines with one task',
      'auto',
      { JOB_COMPLETION_INDEX: '0', SYSTEM_JOBPOSITIONINPHASE: '1', SYSTEM_TOTALJOBSINPHASE: '1' },
      'Kubernetes does not say how many',
    ],
    ['an index that is too large', 'auto/8', { JOB_COMPLETION_INDEX: '8' }, 'says task 9, which is not a shard of 8'],
    ['GNU parallel beyond the count', 'auto/8', { PARALLEL_SEQ: '9' }, 'says task 9, which is not a shard of 8'],
    [
      'another count than the one found',
      'auto/8',
      { CLOUD_RUN_TASK_INDEX: '4', CLOUD_RUN_TASK_COUNT: '5' },
      'says task 5 of 5, which is not a shard of 8',
    ],
    [
      'two systems that disagree',
      'auto',
      { PARALLEL_SEQ: '3', CIRCLE_NODE_INDEX: '0', CIRCLE_NODE_TOTAL: '4' },
      'schedulers disagree: CircleCI says task 1 of 4, GNU parallel says task 3',
    ],
    [
      'two systems with different counts',
      'auto',
      { GITLAB_CI: '1', CI_NODE_INDEX: '2', CI_NODE_TOTAL: '3', CIRCLE_NODE_INDEX: '1', CIRCLE_NODE_TOTAL: '4' },
      'schedulers disagree: GitLab says task 2 of 3, CircleCI says task 2 of 4',
    ],
    [
      'an index outside of its count',
      'auto',
      { CIRCLE_NODE_INDEX: '4', CIRCLE_NODE_TOTAL: '4' },
      'CIRCLE_NODE_INDEX=4 is not a task of 4',
    ],
    ['a task before the first', 'auto/3', { PARALLEL_SEQ: '0' }, 'PARALLEL_SEQ=0 is not a task'],
    ['what is not a number', 'auto/3', { JOB_COMPLETION_INDEX: 'x' }, 'JOB_COMPLETION_INDEX cannot be "x"'],
  ])('refuses %s', (_, text, env, message) => {
    expect(() => parseShard(text, '--shard', env)).toThrow(message);
  });

  it('names its source, and fills in output paths', () => {
    expect(() => parseShard('4/3', 'SVC_SHARD', {})).toThrow('SVC_SHARD cannot be "4/3"');
    expect(fillShard('out-{shard}.jsonl', { index: 3, count: 10 })).toBe('out-3-of-10.jsonl');
  });
});
