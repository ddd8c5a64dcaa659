import { endOffset, isTrue, type JsonNode, kindOf, rawText, startOffset, stringOf } from '../json/json-node.ts';
import type { JsonPath } from '../json/json-path.ts';
import { compareNumberLiterals } from '../json/number-literal.ts';
import { closestMatch } from './closest-match.ts';
import { type Advice, type Field, type Fields, flagName } from './field.ts';
import type { Finding, PendingFinding } from './finding.ts';
import { hasFormat, stringFormats } from './string-formats.ts';

/** Adds warnings about valid fields that are likely mistakes: deprecated ones, and values that real servers reject (docs/servers.md). */
export function adviseField(
  name: string,
  field: Field,
  node: JsonNode,
  siblings: SiblingValues,
  parentPath: JsonPath,
  add: (finding: PendingFinding) => void,
): void {
  const { advice, deprecated, excludes } = field;
  if (!advice && !deprecated && !excludes) return;
  const warn = (code: Finding['code'], message: string): void =>
    add({
      level: 'warning',
      code,
      offset: startOffset(node),
      describe: () => ({ path: [...parentPath, name], message }),
    });
  if (deprecated) warn('deprecated', `is deprecated; ${deprecated}`);
  // The service takes an absent sibling as true, so leaving it out is as wrong as true.
  if (excludes && isTrue(node) && !siblings.has(excludes)) warn('advice', `needs ${excludes} to be false`);
  if (!advice) return;
  if (!isOutsideRange(node, field)) {
    for (const message of rejectionWarnings(node, advice, siblings)) warn('advice', message);
  }
  const size = endOffset(node) - startOffset(node);
  if (size > (advice.bytes ?? Number.POSITIVE_INFINITY))
    warn('large', `has ${size} bytes; servers accept at most ${advice.bytes}`);
  for (const message of qualityWarnings(node, advice, siblings)) warn('unwise', message);
}

/** The warning about a field that the service does not know. */
export function unknownFieldFinding(key: string, value: JsonNode, fields: Fields, path: JsonPath): PendingFinding {
  const describe: PendingFinding['describe'] = () => {
    const suggestion = closestMatch(key, Object.keys(fields));
    const message = `is not a field the service knows${suggestion ? `; did you mean ${suggestion}?` : ''}`;
    return { path: [...path, key], message };
  };
  return { level: 'warning', code: 'unknown', offset: startOffset(value), describe };
}

/** The warning about a field that the interface leaves optional and most servers require: it is absent, or null. */
export function missingFieldFinding(
  object: JsonNode,
  name: string,
  value: JsonNode | undefined,
  path: JsonPath,
): PendingFinding {
  const describe: PendingFinding['describe'] = () => ({
    path: [...path, name],
    message: 'is required by most servers',
  });
  return {
    level: 'warning',
    code: value ? 'tolerated' : 'missing',
    offset: startOffset(value ?? object),
    describe,
  };
}

// A number outside of the printed range is an error already.
function isOutsideRange(node: JsonNode, field: Field): boolean {
  if (kindOf(node) !== 'number' || !('min' in field)) return false;
  const { min, max } = field;
  return (
    (min !== undefined && compareNumberLiterals(rawText(node), String(min)) < 0) ||
    (max !== undefined && compareNumberLiterals(rawText(node), String(max)) > 0)
  );
}

/** The fields of an object by name; of duplicates, the last one. */
export type SiblingValues = ReadonlyMap<string, JsonNode>;

/** Warnings about values that servers accept and then use or store differently. */
function qualityWarnings(node: JsonNode, { wants, keeps }: Advice, siblings: SiblingValues): string[] {
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
function rejectionWarnings(node: JsonNode, advice: Advice, siblings: SiblingValues): string[] {
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
