import type { Fields } from '../fields/field.ts';
import { toolFunctionFields } from './chat-request-fields.ts';

const functionFields = {
  ...toolFunctionFields,
  strict: { type: 'boolean', summary: 'Require arguments to match the schema exactly' },
} as const satisfies Fields;

const toolFields = {
  type: { type: 'string', summary: 'Type of the tool', sample: 'function' },
  function: { type: 'object', fields: functionFields, summary: 'The function' },
} as const satisfies Fields;

/** One run of a task with its reward. */
export const trajectoryFields = {
  additional_histories: {
    type: 'list',
    of: { type: 'json' },
    summary: 'Additional histories of the same run',
    sample: [],
  },
  final_policy_version: { type: 'integer', summary: 'Policy version at the end of the run', sample: 4 },
  initial_policy_version: { type: 'integer', summary: 'Policy version at the start of the run', sample: 4 },
  logs: { type: 'list', of: { type: 'json' }, summary: 'Log entries of the run', sample: ['looked up the parcel'] },
  messages_and_choices: {
    type: 'list',
    of: { type: 'json' },
    summary: 'Messages and model choices in order; choices carry token logprobs',
    sample: [{ role: 'user', content: 'Where is my parcel?' }],
  },
  metadata: { type: 'object', summary: 'Free-form metadata of the run', sample: { task: 'parcel' } },
  metrics: { type: 'object', summary: 'Measurements of the run by name', sample: { turns: 1 } },
  reward: { type: 'number', summary: 'Reward of the run', sample: 0.5 },
  start_time: { type: 'string', format: 'date-time', summary: 'Start of the run' },
  tools: {
    type: 'list',
    of: { type: 'object', hasOpenFields: true, fields: toolFields },
    summary: 'Tools that the model could call',
  },
} as const satisfies Fields;

/** A group of trajectories of one task, whose rewards are compared with each other. */
export const trajectoryGroupFields = {
  trajectories: {
    type: 'list',
    of: { type: 'object', fields: trajectoryFields },
    summary: 'The runs of one task',
  },
} as const satisfies Fields;
