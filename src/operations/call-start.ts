import { dateTime } from '../fields/field.ts';
import { type Operation, traceService } from './operation.ts';

// docs/servers.md: a request above 32 MiB is rejected; larger fields of a row are silently replaced.
const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_ROW_BYTES = 3.5 * 1024 * 1024;

const recordedObject = {
  type: 'object',
  fill: 'empty',
  advice: { required: true, keeps: MAX_ROW_BYTES },
  isCommon: true,
} as const;

/** POST /call/start: records the start of a traced call. The same id is the same call. */
export const callStartOperation = {
  command: ['call', 'start'],
  summary: 'Record the start of a traced call',
  about:
    'svc fills in missing ids and the start time, so that they are known even if the response is lost. Sending the same id again does not create a second call, so svc retries after transient failures.',
  path: '/call/start',
  ...traceService,
  effect: 'keyed',
  key: ['call', 'trace'],
  ids: { call: ['start', 'id'], trace: ['start', 'trace_id'] },
  body: {
    start: {
      type: 'object',
      required: true,
      summary: 'The call',
      advice: { bytes: MAX_BODY_BYTES },
      fields: {
        attributes: { ...recordedObject, summary: 'Free-form attributes of the call', sample: { env: 'ci' } },
        inputs: {
          ...recordedObject,
          summary: 'Inputs of the call, by name',
          sample: { question: 'Where is my parcel?' },
        },
        op_name: {
          type: 'string',
          advice: { required: true, format: 'op-name' },
          isCommon: true,
          summary: 'Name of the called operation, or its op ref',
          sample: 'answer-question',
        },
        project_id: {
          type: 'string',
          format: 'project-id',
          fill: 'project',
          advice: { required: true },
          isCommon: true,
          summary: 'Project of the call',
        },
        started_at: {
          ...dateTime,
          fill: 'now',
          advice: { required: true },
          isCommon: true,
          summary: 'Start of the call (default: now)',
          serviceSummary: 'Start of the call',
        },
        display_name: {
          type: 'string',
          advice: { format: 'display-name' },
          summary: 'Display name',
          sample: 'Answer a question',
        },
        id: {
          type: 'string',
          fill: 'call-id',
          advice: { format: 'call-id' },
          isCommon: true,
          summary: 'Id of the call (default: generated)',
          serviceSummary: 'Id of the call',
          sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05',
        },
        otel_dump: {
          type: 'object',
          advice: { keeps: MAX_ROW_BYTES },
          summary: 'The OpenTelemetry span of the call',
          sample: { start_time_unix_nano: 1769851800123456789n },
        },
        parent_id: {
          type: 'string',
          fill: 'parent-id',
          fillUnless: 'trace_id',
          advice: { format: 'call-id', wants: { member: 'trace_id', otherwise: 'the call is not part of a trace' } },
          isCommon: true,
          summary: 'Id of the parent call; set trace_id too',
          flagSummary: 'Id of the parent call; set --trace-id too',
          sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e04',
        },
        thread_id: { type: 'string', summary: 'Id of the conversation', sample: 'thread-12' },
        trace_id: {
          type: 'string',
          fill: 'trace-id',
          fillUnless: 'parent_id',
          advice: { format: 'trace-id' },
          isCommon: true,
          summary: 'Id of the trace (default: generated, unless there is a parent)',
          serviceSummary: 'Id of the trace',
          sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e06',
        },
        turn_id: { type: 'string', summary: 'Id of the turn within the conversation', sample: 'turn-3' },
        svc_run_id: { type: 'string', summary: 'Id of the run', sample: 'run-81' },
        svc_run_step: { type: 'integer', summary: 'Step of the run', sample: 40 },
        svc_user_id: { type: 'string', summary: 'User of the call', sample: 'ada' },
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
  keyFlags: ['project-id', 'op-name', 'inputs', 'parent-id', 'trace-id', 'export', 'file', 'json', 'local'],
  examples: [
    {
      why: 'Try it without a service',
      args: 'call start --local --project-id acme/support-bot --op-name answer-question',
    },
    {
      why: 'Record a call and print its ids',
      args: `call start --project-id acme/support-bot --op-name answer-question --inputs '{"question":"Where is it?"}' --json`,
    },
    {
      why: 'Send a body from a pipe, byte for byte',
      stdin: '{"start":{"project_id":"acme/support-bot","op_name":"answer"}}',
      args: 'call start',
    },
  ],
} as const satisfies Operation;
