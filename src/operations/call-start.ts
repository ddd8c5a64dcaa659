import { BYTES_PER_MEBIBYTE, type Operation } from './operation.ts';

// SERVERS.md: a request above 32 MiB is refused; larger fields of a row are silently replaced.
const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_ROW_BYTES = 3.5 * 1024 * 1024;

/** POST /call/start (INTERFACE.md): records the start of a traced call. The same id again is the same call. */
export const callStartOperation = {
  command: ['call', 'start'],
  summary: 'Record the start of a traced call',
  about:
    'Absent ids and the start time are made here and sent, so that they are known even if the answer is lost. Starting the same id again is harmless: it stays one call.',
  path: '/call/start',
  auth: 'basic',
  host: 'trace',
  largestBody: 32 * BYTES_PER_MEBIBYTE,
  errors: 'detail',
  effect: 'keyed',
  key: ['id', 'trace_id'],
  limit: 120,
  ids: { call: ['start', 'id'], trace: ['start', 'trace_id'] },
  body: {
    start: {
      type: 'object',
      required: true,
      summary: 'The call that starts',
      advice: { bytes: MAX_BODY_BYTES },
      fields: {
        attributes: {
          type: 'object',
          fill: 'empty',
          advice: { required: true, keeps: MAX_ROW_BYTES },
          common: true,
          summary: 'Free-form facts about the call',
          sample: { env: 'ci' },
        },
        inputs: {
          type: 'object',
          fill: 'empty',
          advice: { required: true, keeps: MAX_ROW_BYTES },
          common: true,
          summary: 'What the call was given, by name',
          sample: { question: 'Where is my parcel?' },
        },
        op_name: {
          type: 'string',
          advice: { required: true, format: 'op-name' },
          common: true,
          summary: 'Name of the operation that is called, or its op ref',
          sample: 'answer-question',
        },
        project_id: {
          type: 'string',
          format: 'project-id',
          fill: 'project',
          advice: { required: true },
          common: true,
          summary: 'Project of the call, as <entity>/<project>',
        },
        started_at: {
          type: 'string',
          format: 'date-time',
          fill: 'now',
          advice: { required: true },
          common: true,
          summary: 'When the call started; now if absent',
        },
        display_name: { type: 'string', summary: 'Name to show for the call', sample: 'Answer a question' },
        id: {
          type: 'string',
          fill: 'call-id',
          advice: { format: 'call-id' },
          common: true,
          summary: 'Id of the call; made here if absent',
          sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05',
        },
        otel_dump: {
          type: 'object',
          advice: { keeps: MAX_ROW_BYTES },
          summary: 'The OpenTelemetry span the call was made from',
          sample: { start_time_unix_nano: 1769851800123456789n },
        },
        parent_id: {
          type: 'string',
          fill: 'parent-id',
          fillUnless: 'trace_id',
          advice: { format: 'call-id', wants: { member: 'trace_id', why: 'without it the call belongs to no trace' } },
          common: true,
          summary: 'Id of the call this one is part of; give its trace id as well',
          sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e04',
        },
        thread_id: { type: 'string', summary: 'Id of the conversation the call belongs to', sample: 'thread-12' },
        trace_id: {
          type: 'string',
          fill: 'trace-id',
          fillUnless: 'parent_id',
          advice: { format: 'trace-id' },
          common: true,
          summary: 'Id of the trace; made here if absent and there is no parent',
          sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e06',
        },
        turn_id: { type: 'string', summary: 'Id of the turn within the conversation', sample: 'turn-3' },
        svc_run_id: { type: 'string', summary: 'Id of the run the call was made in', sample: 'run-81' },
        svc_run_step: { type: 'integer', summary: 'Step of that run', sample: 40 },
        svc_user_id: { type: 'string', summary: 'User who made the call', sample: 'ada' },
      },
    },
  },
  flagsFrom: 'start',
  continuesTrace: true,
  reply: {
    id: { type: 'string', required: true, summary: 'Id of the call' },
    trace_id: { type: 'string', required: true, summary: 'Id of its trace' },
  },
  result: { member: 'id', as: 'record' },
  examples: [
    {
      why: 'Start a call and keep its id',
      args: `call start --project-id acme/support-bot --op-name answer-question --inputs '{"question":"Where is my parcel?"}' --json`,
    },
    {
      why: 'From a pipe, byte for byte',
      stdin: '{"start":{"project_id":"acme/support-bot","op_name":"answer"}}',
      args: 'call start',
    },
  ],
} as const satisfies Operation;
