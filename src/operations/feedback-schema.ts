import { dateTime, fieldsOf } from '../fields/field.ts';
import { type Operation, traceService } from './operation.ts';

const { integer, list, string } = fieldsOf();

export const DEFAULT_SAMPLE_LIMIT = 2000;

export const feedbackSchemaOperation = {
  command: ['feedback', 'schema'],
  summary: 'Discover the paths and types of feedback payloads',
  about:
    'Lists the JSON paths of the leaf values in the payloads stored in a time window, with their types. The service samples one payload per trigger ref.',
  path: '/feedback/payload_schema',
  ...traceService,
  effect: 'read',
  body: {
    project_id: string('Project to search', { format: 'project-id', required: true, fill: 'project' }),
    start: string('Start of the time window in UTC, inclusive', {
      ...dateTime,
      required: true,
      acceptsAge: true,
      flagSummary: 'Start of the time window in UTC, inclusive: a time, a date, epoch seconds, or an age such as 7d',
    }),
    end: string('End of the time window in UTC, exclusive', {
      defaultsTo: 'now',
      ...dateTime,
      nullable: true,
      isCommon: true,
      acceptsAge: true,
      advice: { after: 'start' },
      flagSummary: 'End of the time window in UTC, exclusive: a time, a date, epoch seconds or an age',
      sample: '2026-02-01T00:00:00Z',
    }),
    feedback_type: string('Only feedback of this type', { nullable: true, isCommon: true, sample: 'rating' }),
    sample_limit: integer('Maximum number of distinct trigger refs to sample, one payload each', {
      min: 1,
      max: 5000,
      default: DEFAULT_SAMPLE_LIMIT,
      isCommon: true,
    }),
    trigger_ref: string('Only feedback with this trigger ref; mon:* matches every ref that starts with mon', {
      nullable: true,
      isCommon: true,
      sample: 'svc:///acme/support-bot/object/monitor:*',
    }),
  },
  reply: {
    paths: list(
      'The paths of the leaf values, sorted',
      {
        type: 'object',
        fields: {
          json_path: string('Path of a value, keys joined by dots'),
          value_type: string('Type of the values, such as numeric'),
        },
      },
      { required: true },
    ),
  },
  result: { member: 'paths', as: 'rows' },
  shorthands: {
    since: {
      kind: 'age',
      conflicts: ['start'],
      sets: ['start'],
      isCommon: true,
      summary: 'Start of the time window as an age: 90s, 15m, 12h, 7d, 2w',
    },
  },
  keyFlags: ['project-id', 'since', 'file', 'json', 'local'],
  examples: [
    { why: 'Try it without a service', args: 'feedback schema --local --project-id acme/support-bot --since 7d' },
    {
      why: 'List the paths in feedback of the last week',
      args: 'feedback schema --project-id acme/support-bot --since 7d',
    },
    {
      why: 'Include all versions of a monitor, and monitors whose names start with its name',
      args: `feedback schema --project-id acme/bot --start 2026-01-01T00:00:00Z --trigger-ref 'svc:///acme/bot/object/monitor:*'`,
    },
  ],
} as const satisfies Operation;
