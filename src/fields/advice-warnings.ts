import { endOffset, isTrue, type JsonNode, kindOf, rawText, startOffset, stringOf } from '../json/json-node.ts';
import { compareNumberLiterals } from '../json/number-literal.ts';
import { type Advice, flagName } from './field.ts';
import { hasFormat, stringFormats } from './string-formats.ts';

/** The fields of an object by name; of duplicates, the last one. */
export type SiblingValues = ReadonlyMap<string, JsonNode>;

/** Warnings about values that servers accept and then use or store differently. */
export function qualityWarnings(node: JsonNode, { wants, keeps }: Advice, siblings: SiblingValues): string[] {
  const size = endOffset(node) - startOffset(node);
  return [
    ...(wants && isActive(node) && !isActive(siblings.get(wants.member))
      ? [`should come with ${wants.member}: ${wants.why}`]
      : []),
    ...(keeps !== undefined && size > keeps
      ? [`has ${size} bytes; beyond ${keeps} bytes servers store a replacement`]
      : []),
  ];
}

/** Why servers reject a value that the interface allows, given its siblings. */
export function rejectionWarnings(node: JsonNode, advice: Advice, siblings: SiblingValues): string[] {
  const warnings: string[] = [];
  const kind = kindOf(node);
  if (kind === 'number') warnings.push(...numberWarnings(rawText(node), advice, siblings));
  if (kind === 'string' && advice.notEmpty && stringOf(node) === '') warnings.push('must not be empty');
  if (kind === 'string' && advice.format && !hasFormat(stringOf(node), advice.format)) {
    warnings.push(`should be ${stringFormats[advice.format].description}; most servers reject other values`);
  }
  if (!isActive(node)) return warnings;
  if (advice.needs && !isActive(siblings.get(advice.needs)))
    warnings.push(`needs ${advice.needs} (--${flagName(advice.needs)})`);
  for (const other of advice.conflicts ?? []) {
    if (isActive(siblings.get(other)))
      warnings.push(`cannot be combined with ${other}; most servers reject both together`);
  }
  return warnings;
}

function numberWarnings(text: string, { min, max, above, atMost }: Advice, siblings: SiblingValues): string[] {
  const warnings: string[] = [];
  if (min !== undefined && compareNumberLiterals(text, String(min)) < 0) warnings.push(`should be at least ${min}`);
  if (max !== undefined && compareNumberLiterals(text, String(max)) > 0) warnings.push(`should be at most ${max}`);
  if (above !== undefined && compareNumberLiterals(text, String(above)) <= 0) warnings.push(`should be above ${above}`);
  for (const other of atMost ?? []) {
    const limit = siblings.get(other);
    if (limit && kindOf(limit) === 'number' && compareNumberLiterals(text, rawText(limit)) > 0) {
      warnings.push(`should be at most ${other}, ${rawText(limit)}`);
    }
  }
  return warnings.map((message) => `${message}; most servers reject ${text}`);
}

// Absent, null, false and 0 all mean off.
function isActive(node: JsonNode | undefined): boolean {
  if (!node) return false;
  switch (kindOf(node)) {
    case 'null':
      return false;
    case 'boolean':
      return isTrue(node);
    case 'number':
      return compareNumberLiterals(rawText(node), '0') !== 0;
    default:
      return true;
  }
}
