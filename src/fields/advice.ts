import { formatByteSize } from '../files/byte-size.ts';
import {
  endOffset,
  isTrue,
  itemsOf,
  type JsonNode,
  type JsonPath,
  kindOf,
  membersOf,
  rawText,
  startOffset,
  stringOf,
} from '../json/json-node.ts';
import { compareNumberLiterals } from '../json/number-literal.ts';
import { closestMatch, joinWithOr } from './closest-match.ts';
import { type Advice, type Field, type Fields, flagName, type Shape } from './field.ts';
import { type Finding, type PendingFinding, pendingWarning } from './finding.ts';
import { isInRange } from './mismatch-message.ts';
import { hasFormat, parseTime, stringFormats } from './string-formats.ts';

/**
 * Adds the error about a field that excludes another one, and warnings about valid fields that are likely mistakes: deprecated
 * ones, and values that real servers reject (docs/servers.md).
 */
export function adviseField(
  name: string,
  field: Shape & Pick<Field, 'advice' | 'deprecated' | 'excludes'>,
  node: JsonNode,
  siblings: SiblingValues,
  parentPath: JsonPath,
  add: (finding: PendingFinding) => void,
): void {
  const { advice, deprecated, excludes } = field;
  if (!advice && !deprecated && !excludes) return;
  const warn = (code: Finding['code'], message: string, flagMessage = message): void =>
    add(pendingWarning(code, node, () => ({ path: [...parentPath, name], message, flagMessage })));
  if (deprecated)
    warn('deprecated', `is deprecated; use ${deprecated}`, `is deprecated; use --${flagName(deprecated)}`);
  if (excludes && isTrue(node)) {
    const excluded = siblings.get(excludes);
    const message = `cannot be true together with ${excludes}; set ${excludes} to false`;
    const flagMessage = `needs --no-${flagName(excludes)}`;
    const describe: PendingFinding['describe'] = () => ({ path: [...parentPath, name], message, flagMessage });
    if (isTrue(excluded)) add({ ...pendingWarning('excluded', node, describe), level: 'error' });
    // The service takes an absent sibling as true, so leaving it out is as wrong as true; null is absent (docs/servers.md).
    else if (!excluded || kindOf(excluded) === 'null') warn('advice', `needs ${excludes} to be false`);
  }
  if (!advice) return;
  // A number outside of the range of the interface is an error already.
  if (!('min' in field) || kindOf(node) !== 'number' || isInRange(node, field))
    for (const message of rejectionWarnings(node, advice, siblings)) warn('advice', message);
  const { bytes, wants, keeps, after } = advice;
  const size = endOffset(node) - startOffset(node);
  if (bytes !== undefined && size > bytes)
    warn('large', `is ${formatByteSize(size)}; servers accept at most ${formatByteSize(bytes)}`);
  const earlier = after && siblings.get(after);
  if (earlier && timeOf(node) <= timeOf(earlier)) warn('unwise', `is not after ${after}, so the window is empty`);
  if (wants && isActive(node) && !isActive(siblings.get(wants.member)))
    warn(
      'unwise',
      `also set ${wants.member}; without it, ${wants.otherwise}`,
      `also set --${flagName(wants.member)}; without it, ${wants.otherwise}`,
    );
  if (keeps !== undefined && size > keeps)
    warn('unwise', `is ${formatByteSize(size)}; servers silently replace fields above ${formatByteSize(keeps)}`);
}

export function unknownFieldFinding(name: string, value: JsonNode, fields: Fields, path: JsonPath): PendingFinding {
  const describe: PendingFinding['describe'] = () => {
    const suggestion = closestMatch(name, Object.keys(fields));
    return {
      path: [...path, name],
      message: `is not a known field${suggestion ? `; did you mean ${suggestion}?` : ''}`,
    };
  };
  const sameAs = `.${[...path, name].filter((step) => typeof step === 'string').join('.')}`;
  return { ...pendingWarning('unknown', value, describe), sameAs };
}

// The fields of an object by name; of duplicates, the last one.
type SiblingValues = ReadonlyMap<string, JsonNode>;

/** The reasons why servers reject a value that the interface allows, given its siblings. */
function rejectionWarnings(node: JsonNode, advice: Advice, siblings: SiblingValues): string[] {
  const warnings: string[] = [];
  const kind = kindOf(node);
  if (kind === 'number') warnings.push(...numberWarnings(rawText(node), advice, siblings));
  if (advice.isNonEmpty && (kind === 'list' ? !isActive(node) : kind === 'string' && stringOf(node) === ''))
    warnings.push('must not be empty');
  if (advice.hasText && [node, ...itemsOf(node)].some((one) => kindOf(one) === 'string' && stringOf(one) === ''))
    warnings.push('must not contain an empty string');
  if (advice.oneOf && !(kind === 'string' && advice.oneOf.includes(stringOf(node))))
    warnings.push(`should be ${joinWithOr(advice.oneOf.map((value) => JSON.stringify(value)))}`);
  if (kind === 'string' && advice.format && !hasFormat(stringOf(node), advice.format))
    warnings.push(`should be ${stringFormats[advice.format].description}; most servers reject other values`);
  if (!isActive(node)) return warnings;
  const isEmptyObject = kind === 'object' && membersOf(node).next().done === true;
  if (advice.needs && !isEmptyObject && !isActive(siblings.get(advice.needs)))
    warnings.push(`needs ${advice.needs} (--${flagName(advice.needs)})`);
  for (const other of advice.conflicts ?? [])
    if (isActive(siblings.get(other)))
      warnings.push(`cannot be combined with ${other}; most servers reject both together`);
  return warnings;
}

function numberWarnings(text: string, { min, max, above, atMost }: Advice, siblings: SiblingValues): string[] {
  const warnings: string[] = [];
  const compareTo = (limit: number | bigint | string): number => compareNumberLiterals(text, String(limit));
  if (min !== undefined && compareTo(min) < 0) warnings.push(`should be at least ${min}`);
  if (max !== undefined && compareTo(max) > 0) warnings.push(`should be at most ${max}`);
  if (above !== undefined && compareTo(above) <= 0) warnings.push(`should be above ${above}`);
  for (const other of atMost ?? []) {
    const limit = siblings.get(other);
    if (limit && kindOf(limit) === 'number' && compareTo(rawText(limit)) > 0)
      warnings.push(`should be at most ${other}, ${rawText(limit)}`);
  }
  return warnings.map((message) => `${message}; most servers reject ${text}`);
}

function timeOf(node: JsonNode): number {
  return kindOf(node) === 'string' ? parseTime(stringOf(node)) : Number.NaN;
}

// Absent, null, false, 0 and [] all mean off.
function isActive(node: JsonNode | undefined): boolean {
  const kind = node && kindOf(node);
  if (!node || kind === 'null') return false;
  if (kind === 'boolean') return isTrue(node);
  if (kind === 'number') return compareNumberLiterals(rawText(node), '0') !== 0;
  return kind !== 'list' || itemsOf(node).next().done === false;
}
