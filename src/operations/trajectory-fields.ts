import type { Fields } from '../fields/field.ts';

const toolFields = {
  type: { type: 'string', summary: 'Kind of tool', sample: 'function' },
  function: {
    type: 'object',
    summary: 'The function the tool is',
    fields: {
      name: { type: 'string', summary: 'Name the model calls it by', sample: 'lookup' },
      description: { type: 'string', summary: 'What it does, for the model', sample: 'Looks up a parcel' },
      parameters: {
        type: 'object',
        summary: 'JSON Schema of its arguments',
        sample: { type: 'object', properties: {} },
      },
      strict: { type: 'boolean', summary: 'Arguments must follow the schema exactly' },
    },
  },
} as const satisfies Fields;

/** One run of a task and what it was worth (INTERFACE.md, training records). */
export const trajectoryFields = {
  additional_histories: {
    type: 'list',
    of: { type: 'json' },
    summary: 'Further histories of the same run',
    sample: [],
  },
  final_policy_version: { type: 'integer', summary: 'Policy version at the end of the run', sample: 4 },
  initial_policy_version: { type: 'integer', summary: 'Policy version at its start', sample: 4 },
  logs: { type: 'list', of: { type: 'json' }, summary: 'Log entries of the run', sample: ['looked up the parcel'] },
  messages_and_choices: {
    type: 'list',
    of: { type: 'json' },
    summary: 'Messages and model choices in order; choices carry token logprobs',
    sample: [{ role: 'user', content: 'Where is my parcel?' }],
  },
  metadata: { type: 'object', summary: 'Free-form facts about the run', sample: { task: 'parcel' } },
  metrics: { type: 'object', summary: 'Measurements of the run by name', sample: { turns: 1 } },
  reward: { type: 'number', summary: 'How good the run was', sample: 0.5 },
  start_time: { type: 'string', format: 'date-time', summary: 'When the run started' },
  tools: {
    type: 'list',
    of: { type: 'object', open: true, fields: toolFields },
    summary: 'Tools the model could call',
  },
} as const satisfies Fields;

/** A group of trajectories of one task, whose rewards are compared with each other (INTERFACE.md, training records). */
export const trajectoryGroupFields = {
  trajectories: {
    type: 'list',
    of: { type: 'object', fields: trajectoryFields },
    summary: 'The runs of one task',
  },
} as const satisfies Fields;
