import type { AcceptedFields } from '../fields/field.ts';
import type { BodyRules, BrokenRule } from '../fields/finding.ts';
import {
  endOffset,
  firstStringMember,
  getMember,
  itemsOf,
  type JsonNode,
  kindOf,
  membersOf,
  rawText,
  startOffset,
  stringOf,
} from '../json/json-node.ts';

/** The fields of a feedback record that existing servers accept, and the interface does not list (docs/servers.md). */
export const acceptedFeedbackFields = {
  scorer_tags: { type: 'list', of: { type: 'string' } },
  scorer_tag_reasons: { type: 'object' },
  scorer_tag_confidences: { type: 'object' },
  scorer_ratings: { type: 'object' },
  scorer_rating_reasons: { type: 'object' },
  scorer_rating_confidences: { type: 'object' },
  span_agent_name: { type: 'string' },
  span_agent_version: { type: 'string' },
  span_status_code: { type: 'string' },
  span_conversation_id: { type: 'string' },
  span_trace_id: { type: 'string' },
  scorer_trace_id: { type: 'string' },
} as const satisfies AcceptedFields;

interface FeedbackType {
  readonly type: string;
  /** Types begin with `type`, a dot and the name of what this ref refers to. */
  readonly namedBy?: string;
  readonly needs?: readonly string[];
  /** What the payload needs; without `isValid`, any value. */
  readonly payload?: {
    readonly key: string;
    readonly must?: string;
    readonly isValid?: (text: string) => boolean;
  };
}

const annotation: FeedbackType = {
  type: 'wandb.annotation',
  namedBy: 'annotation_ref',
  needs: ['annotation_ref'],
  payload: { key: 'value' },
};
const runnable: FeedbackType = {
  type: 'wandb.runnable',
  namedBy: 'runnable_ref',
  needs: ['runnable_ref'],
  payload: { key: 'output' },
};
const monitor: FeedbackType = { type: 'wandb.agent_monitor', needs: ['runnable_ref', 'call_ref', 'trigger_ref'] };
const userFeedback: FeedbackType = { type: 'wandb.agent_user_feedback', needs: ['scorer_tags'] };
const reaction: FeedbackType = {
  type: 'wandb.reaction.1',
  payload: { key: 'emoji', must: 'be exactly one emoji', isValid: isEmoji },
};
const note: FeedbackType = {
  type: 'wandb.note.1',
  payload: { key: 'note', must: 'be a string of 1 to 1,024 characters', isValid: (text) => /^.{1,1024}$/su.test(text) },
};

const feedbackTypes = [annotation, runnable, monitor, userFeedback, reaction, note];

/** Fields that only records of these types may have. */
const reservedFields: readonly (readonly [field: string, types: readonly FeedbackType[]])[] = [
  ['annotation_ref', [annotation]],
  ...['runnable_ref', 'call_ref', 'trigger_ref'].map((name) => [name, [runnable, monitor, annotation]] as const),
  ...Object.keys(acceptedFeedbackFields)
    .filter((name) => name.startsWith('scorer_') && name !== 'scorer_trace_id')
    .map((name) => [name, [runnable, monitor, userFeedback]] as const),
];

const MAX_PAYLOAD_CHARS = 1_048_576;

/** What one trace server checks of a record after it has deleted the old one (docs/servers.md). */
export const feedbackRules: BodyRules = function* (body) {
  const name = firstStringMember(body, 'feedback_type') ?? '';
  const type = feedbackTypes.find((one) => (one.namedBy ? name.startsWith(one.type) : name === one.type));
  if (type) yield* typeProblems(body, name, type);
  for (const [field, types] of reservedFields)
    if (isSet(getMember(body, field)) && !(type && types.includes(type)))
      yield rule(field, `is only for feedback_type ${types.map((one) => one.type).join(', ')}`);
  const project = firstStringMember(body, 'project_id');
  for (const field of ['annotation_ref', 'runnable_ref', 'call_ref', 'trigger_ref']) {
    const ref = parseRef(body, field);
    if (ref && ref.project !== project)
      yield rule(field, `is a ref of ${ref.project}, not of the project of the record`);
  }
  if (type === monitor || type === userFeedback) yield* agentProblems(body);
  const payload = getMember(body, 'payload');
  if (payload && pythonJsonLength(payload) > MAX_PAYLOAD_CHARS) {
    const message = 'is longer than 1,048,576 characters, counted with \\uXXXX for each non-ASCII character';
    yield { path: ['payload'], message, code: 'large' };
  }
};

function* typeProblems(
  body: JsonNode,
  name: string,
  { type, namedBy, needs, payload }: FeedbackType,
): Iterable<BrokenRule> {
  const suffix = name.slice(type.length + 1);
  if (namedBy && (!name.startsWith(`${type}.`) || suffix === ''))
    yield rule('feedback_type', `must have a name after ${type}, such as ${type}.quality`);
  for (const field of needs ?? [])
    if (!isSet(getMember(body, field))) yield rule(field, `is required for feedback_type ${type}`);
  const ref = namedBy && parseRef(body, namedBy);
  if (namedBy && ref && suffix !== '' && ref.name !== suffix)
    yield rule(namedBy, `must refer to ${suffix}, the name in feedback_type`);
  if (type === runnable.type && ref && ref.kind === 'op' && !isSet(getMember(body, 'call_ref')))
    yield rule('call_ref', 'is required when runnable_ref is an op ref');
  if (!payload) return;
  const { key, must, isValid } = payload;
  const value = getMember(getMember(body, 'payload'), key);
  const isRight = value && (!isValid || (kindOf(value) === 'string' && isValid(stringOf(value))));
  if (!isRight)
    yield { ...rule(key, value ? `must ${must}` : `is required for feedback_type ${type}`), path: ['payload', key] };
}

function* agentProblems(body: JsonNode): Iterable<BrokenRule> {
  const ref = parseRef(body, 'svc_ref');
  if (ref?.kind === 'agent_conversation') {
    if (isSet(getMember(body, 'span_trace_id')))
      yield rule('span_trace_id', 'must be absent if svc_ref is a conversation');
    yield* differences(body, 'span_conversation_id', ref.name);
  }
  if (ref?.kind === 'agent_turn') yield* differences(body, 'span_trace_id', ref.name);
}

function* differences(body: JsonNode, field: string, id: string): Iterable<BrokenRule> {
  if ((firstStringMember(body, field) ?? id) !== id) yield rule(field, `must be ${id}, the id in svc_ref`);
}

function rule(field: string, message: string): BrokenRule {
  return { path: [field], message, code: 'rule' };
}

function parseRef(body: JsonNode, field: string): { project: string; kind: string; name: string } | undefined {
  const ref = firstStringMember(body, field) ?? '';
  const [, project, kind, name] = /^svc:\/\/\/([^/]+\/[^/]+)\/([a-z_]+)\/([^/:]+)/.exec(ref) ?? [];
  return project && kind && name ? { project, kind, name } : undefined;
}

// Servers take null, an empty string and an empty array as absent.
function isSet(node: JsonNode | undefined): boolean {
  return node !== undefined && !['null', '""', '[]'].includes(rawText(node).replace(/\s/g, ''));
}

function isEmoji(text: string): boolean {
  const pictograph = /\p{Extended_Pictographic}|\p{Regional_Indicator}{2}|^[0-9#*]\ufe0f?\u20e3/u;
  return pictograph.test(text) && [...new Intl.Segmenter().segment(text)].length === 1;
}

/** The length of a value as Python's json.dumps writes it: spaces after commas and colons, `\uXXXX` for non-ASCII characters. */
function pythonJsonLength(root: JsonNode): number {
  // A byte becomes three characters at most.
  if ((endOffset(root) - startOffset(root)) * 3 <= MAX_PAYLOAD_CHARS) return 0;
  let length = 0;
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    const kind = kindOf(node);
    if (kind === 'string') length += pythonStringLength(stringOf(node));
    else if (kind === 'object' || kind === 'list') {
      let count = 0;
      for (const { key, value } of membersOf(node)) {
        length += pythonStringLength(key) + 2;
        open.push(value);
        count += 1;
      }
      for (const item of itemsOf(node)) count = open.push(item) && count + 1;
      length += 2 + 2 * Math.max(0, count - 1);
    } else length += endOffset(node) - startOffset(node);
  }
  return length;
}

function pythonStringLength(text: string): number {
  return JSON.stringify(text).replace(/[^ -~]/g, '\\u0000').length;
}
