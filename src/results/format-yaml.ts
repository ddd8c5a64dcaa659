import { itemsOf, type JsonNode, kindOf, membersOf, rawText, stringOf } from '../json/json-node.ts';
import { compactChunks } from '../json/write-json.ts';

// A nested value may be a million levels deep; flow style takes no indentation.
const MAX_BLOCK_LEVELS = 100;

/** A YAML document that means the same in YAML 1.1 and 1.2. Numbers keep their text; strings are quoted where in doubt. */
export function* yamlChunks(root: JsonNode): Generator<string> {
  if (isBlock(root)) yield* blockLines(root, 0, '');
  else yield `${flowText(root)}\n`;
}

// `lead` is what precedes the first line: the indentation of its own, or that of a sequence's dash.
function* blockLines(node: JsonNode, level: number, lead: string): Generator<string> {
  const indentation = '  '.repeat(level);
  let start = lead;
  for (const { label, value } of blockEntries(node, indentation)) {
    if (!isBlock(value)) {
      yield `${start}${label} ${flowText(value)}\n`;
    } else if (level >= MAX_BLOCK_LEVELS) {
      yield `${start}${label} `;
      yield* compactChunks(value);
      yield '\n';
    } else if (label === '-') {
      yield* blockLines(value, level + 1, `${start}- `);
    } else {
      yield `${start}${label}\n`;
      yield* blockLines(value, level + 1, `${indentation}  `);
    }
    start = indentation;
  }
}

function* blockEntries(node: JsonNode, indentation: string): Generator<{ label: string; value: JsonNode }> {
  for (const value of itemsOf(node)) yield { label: '-', value };
  // Of duplicate keys, which YAML does not allow, the last one counts.
  const values = new Map(Array.from(membersOf(node), ({ key, value }) => [key, value]));
  for (const [key, value] of values) yield { label: keyLabel(scalarText(key), indentation), value };
}

// A longer key needs a question mark before it.
const MAX_SIMPLE_KEY_CHARS = 1000;

function keyLabel(key: string, indentation: string): string {
  return key.length > MAX_SIMPLE_KEY_CHARS ? `? ${key}\n${indentation}:` : `${key}:`;
}

function isBlock(node: JsonNode): boolean {
  const kind = kindOf(node);
  if (kind === 'object') return !membersOf(node).next().done;
  return kind === 'list' && !itemsOf(node).next().done;
}

function flowText(node: JsonNode): string {
  const kind = kindOf(node);
  if (kind === 'string') return scalarText(stringOf(node));
  if (kind === 'object') return '{}';
  if (kind === 'list') return '[]';
  return kind === 'number' ? numberText(rawText(node)) : rawText(node);
}

// YAML 1.1 takes an exponent without a point or a sign for a string.
function numberText(text: string): string {
  return /e/i.test(text) && !/^-?\d+\.\d*e[-+]\d+$/i.test(text) ? `!!float ${text}` : text;
}

// Plain only where no reader can see a number, a date, a boolean or null in it, nor any of YAML's signs.
const plainString = /^[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*$/;
const otherMeaning = /^(?:y|yes|n|no|true|false|on|off|null|nan|inf|e-?\d+)$/i;

function scalarText(text: string): string {
  return plainString.test(text) && !otherMeaning.test(text) ? text : quoteScalar(text);
}

// The escapes of JSON, except that YAML cannot represent a lone surrogate, and YAML 1.1 has more line break characters.
function quoteScalar(text: string): string {
  return JSON.stringify(text.replace(/\p{Surrogate}/gu, '\ufffd')).replace(
    /[\u007f-\u00a0\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
