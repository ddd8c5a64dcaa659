import { type AcceptedFields, acceptedFields } from '../fields/field.ts';
import type { BodyRules, BrokenRule } from '../fields/finding.ts';
import { schemaMistakes } from '../fields/schema-mistakes.ts';
import {
  firstStringMember,
  getMember,
  itemsAt,
  type JsonNode,
  kindOf,
  membersOf,
  nodeAtPath,
  numberMember,
} from '../json/json-node.ts';

import { foreignChatFields, foreignContentParts } from './foreign-chat-fields.ts';

/** The fields of a chat body that existing servers accept, and the interface does not list (docs/internals/servers.md). */
export const acceptedChatFields: AcceptedFields = {
  ...acceptedFields(`
    ec_transfer_params media_io_kwargs return_mm_kwargs return_prompt_text session_id
    return_token_offsets routed_experts_prompt_start watermarking
    service_tier prompt_cache_key safety_identifier verbosity store metadata modalities prediction web_search_options
  `),
  logprob_token_ids: { isNonEmpty: true, needs: 'logprobs', conflicts: ['use_beam_search'] },
  stream_interval: { min: 1 },
  thinking_token_budget: { min: -1 },
  truncation_side: { oneOf: ['left', 'right'] },
};

const MAX_STOP_STRINGS = 4;
const MAX_BAD_WORD_TOKENS = 1024;

const knownRoles = ['developer', 'system', 'user', 'assistant', 'tool', 'function'];
const constraints = ['json', 'regex', 'choice', 'grammar', 'json_object', 'structural_tag'];

/** What chat servers reject and single fields do not show (docs/internals/servers.md). */
export const chatRules: BodyRules = function* (body) {
  const messages = getMember(body, 'messages');
  if (messages && kindOf(messages) === 'list' && itemsAt(body, 'messages').length === 0)
    yield { ...rule('messages', 'is an empty array, not at least one message'), code: 'unwise' };
  const roles = itemsAt(body, 'messages').map((message) => firstStringMember(message, 'role'));
  const odd = roles.findIndex((role) => role !== undefined && !knownRoles.includes(role));
  if (odd !== -1) {
    const message = `"${roles[odd]}" is a role that few servers know; most know user, assistant, system, developer and tool`;
    yield { path: ['messages', odd, 'role'], message, code: 'unwise' };
  }
  yield* foreignForms(body);
  yield* schemasOf(body);
  const choice = getMember(body, 'tool_choice');
  const tools = itemsAt(body, 'tools').map(functionName);
  if (isSet(choice) && firstStringMember(body, 'tool_choice') !== 'none' && tools.length === 0)
    yield rule('tool_choice', 'needs tools; without them only "none" is valid');
  const allowed = isObject(choice) ? allowedTools(choice) : [];
  if (tools.length > 0 && !allowed.every((tool) => tools.includes(functionName(tool))))
    yield rule(
      'tool_choice',
      `must name one of the tools, such as {"type":"function","function":{"name":${JSON.stringify(tools[0])}}}`,
    );
  if (numberAt(body, 'n') > 1 && numberMember(body, 'temperature') === 0)
    yield rule('n', 'must be 1 with temperature 0');
  if (/^.{1,42}$/su.test(firstStringMember(body, 'cache_salt') ?? '')) {
    const message = 'is easier to guess than 43 random base64 characters; --cache-salt random generates them';
    yield { ...rule('cache_salt', message), code: 'unwise' };
  }
  const format = getMember(body, 'response_format');
  if (firstStringMember(format, 'type') === 'json_schema' && !isObject(getMember(format, 'json_schema')))
    yield rule('response_format.json_schema', 'is required with type json_schema');
  const outputs = getMember(body, 'structured_outputs');
  if (isObject(outputs) && constraints.every((name) => !isSet(getMember(outputs, name))))
    yield rule('structured_outputs', `needs one of ${constraints.join(', ')}`);
  if (isObject(outputs) && isObject(choice) && firstStringMember(choice, 'type') !== 'allowed_tools')
    yield rule('structured_outputs', 'cannot be combined with a tool_choice that names a tool');
  if (itemsAt(body, 'stop').length > MAX_STOP_STRINGS)
    yield rule('stop', `should have at most ${MAX_STOP_STRINGS} strings`);
  // Each word has at least one token.
  if (itemsAt(body, 'bad_words').length > MAX_BAD_WORD_TOKENS)
    yield rule('bad_words', `should have at most ${MAX_BAD_WORD_TOKENS} tokens together`);
  for (const name of ['mm_processor_kwargs', 'media_io_kwargs'])
    if (hasFields(getMember(body, name)))
      yield { ...rule(name, 'is rejected by servers whose operator does not allow it'), code: 'unwise' };
  const bias = getMember(body, 'logit_bias');
  if (bias && [...membersOf(bias)].some(({ key }) => !/^-?\d+$/.test(key)))
    yield rule('logit_bias', 'must have token ids as keys');
  const documents = itemsAt(body, 'documents').flatMap((document) => [...membersOf(document)]);
  if (documents.some(({ value }) => kindOf(value) !== 'string'))
    yield rule('documents', 'must have only strings as values');
  const detection = getMember(body, 'repetition_detection');
  if (numberAt(detection, 'max_pattern_size') > 0 && numberAt(detection, 'min_count') < 2)
    yield rule('repetition_detection.min_count', 'should be at least 2 with a max_pattern_size above 0');
  if (itemsAt(body, 'logprob_token_ids').length > 128)
    yield rule('logprob_token_ids', 'must have at most 128 elements');
};

// Messages and tools in the forms of other APIs, the first of each kind.
function* foreignForms(body: JsonNode): Generator<BrokenRule> {
  const named = new Set<string>();
  for (const [at, message] of itemsAt(body, 'messages').entries())
    for (const { path, message: text } of foreignPartsOf(message)) {
      if (!named.has(text)) yield { path: ['messages', at, ...path], message: text, code: 'unwise' };
      named.add(text);
    }
  const tools = itemsAt(body, 'tools');
  const other = tools.findIndex(
    (tool) => !getMember(tool, 'function') && otherTools.some((names) => names.every((name) => getMember(tool, name))),
  );
  if (other === -1) return;
  const name = JSON.stringify(firstStringMember(tools[other], 'name') ?? '<name>');
  const message = `is a tool of another API; write {"type":"function","function":{"name":${name},"parameters":<JSON Schema>}}`;
  yield { path: ['tools', other], message };
}

function* foreignPartsOf(message: JsonNode): Generator<BrokenRule> {
  const content = getMember(message, 'content');
  if (isObject(content))
    yield rule('content', 'is an object; write its text, or an array such as [{"type":"text","text":"<text>"}]');
  for (const [index, part] of itemsAt(message, 'content').entries()) {
    const type = firstStringMember(part, 'type') ?? (getMember(part, 'text') ? 'text without type' : '');
    const isOwn = type === 'image' && !getMember(part, 'source');
    const isBare = type === 'image_url' && firstStringMember(part, type) !== undefined;
    const meant = isOwn ? undefined : foreignContentParts[isBare ? 'input_image' : type];
    if (meant) yield { path: ['content', index], message: `is a part of another API; ${meant}` };
  }
  const name = ['images', ...(content ? [] : ['parts', 'text', 'value'])].find((one) => getMember(message, one));
  if (name) yield rule(name, `is of another API; ${name === 'images' ? foreignChatFields[name] : 'write content'}`);
}

// What tools of other APIs have in place of `function`.
const otherTools = [
  ['input_schema'],
  ['toolSpec'],
  ['functionDeclarations'],
  ['function_declarations'],
  ['name', 'parameters'],
];

function* schemasOf(body: JsonNode): Generator<BrokenRule> {
  const path = ['response_format', 'json_schema', 'schema'];
  const schema = nodeAtPath(body, path);
  if (schema) yield* schemaMistakes(schema, path);
  for (const [at, tool] of itemsAt(body, 'tools').entries()) {
    const parameters = getMember(getMember(tool, 'function'), 'parameters');
    if (parameters) yield* schemaMistakes(parameters, ['tools', at, 'function', 'parameters']);
  }
}

function rule(path: string, message: string): BrokenRule {
  return { path: path.split('.'), message };
}

// The tools that a choice names.
function allowedTools(choice: JsonNode): JsonNode[] {
  const allowed = getMember(choice, 'allowed_tools');
  return firstStringMember(choice, 'type') === 'allowed_tools' ? itemsAt(allowed ?? choice, 'tools') : [choice];
}

function functionName(tool: JsonNode): string | undefined {
  return firstStringMember(getMember(tool, 'function'), 'name');
}

function numberAt(object: JsonNode | undefined, name: string): number {
  return numberMember(object, name) ?? 0;
}

function isObject(node: JsonNode | undefined): node is JsonNode {
  return node !== undefined && kindOf(node) === 'object';
}

function hasFields(node: JsonNode | undefined): boolean {
  return isObject(node) && membersOf(node).next().done === false;
}

function isSet(node: JsonNode | undefined): boolean {
  return node !== undefined && kindOf(node) !== 'null';
}
