import { type AcceptedFields, acceptedFields, dateTime, type Fields, fieldsOf } from '../fields/field.ts';
import { toolFunctionFields } from './chat-fields.ts';
import { BYTES_PER_MEBIBYTE, type Operation } from './operation.ts';

const { boolean, integer, list, number, object, string } = fieldsOf();

const strict = boolean('Require arguments to match the schema exactly');
const toolFields: Fields = {
  type: string('Type of the tool', { sample: 'function' }),
  function: object('The function', { fields: { ...toolFunctionFields, strict } }),
};

const prompt = { role: 'user', content: 'Where is my parcel?' };

// A choice as a chat returns it with `logprobs` and `return_tokens_as_token_ids`: a trainer needs its tokens.
function sampleChoice(content: string, tokenId: number) {
  const bytes = [...content].map((letter) => letter.charCodeAt(0));
  const token = { token: `token_id:${tokenId}`, logprob: -0.1, bytes };
  const message = { role: 'assistant', content };
  return { index: 0, message, finish_reason: 'stop', logprobs: { content: [{ ...token, top_logprobs: [] }] } };
}

const trajectoryFields: Fields = {
  additional_histories: list('Additional histories of the same run', { type: 'json' }, { sample: [] }),
  final_policy_version: integer('Policy version at the end of the run', { sample: 4 }),
  initial_policy_version: integer('Policy version at the start of the run', { sample: 4 }),
  logs: list('Log entries of the run', { type: 'json' }, { sample: ['looked up the parcel'] }),
  messages_and_choices: list(
    'Messages and model choices in order; choices carry token logprobs',
    { type: 'json' },
    { sample: [prompt, sampleChoice('Tomorrow', 311)] },
  ),
  metadata: object('Free-form metadata of the run', { sample: { task: 'parcel' } }),
  metrics: object('Measurements of the run by name', { sample: { turns: 1 } }),
  reward: number('Reward of the run', { sample: 0.5 }),
  start_time: string('Start of the run', dateTime),
  tools: list('Tools that the model could call', { type: 'object', hasOpenFields: true, fields: toolFields }),
};

export const trajectoryShape = {
  type: 'object',
  takesNull: true,
  fields: trajectoryFields,
  accepted: { auto_metrics: {}, exchanges: { conflicts: ['messages_and_choices'] } },
  foreign: { score: 'write reward', rewards: 'write reward', messages: 'write messages_and_choices' },
} as const;

/** A group of trajectories of one task, whose rewards are compared with each other. */
export const trajectoryGroupShape = {
  type: 'object',
  takesNull: true,
  fields: { trajectories: list('The runs of one task', trajectoryShape) },
  accepted: acceptedFields('exceptions metadata metrics logs'),
} as const;

const experimentalConfigFields: Fields = {
  advantage_balance: number('Weight between positive and negative advantages', { sample: 0 }),
  epsilon: number('Lower clip range of the policy ratio', { sample: 0.2 }),
  epsilon_high: number('Upper clip range of the policy ratio', { sample: 0.28 }),
  svc_k2_tau: number('Temperature of the k2 term', { sample: 1 }),
  learning_rate: number('Learning rate', { sample: 0.00001 }),
  mask_prob_ratio: boolean('Mask tokens with a probability ratio out of range'),
  max_negative_advantage_importance_sampling_weight: number('Maximum importance weight for negative advantages', {
    sample: 5,
  }),
  ppo: boolean('Use the PPO objective'),
  precalculate_logprobs: boolean('Compute reference logprobs before training'),
  scale_rewards: boolean('Scale rewards within a group'),
};

const acceptedConfigFields: AcceptedFields = {
  ...acceptedFields(`
    allow_training_without_logprobs kl_penalty_coef kl_penalty_reference_step kl_penalty_step_lag kl_ref_adapter_path
    logprob_calculation_chunk_size normalize_advantages packed_sequence_length
    num_trajectories_learning_rate_multiplier_power plot_tensors scale_learning_rate_by_reward_std_dev
    truncated_importance_sampling
  `),
  importance_sampling_level: { oneOf: ['token', 'sequence', 'average', 'geometric_average'] },
  kl_penalty_source: { oneOf: ['current_learner', 'sample'] },
  loss_fn: { oneOf: ['cispo', 'ppo'] },
};

/** POST /v1/preview/training-jobs: a retry creates a second job. */
export const trainOperation = {
  command: ['train'],
  summary: 'Create a reinforcement-learning training job',
  about:
    'Trains a model on groups of trajectories, each with a reward; svc train lint finds those that a trainer cannot learn from, which svc train sends. This operation is a preview: the service may change it. svc retries only if the service did not receive the job; if the response is lost, check whether the job exists before running the command again.',
  path: '/v1/preview/training-jobs',
  auth: 'bearer',
  host: 'train',
  maxBodyBytes: 1024 * BYTES_PER_MEBIBYTE,
  errors: 'detail',
  effect: 'once',
  isPreview: true,
  body: {
    model_id: string('Id of the model to train', { format: 'uuid', required: true }),
    trajectory_groups: list('The groups to train on', trajectoryGroupShape, {
      required: true,
      sample: [
        {
          trajectories: [
            { messages_and_choices: [prompt, sampleChoice('Tomorrow', 311)], reward: 1 },
            { messages_and_choices: [prompt, sampleChoice('Unknown', 42)], reward: 0 },
          ],
        },
      ],
    }),
    experimental_config: object('Settings of the training algorithm (experimental)', {
      takesNull: true,
      fields: experimentalConfigFields,
      accepted: acceptedConfigFields,
      foreign: { lr: 'write learning_rate' },
      isCommon: true,
    }),
  },
  reply: { id: string('Id of the training job', { format: 'uuid', required: true }) },
  result: { member: 'id', as: 'record' },
  arguments: {
    name: 'files',
    summary: 'Trajectory groups: JSON arrays, JSONL with one group per line, gzip, directories; - is stdin',
    as: { filesOf: 'trajectory_groups' },
  },
  keyFlags: ['model-id', 'experimental-config', 'group-by', 'file', 'json', 'local', 'dry-run'],
  examples: [
    { why: 'Try it without a service', from: 'spec train --skeleton', args: 'train --local' },
    { why: 'Train on a file of groups', args: 'train groups.jsonl --model-id 0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05' },
    {
      why: 'Send a body from a file with another training configuration',
      args: `train -f job.json --experimental-config '{"learning_rate":0.00002}'`,
    },
  ],
} as const satisfies Operation;
