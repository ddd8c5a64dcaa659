import { fieldsOf } from '../fields/field.ts';
import { acceptedFeedbackFields, feedbackRules } from './feedback-rules.ts';
import { type Operation, traceService } from './operation.ts';

const required = fieldsOf({ required: true });
const nullable = fieldsOf({ nullable: true });
const widerRefs = [{ type: 'string', format: 'object-or-op-part-ref' }] as const;

/** POST /feedback/replace: without an id set by the client, a retry creates a second record. */
export const feedbackReplaceOperation = {
  command: ['feedback', 'replace'],
  summary: 'Replace a feedback record of an object or call',
  about:
    'Deletes the record with the feedback id and stores a new one under a new id. With --keep-id the new record has the same id, so that running the command again does not create a second one. Some servers delete the old record before they check the new one: svc warns about values that they reject.',
  path: '/feedback/replace',
  ...traceService,
  effect: 'keyed',
  key: ['feedback'],
  replaces: 'feedback_to_replace',
  ids: { feedback: ['id'], feedback_to_replace: ['feedback_id'] },
  body: {
    feedback_id: required.string('Id of the record to replace', { sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e07' }),
    feedback_type: required.string('Type of the feedback, a name of your choice', { sample: 'rating' }),
    payload: required.object('The feedback itself: any JSON object', { sample: { output: { score: 0.9 } } }),
    project_id: required.string('Project of the record', { format: 'project-id', fill: 'project' }),
    svc_ref: required.string('Ref of the traced object or call that the feedback is about', {
      format: 'target-ref',
      wider: [{ type: 'string', format: 'any-ref' }],
    }),
    annotation_ref: nullable.string('Object ref of the annotation it comes from', {
      format: 'object-ref',
      wider: widerRefs,
    }),
    call_ref: nullable.string('Call ref of the call that created the feedback', { format: 'call-ref' }),
    creator: nullable.string('Name of the person or program that gave the feedback', { sample: 'Ada' }),
    id: nullable.string('Id of the new record', {
      defaultsTo: 'made by the service',
      sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e08',
    }),
    queue_id: nullable.string('Id of the annotation queue that the feedback was created in; null without a queue', {
      sample: 'queue-7',
    }),
    runnable_ref: nullable.string('Op ref of the scorer that created the feedback', {
      format: 'op-ref',
      wider: widerRefs,
    }),
    trigger_ref: nullable.string('Object ref of the monitor that triggered the feedback', {
      format: 'object-ref',
      wider: widerRefs,
    }),
    svc_user_id: nullable.string('Owner of the record; set by the service', { isReadOnly: true }),
  },
  accepted: acceptedFeedbackFields,
  rules: feedbackRules,
  rejectsUnknownFields: true,
  reply: {
    created_at: required.string('When the record was stored', { format: 'date-time' }),
    id: required.string('Id of the stored record'),
    payload: required.object('The stored payload'),
    svc_user_id: required.string('Owner of the record'),
  },
  result: { member: 'id', as: 'record' },
  shorthands: {
    'keep-id': {
      kind: 'copy',
      conflicts: ['id'],
      from: 'feedback_id',
      sets: ['id'],
      isCommon: true,
      summary: 'Use the feedback id as the id; safe to retry',
    },
    new: {
      kind: 'new-id',
      conflicts: ['id', 'feedback-id', 'keep-id'],
      sets: ['feedback_id', 'id'],
      isCommon: true,
      summary: 'Store a new record that replaces none; safe to retry',
    },
    'call-id': {
      kind: 'call-ref',
      conflicts: ['svc-ref'],
      sets: ['svc_ref'],
      isCommon: true,
      summary: 'Id of the call that the feedback is about, in the project',
    },
    score: {
      kind: 'part',
      conflicts: ['payload', 'note', 'emoji'],
      part: 'number',
      sets: ['payload.score'],
      isCommon: true,
      summary: 'Score in the payload, such as 0.9',
    },
    note: {
      kind: 'part',
      conflicts: ['payload', 'feedback-type', 'emoji'],
      part: 'string',
      sets: ['payload.note'],
      implies: { feedback_type: 'wandb.note.1' },
      isCommon: true,
      summary: 'Store a note: type wandb.note.1',
    },
    emoji: {
      kind: 'part',
      conflicts: ['payload', 'feedback-type'],
      part: 'string',
      sets: ['payload.emoji'],
      implies: { feedback_type: 'wandb.reaction.1' },
      isCommon: true,
      summary: 'Store a reaction: type wandb.reaction.1',
    },
  },
  keyFlags: [
    ...['project-id', 'feedback-id', 'feedback-type', 'svc-ref', 'payload', 'keep-id', 'new', 'call-id', 'score'],
    ...['file', 'json', 'local', 'dry-run'],
  ],
  examples: [
    {
      why: 'Try it without a service',
      from: 'spec feedback replace --skeleton',
      args: 'feedback replace --local --keep-id',
    },
    {
      why: 'Rate a call',
      args: 'feedback replace --new --project-id acme/bot --call-id 00f067aa0ba902b7 --feedback-type quality --score 0.9',
    },
    {
      why: 'Send a file with another score',
      args: 'feedback replace -f feedback.json --set payload.score:=0.4 --keep-id',
    },
    {
      why: 'Store a score',
      args: `feedback replace --project-id acme/bot --feedback-id fb-1 --feedback-type rating --svc-ref svc:///acme/bot/object/answer:v3 --payload '{"score":0.9}'`,
    },
  ],
} as const satisfies Operation;
