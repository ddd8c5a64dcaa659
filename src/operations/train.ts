import type { Fields } from '../fields/field.ts';
import { BYTES_PER_MEBIBYTE, type Operation } from './operation.ts';
import { trajectoryGroupFields } from './trajectory-fields.ts';

const experimentalConfigFields = {
  advantage_balance: { type: 'number', summary: 'Weight between positive and negative advantages', sample: 0 },
  epsilon: { type: 'number', summary: 'Lower clip range of the policy ratio', sample: 0.2 },
  epsilon_high: { type: 'number', summary: 'Upper clip range of the policy ratio', sample: 0.28 },
  svc_k2_tau: { type: 'number', summary: 'Temperature of the k2 term', sample: 1 },
  learning_rate: { type: 'number', summary: 'Learning rate', sample: 0.00001 },
  mask_prob_ratio: { type: 'boolean', summary: 'Mask tokens with a probability ratio out of range' },
  max_negative_advantage_importance_sampling_weight: {
    type: 'number',
    summary: 'Maximum importance weight for negative advantages',
    sample: 5,
  },
  ppo: { type: 'boolean', summary: 'Use the PPO objective' },
  precalculate_logprobs: { type: 'boolean', summary: 'Compute reference logprobs before training' },
  scale_rewards: { type: 'boolean', summary: 'Scale rewards within a group' },
} as const satisfies Fields;

const sampleMessages = [{ role: 'user', content: 'Where is my parcel?' }];

/** POST /v1/preview/training-jobs: a retry creates a second job. */
export const trainOperation = {
  command: ['train'],
  summary: 'Create a reinforcement-learning training job',
  about:
    'Trains a model on groups of trajectories, each with a reward. This operation is a preview: the service may change it. svc never sends a job twice; if the response is lost, check whether the job exists before running the command again.',
  path: '/v1/preview/training-jobs',
  auth: 'bearer',
  host: 'train',
  largestBody: 1024 * BYTES_PER_MEBIBYTE,
  errors: 'detail',
  effect: 'once',
  isPreview: true,
  body: {
    model_id: { type: 'string', format: 'uuid', required: true, summary: 'Id of the model to train' },
    trajectory_groups: {
      type: 'list',
      of: { type: 'object', fields: trajectoryGroupFields },
      required: true,
      summary: 'The groups to train on',
      sample: [{ trajectories: [1, 0].map((reward) => ({ messages_and_choices: sampleMessages, reward })) }],
    },
    experimental_config: {
      type: 'object',
      fields: experimentalConfigFields,
      isCommon: true,
      summary: 'Settings of the training algorithm (experimental)',
    },
  },
  reply: { id: { type: 'string', format: 'uuid', required: true, summary: 'Id of the training job' } },
  result: { member: 'id', as: 'record' },
  arguments: {
    name: 'files',
    summary: 'Trajectory groups: JSON arrays, JSONL with one group per line, gzip, directories; - is stdin',
    as: { filesOf: 'trajectory_groups' },
  },
  examples: [
    { why: 'Train on a file of groups', args: 'train groups.jsonl --model-id 0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05' },
    {
      why: 'Send a body from a file with another training configuration',
      args: `train -f job.json --experimental-config '{"learning_rate":0.00002}'`,
    },
  ],
} as const satisfies Operation;
