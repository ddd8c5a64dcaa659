import type { Fields } from '../fields/field.ts';

/** The fields of `structured_outputs` in a chat body: constraints on the text of the response. */
export const structuredOutputFields = {
  json: {
    type: 'string',
    wider: [{ type: 'object' }],
    advice: { conflicts: ['regex', 'choice', 'grammar', 'json_object', 'structural_tag'] },
    summary: 'JSON Schema of the response, as a string',
    sample: '{"type":"object"}',
  },
  regex: {
    type: 'string',
    advice: { conflicts: ['choice', 'grammar', 'json_object', 'structural_tag'] },
    summary: 'Regular expression that the whole response matches',
    sample: '[a-z]+',
  },
  choice: {
    type: 'list',
    of: { type: 'string' },
    advice: { isNonEmpty: true, conflicts: ['grammar', 'json_object', 'structural_tag'] },
    summary: 'The possible responses',
    sample: ['yes', 'no'],
  },
  grammar: {
    type: 'string',
    advice: { conflicts: ['json_object', 'structural_tag'] },
    summary: 'Context-free grammar of the response',
    sample: 'root ::= "yes" | "no"',
  },
  json_object: { type: 'boolean', advice: { conflicts: ['structural_tag'] }, summary: 'Any JSON object' },
  disable_fallback: { type: 'boolean', default: false, summary: 'Do not fall back to another backend' },
  disable_any_whitespace: { type: 'boolean', default: false, summary: 'No whitespace between JSON tokens' },
  disable_additional_properties: { type: 'boolean', default: false, summary: 'No fields beyond the schema' },
  whitespace_pattern: { type: 'string', summary: 'Regular expression of the allowed whitespace', sample: '[ ]?' },
  structural_tag: { type: 'string', summary: 'Structural tag, as a JSON string', sample: '{}' },
  _backend: { type: 'string', summary: 'Internal: the backend', sample: 'auto' },
  _backend_was_auto: { type: 'boolean', default: false, summary: 'Internal: the backend was selected automatically' },
} as const satisfies Fields;
