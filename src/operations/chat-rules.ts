import { type AcceptedFields, acceptedFields } from '../fields/field.ts';
import type { BodyRules, Finding } from '../fields/finding.ts';
import {
  firstStringMember,
  getMember,
  itemsAt,
  type JsonNode,
  kindOf,
  membersOf,
  numberMember,
} from '../json/json-node.ts';

/** The fields of a chat body that existing servers accept, and the interface does not list (docs/servers.md). */
export const acceptedChatFields: AcceptedFields = {
  ...acceptedFields('ec_transfer_params', 'media_io_kwargs', 'return_mm_kwargs', 'return_prompt_text', 'session_id'),
  ...acceptedFields('return_token_offsets', 'routed_experts_prompt_start', 'watermarking'),
  logprob_token_ids: { isNonEmpty: true, needs: 'logprobs' },
  stream_interval: { min: 1 },
  thinking_token_budget: { min: -1 },
  truncation_side: { oneOf: ['left', 'right'] },
};

/** What chat servers reject and single fields do not show (docs/servers.md). */
export const chatRules: BodyRules = function* (body) {
  for (const [path, message, isBroken, code = 'advice'] of rules)
    if (isBroken(body)) yield { path: path.split('.'), message, code };
};

type Rule = readonly [path: string, message: string, isBroken: (body: JsonNode) => boolean, code?: Finding['code']];

const constraints = ['json', 'regex', 'choice', 'grammar', 'json_object', 'structural_tag'];

const rules: readonly Rule[] = [
  [
    'tool_choice',
    'needs tools; without them only "none" is valid',
    (body) => mayCall(body) && toolNames(body).length === 0,
  ],
  [
    'tool_choice',
    'must name one of the tools',
    (body) => {
      const chosen = getMember(body, 'tool_choice');
      return isObject(chosen) && toolNames(body).length > 0 && !toolNames(body).includes(functionName(chosen));
    },
  ],
  ['n', 'must be 1 with temperature 0', (body) => numberAt(body, 'n') > 1 && numberMember(body, 'temperature') === 0],
  [
    'cache_salt',
    'is easier to guess than 43 random base64 characters; --cache-salt random generates them',
    (body) => /^.{1,42}$/su.test(firstStringMember(body, 'cache_salt') ?? ''),
    'unwise',
  ],
  [
    'response_format.json_schema',
    'is required with type json_schema',
    (body) => {
      const format = getMember(body, 'response_format');
      return firstStringMember(format, 'type') === 'json_schema' && !isObject(getMember(format, 'json_schema'));
    },
  ],
  [
    'structured_outputs',
    `needs one of ${constraints.join(', ')}`,
    (body) => {
      const outputs = getMember(body, 'structured_outputs');
      return isObject(outputs) && constraints.every((name) => !isSet(getMember(outputs, name)));
    },
  ],
  [
    'logit_bias',
    'must have token ids as keys',
    (body) => {
      const bias = getMember(body, 'logit_bias');
      return bias !== undefined && [...membersOf(bias)].some(({ key }) => !/^-?\d+$/.test(key));
    },
  ],
  [
    'documents',
    'must have only strings as values',
    (body) =>
      itemsAt(body, 'documents').some((one) => [...membersOf(one)].some(({ value }) => kindOf(value) !== 'string')),
  ],
  [
    'repetition_detection.min_count',
    'should be at least 2 with a max_pattern_size above 0',
    (body) => {
      const detection = getMember(body, 'repetition_detection');
      return numberAt(detection, 'max_pattern_size') > 0 && numberAt(detection, 'min_count') < 2;
    },
  ],
  ['logprob_token_ids', 'must have at most 128 elements', (body) => itemsAt(body, 'logprob_token_ids').length > 128],
];

function mayCall(body: JsonNode): boolean {
  return isSet(getMember(body, 'tool_choice')) && firstStringMember(body, 'tool_choice') !== 'none';
}

function toolNames(body: JsonNode): (string | undefined)[] {
  return itemsAt(body, 'tools').map(functionName);
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

function isSet(node: JsonNode | undefined): boolean {
  return node !== undefined && kindOf(node) !== 'null';
}
