import { dateTime, fieldsOf } from '../fields/field.ts';
import { type Operation, traceService } from './operation.ts';

// docs/internals/servers.md: a request above 32 MiB is rejected; larger fields of a row are silently replaced.
const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_ROW_BYTES = 3.5 * 1024 * 1024;

const { integer, object, string } = fieldsOf();

const recordedObject = {
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
    start: object('The call', {
      required: true,
      advice: { bytes: MAX_BODY_BYTES },
      fields: {
        attributes: object('Free-form attributes of the call', { ...recordedObject, sample: { env: 'ci' } }),
        inputs: object('Inputs of the call, by name', {
          ...recordedObject,
          sample: { question: 'Where is my parcel?' },
        }),
        op_name: string('Name of the called operation, or its op ref', {
          advice: { required: true, format: 'op-name' },
          isCommon: true,
          sample: 'answer-question',
        }),
        project_id: string('Project of the call', {
          format: 'project-id',
          fill: 'project',
          advice: { required: true },
          isCommon: true,
        }),
        started_at: string('Start of the call', {
          defaultsTo: 'now',
          ...dateTime,
          fill: 'now',
          advice: { required: true },
          isCommon: true,
        }),
        display_name: string('Display name', { advice: { format: 'display-name' }, sample: 'Answer a question' }),
        id: string('Id of the call', {
          defaultsTo: 'generated',
          fill: 'call-id',
          advice: { format: 'call-id' },
          isCommon: true,
          sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05',
        }),
        otel_dump: object('The OpenTelemetry span of the call', {
          advice: { keeps: MAX_ROW_BYTES },
          sample: { start_time_unix_nano: 1769851800123456789n },
        }),
        parent_id: string('Id of the parent call; set trace_id too', {
          fill: 'parent-id',
          fillUnless: 'trace_id',
          advice: { format: 'call-id', wants: { member: 'trace_id', otherwise: 'the call is not part of a trace' } },
          isCommon: true,
          flagSummary: 'Id of the parent call; set --trace-id too',
          sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e04',
        }),
        thread_id: string('Id of the conversation', { sample: 'thread-12' }),
        trace_id: string('Id of the trace', {
          defaultsTo: 'generated, unless there is a parent',
          fill: 'trace-id',
          fillUnless: 'parent_id',
          advice: { format: 'trace-id' },
          isCommon: true,
          sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e06',
        }),
        turn_id: string('Id of the turn within the conversation', { sample: 'turn-3' }),
        svc_run_id: string('Id of the run', { sample: 'run-81' }),
        svc_run_step: integer('Step of the run', { sample: 40 }),
        svc_user_id: string('User of the call', { sample: 'ada' }),
      },
    }),
  },
  flagsFrom: 'start',
  continuesTrace: true,
  reply: {
    id: string('Id of the call', { required: true }),
    trace_id: string('Id of its trace', { required: true }),
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
