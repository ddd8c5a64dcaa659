import type { AcceptedFields } from '../fields/field.ts';
import type { BodyRules, Finding } from '../fields/finding.ts';
import {
  firstStringMember,
  getMember,
  itemsAt,
  type JsonNode,
  type JsonPath,
  kindOf,
  membersOf,
  nodeAtPath,
  numberMember,
  stringOf,
} from '../json/json-node.ts';

/** The fields of a chat body that existing servers accept, and the interface does not list (docs/servers.md). */
export const acceptedChatFields = {
  ec_transfer_params: { type: 'json' },
  logprob_token_ids: { type: 'list', of: { type: 'integer' }, advice: { isNonEmpty: true, needs: 'logprobs' } },
  media_io_kwargs: { type: 'json' },
  return_mm_kwargs: { type: 'json' },
  return_prompt_text: { type: 'json' },
  return_token_offsets: { type: 'json' },
  routed_experts_prompt_start: { type: 'json' },
  session_id: { type: 'json' },
  stream_interval: { type: 'integer', advice: { min: 1 } },
  thinking_token_budget: { type: 'integer', advice: { min: -1 } },
  truncation_side: { type: 'string', oneOf: ['left', 'right'] },
  watermarking: { type: 'json' },
} as const satisfies AcceptedFields;

/** What chat servers reject and the fields alone do not say (docs/servers.md). */
export const chatRules: BodyRules = function* (body) {
  for (const [path, problemOf, code = 'advice'] of rules) {
    const message = problemOf(body);
    if (message) yield { path, message, code };
  }
};

type Rule = readonly [
  path: JsonPath,
  problemOf: (body: JsonNode) => string | false | undefined,
  code?: Finding['code'],
];

const rules: readonly Rule[] = [
  [['tool_choice'], toolChoiceProblem],
  [['n'], (body) => isAbove(body, 'n', 1) && numberMember(body, 'temperature') === 0 && 'must be 1 with temperature 0'],
  [['stop'], (body) => hasEmptyString(body, 'stop') && 'must not contain an empty string'],
  [['bad_words'], (body) => hasEmptyString(body, 'bad_words') && 'must not contain an empty string'],
  [
    ['cache_salt'],
    (body) =>
      /[@/\\\0]/.test(firstStringMember(body, 'cache_salt') ?? '') &&
      'must not contain @, /, \\ or NUL; --cache-salt random generates a valid one',
  ],
  [
    ['cache_salt'],
    (body) =>
      /^.{1,42}$/su.test(firstStringMember(body, 'cache_salt') ?? '') &&
      'is easier to guess than 43 random base64 characters; --cache-salt random generates them',
    'unwise',
  ],
  [
    ['response_format', 'type'],
    (body) =>
      isObject(getMember(body, 'response_format')) &&
      !responseFormats.includes(formatType(body)) &&
      `must be ${responseFormats.map((name) => JSON.stringify(name)).join(', ')}`,
  ],
  [
    ['response_format', 'json_schema'],
    (body) => needsSchema(body) && !isObject(responseSchema(body)) && 'is required with type json_schema',
  ],
  [
    ['response_format', 'json_schema', 'name'],
    (body) =>
      needsSchema(body) &&
      isObject(responseSchema(body)) &&
      firstStringMember(responseSchema(body), 'name') === undefined &&
      'is required',
  ],
  [['structured_outputs'], constraintProblem],
  [
    ['logit_bias'],
    (body) => {
      const bias = getMember(body, 'logit_bias');
      const wrong = bias && [...membersOf(bias)].find(({ key }) => !/^-?\d+$/.test(key));
      return wrong && `keys must be token ids, not ${JSON.stringify(wrong.key)}`;
    },
  ],
  [
    ['documents'],
    (body) =>
      itemsAt(body, 'documents').some((item) => [...membersOf(item)].some(({ value }) => kindOf(value) !== 'string')) &&
      'values in documents must be strings',
  ],
  [
    ['repetition_detection', 'min_pattern_size'],
    (body) =>
      detection(body, 'min_pattern_size') > detection(body, 'max_pattern_size') &&
      'should be at most max_pattern_size (default: 0)',
  ],
  [
    ['repetition_detection', 'min_count'],
    (body) =>
      detection(body, 'max_pattern_size') > 0 &&
      detection(body, 'min_count') < 2 &&
      'should be at least 2 with a max_pattern_size above 0',
  ],
  [
    ['logprob_token_ids'],
    (body) => itemsAt(body, 'logprob_token_ids').length > 128 && 'must have at most 128 elements',
  ],
];

const responseFormats: readonly (string | undefined)[] = ['text', 'json_object', 'json_schema', 'structural_tag'];
const constraintNames = ['json', 'regex', 'choice', 'grammar', 'json_object', 'structural_tag'];

function toolChoiceProblem(body: JsonNode): string | false | undefined {
  const choice = getMember(body, 'tool_choice');
  if (!isSet(choice) || (kindOf(choice) === 'string' && stringOf(choice) === 'none')) return undefined;
  const tools = itemsAt(body, 'tools');
  if (tools.length === 0) return 'needs tools; without them only "none" is valid';
  if (!isObject(choice)) return undefined;
  const name = firstStringMember(getMember(choice, 'function'), 'name');
  return (
    !tools.some((tool) => firstStringMember(getMember(tool, 'function'), 'name') === name) &&
    'must name one of the tools'
  );
}

function constraintProblem(body: JsonNode): string | false {
  const outputs = getMember(body, 'structured_outputs');
  const isEmpty = isObject(outputs) && !constraintNames.some((name) => isSet(getMember(outputs, name)));
  return isEmpty && `needs one of ${constraintNames.join(', ')}`;
}

function formatType(body: JsonNode): string | undefined {
  return firstStringMember(getMember(body, 'response_format'), 'type');
}

function needsSchema(body: JsonNode): boolean {
  return formatType(body) === 'json_schema';
}

function responseSchema(body: JsonNode): JsonNode | undefined {
  return nodeAtPath(body, ['response_format', 'json_schema']);
}

function detection(body: JsonNode, name: string): number {
  return numberMember(getMember(body, 'repetition_detection'), name) ?? 0;
}

function isAbove(body: JsonNode, name: string, limit: number): boolean {
  return (numberMember(body, name) ?? limit) > limit;
}

function hasEmptyString(body: JsonNode, name: string): boolean {
  return [getMember(body, name), ...itemsAt(body, name)].some(
    (node) => node && kindOf(node) === 'string' && stringOf(node) === '',
  );
}

function isObject(node: JsonNode | undefined): node is JsonNode {
  return node !== undefined && kindOf(node) === 'object';
}

function isSet(node: JsonNode | undefined): node is JsonNode {
  return node !== undefined && kindOf(node) !== 'null';
}
