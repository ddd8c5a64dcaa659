import { BYTES_PER_MEBIBYTE, type Operation } from './operation.ts';

// SERVERS.md: a payload above 1 MiB is refused.
const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** POST /feedback/replace (INTERFACE.md): without an id of the client's own a repeat makes a second record. */
export const feedbackReplaceOperation = {
  command: ['feedback', 'replace'],
  summary: 'Replace a feedback record of an object or call',
  about:
    'The record whose id is the feedback id goes, and a new one is stored under a new id. With --keep-id (or --id) the new record has a known id, so the command can be run again without making a second one.',
  path: '/feedback/replace',
  auth: 'basic',
  host: 'trace',
  largestBody: 32 * BYTES_PER_MEBIBYTE,
  errors: 'detail',
  effect: 'keyed',
  key: ['id'],
  limit: 120,
  ids: { feedback: ['id'], replaced: ['feedback_id'] },
  body: {
    feedback_id: {
      type: 'string',
      required: true,
      summary: 'Id of the record to replace',
      sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e07',
    },
    feedback_type: {
      type: 'string',
      required: true,
      summary: 'Kind of feedback, a name of your own',
      sample: 'rating',
    },
    payload: {
      type: 'object',
      required: true,
      summary: 'The feedback itself: any JSON object',
      advice: { bytes: MAX_PAYLOAD_BYTES },
      sample: { output: { score: 0.9 } },
    },
    project_id: {
      type: 'string',
      format: 'project-id',
      required: true,
      fill: 'project',
      summary: 'Project the record belongs to, as <entity>/<project>',
    },
    svc_ref: {
      type: 'string',
      format: 'target-ref',
      required: true,
      summary: 'Ref of the traced object or call the feedback is about',
    },
    annotation_ref: {
      type: 'string',
      format: 'object-ref',
      nullable: true,
      summary: 'Object ref of the annotation the feedback comes from',
    },
    call_ref: {
      type: 'string',
      format: 'call-ref',
      nullable: true,
      summary: 'Call ref of the call that made the feedback',
    },
    creator: { type: 'string', nullable: true, summary: 'Name of whoever gave the feedback', sample: 'Ada' },
    id: {
      type: 'string',
      nullable: true,
      summary: 'Id for the new record; without it the service makes one',
      sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e08',
    },
    queue_id: {
      type: 'string',
      nullable: true,
      summary: 'Id of the annotation queue the feedback came out of; null outside of queues',
      sample: 'queue-7',
    },
    runnable_ref: {
      type: 'string',
      format: 'op-ref',
      nullable: true,
      summary: 'Op ref of the scorer that made the feedback',
    },
    trigger_ref: {
      type: 'string',
      format: 'object-ref',
      nullable: true,
      summary: 'Object ref of the monitor that asked for the feedback',
    },
    svc_user_id: {
      type: 'string',
      nullable: true,
      filledByService: true,
      summary: 'User the record belongs to; the service fills it in',
    },
  },
  refusesUnknown: true,
  reply: {
    created_at: { type: 'string', format: 'date-time', required: true, summary: 'When the record was stored' },
    id: { type: 'string', required: true, summary: 'Id of the stored record' },
    payload: { type: 'object', required: true, summary: 'The stored payload' },
    svc_user_id: { type: 'string', required: true, summary: 'User the record belongs to' },
  },
  result: { member: 'id', as: 'record' },
  shorthands: {
    'keep-id': {
      kind: 'copy',
      conflicts: ['id'],
      from: 'feedback_id',
      to: 'id',
      common: true,
      summary: 'Store the new record under the same id, so that running it again is harmless',
    },
  },
  examples: [
    {
      why: 'Score an answer',
      args: `feedback replace --project-id acme/support-bot --feedback-id fb-1 --feedback-type rating --svc-ref svc:///acme/support-bot/object/answer:v3 --payload '{"score":0.9}'`,
    },
    {
      why: 'Send a file, with another score',
      args: 'feedback replace -f feedback.json --set payload.score:=0.4 --keep-id',
    },
  ],
} as const satisfies Operation;
