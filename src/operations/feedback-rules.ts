import { acceptedFields } from '../fields/field.ts';
import type { BodyRules, BrokenRule } from '../fields/finding.ts';
import {
  endOffset,
  firstStringMember,
  getMember,
  type JsonNode,
  kindOf,
  rawText,
  startOffset,
  stringOf,
} from '../json/json-node.ts';
import { tokenEnd } from '../json/write-json.ts';

const scorerFields = acceptedFields(`
  scorer_tags scorer_tag_reasons scorer_tag_confidences scorer_ratings scorer_rating_reasons scorer_rating_confidences
`);

/** The fields of a feedback record that existing servers accept, and the interface does not list (docs/internals/servers.md). */
export const acceptedFeedbackFields = {
  ...scorerFields,
  ...acceptedFields(`
    scorer_trace_id span_agent_name span_agent_version span_status_code span_conversation_id span_trace_id
  `),
};

interface FeedbackType {
  readonly needs?: readonly string[];
  /** The type ends in the name of what this ref refers to. */
  readonly namedBy?: string;
  /** What the payload needs; without a test, any value. */
  readonly payload?: readonly [key: string, must?: string, isValid?: (text: string) => boolean];
}

/** What each feedback type needs, by its name. */
export const feedbackTypes: { readonly [type: string]: FeedbackType } = {
  'wandb.annotation': { namedBy: 'annotation_ref', needs: ['annotation_ref'], payload: ['value'] },
  'wandb.runnable': { namedBy: 'runnable_ref', needs: ['runnable_ref'], payload: ['output'] },
  'wandb.agent_monitor': { needs: ['runnable_ref', 'call_ref', 'trigger_ref'] },
  'wandb.agent_user_feedback': { needs: ['scorer_tags'] },
  'wandb.reaction.1': { payload: ['emoji', 'be exactly one emoji', isEmoji] },
  'wandb.note.1': {
    payload: ['note', 'be a string of 1 to 1,024 characters', (text) => /^.{1,1024}$/su.test(text)],
  },
};

/** Fields that only some types may have. */
export const reservedFields: readonly (readonly [fields: readonly string[], types: readonly string[]])[] = [
  [['annotation_ref'], ['wandb.annotation']],
  [
    ['runnable_ref', 'call_ref', 'trigger_ref'],
    ['wandb.runnable', 'wandb.agent_monitor', 'wandb.annotation'],
  ],
  [Object.keys(scorerFields), ['wandb.runnable', 'wandb.agent_monitor', 'wandb.agent_user_feedback']],
];

const MAX_PAYLOAD_CHARS = 1_048_576;

/** What one trace server checks of a record after it has deleted the old one (docs/internals/servers.md). */
export const feedbackRules: BodyRules = function* (body) {
  const name = firstStringMember(body, 'feedback_type') ?? '';
  const [type = '', rules = {}] =
    Object.entries(feedbackTypes).find(([one, { namedBy }]) => (namedBy ? name.startsWith(one) : name === one)) ?? [];
  yield* typeProblems(body, name, type, rules);
  for (const [fields, types] of reservedFields)
    for (const field of fields)
      if (isSet(getMember(body, field)) && !types.includes(type))
        yield rule(field, `is only for feedback_type ${types.join(', ')}`);
  const project = firstStringMember(body, 'project_id');
  for (const field of ['svc_ref', ...reservedFields.flatMap(([names]) => names)]) {
    const ref = field.endsWith('_ref') ? parseRef(body, field) : undefined;
    const message = `is a ref of ${ref?.project}, not of the project of the record`;
    if (ref && ref.project !== project) yield { path: [field], message, code: field === 'svc_ref' ? 'unwise' : 'rule' };
  }
  if (type.startsWith('wandb.agent_')) yield* agentProblems(body);
  const payload = getMember(body, 'payload');
  if (payload && pythonJsonLength(payload) > MAX_PAYLOAD_CHARS) {
    const message = 'is longer than 1,048,576 characters, counted with \\uXXXX for each non-ASCII character';
    yield { path: ['payload'], message, code: 'large' };
  }
};

function* typeProblems(body: JsonNode, name: string, type: string, rules: FeedbackType): Iterable<BrokenRule> {
  const { needs = [], namedBy, payload } = rules;
  const suffix = name.slice(type.length + 1);
  for (const field of needs)
    if (!isSet(getMember(body, field))) yield rule(field, `is required for feedback_type ${type}`);
  if (namedBy) {
    const ref = parseRef(body, namedBy);
    if (!name.startsWith(`${type}.`) || suffix === '')
      yield rule('feedback_type', `must have a name after ${type}, such as ${type}.quality`);
    else if (ref && ref.name !== suffix) yield rule(namedBy, `must refer to ${suffix}, the name in feedback_type`);
    if (namedBy === 'runnable_ref' && ref?.kind === 'op' && !isSet(getMember(body, 'call_ref')))
      yield rule('call_ref', 'is required when runnable_ref is an op ref');
  }
  if (!payload) return;
  const [key, must, isValid] = payload;
  const value = getMember(getMember(body, 'payload'), key);
  if (value && (!isValid || (kindOf(value) === 'string' && isValid(stringOf(value))))) return;
  const problem = value ? `must ${must}` : `is required for feedback_type ${type}`;
  const hint = '; to take it back, replace it with feedback_type "retracted" and payload {}';
  yield { ...rule(key, isValid && !isSet(value) ? problem + hint : problem), path: ['payload', key] };
}

function* agentProblems(body: JsonNode): Iterable<BrokenRule> {
  const { kind = '', name = '' } = parseRef(body, 'svc_ref') ?? {};
  if (kind === 'agent_conversation' && isSet(getMember(body, 'span_trace_id')))
    yield rule('span_trace_id', 'must be absent if svc_ref is a conversation');
  const field = { agent_conversation: 'span_conversation_id', agent_turn: 'span_trace_id' }[kind];
  if (field && (firstStringMember(body, field) ?? name) !== name)
    yield rule(field, `must be ${name}, the id in svc_ref`);
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
  for (let at = startOffset(root), end = at; at < endOffset(root); at = end) {
    end = tokenEnd(root.doc.bytes, at);
    const token = root.doc.bytes.toString('utf8', at, end);
    if (token.startsWith('"')) length += JSON.stringify(JSON.parse(token)).replace(/[^ -~]/g, '\\u0000').length;
    else length += /[,:]/.test(token) ? 2 : token.trim().length;
  }
  return length;
}
