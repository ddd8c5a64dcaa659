import { endOffset, isTrue, itemsOf, type JsonNode, kindOf, membersOf, startOffset } from '../json/json-node.ts';
import type { JsonPath } from '../json/json-path.ts';
import { qualityWarnings, rejectionWarnings, type SiblingValues } from './advice-warnings.ts';
import { closestMatch } from './closest-match.ts';
import type { Field, Fields, Shape } from './field.ts';
import type { Finding, PendingFinding } from './finding.ts';

/**
 * What the interface allows and is still likely wrong, all as warnings: members nobody knows, deprecated ones, and
 * what real servers refuse (SERVERS.md). Values of the wrong kind are left to the validator.
 */
export function collectAdvice(root: JsonNode, shape: Shape): PendingFinding[] {
  const findings: PendingFinding[] = [];
  collectAdviceAt(root, shape, [], (remark) => findings.push(remark));
  return findings;
}

type AddFinding = (remark: PendingFinding) => void;

function collectAdviceAt(node: JsonNode, shape: Shape, path: JsonPath, add: AddFinding): void {
  if (shape.type === 'list' && hasNestedFields(shape.of)) {
    let at = 0;
    for (const item of itemsOf(node)) collectAdviceAt(item, shape.of, [...path, at++], add);
  }
  if (shape.type !== 'object' || !shape.fields || kindOf(node) !== 'object') return;
  const { fields, open } = shape;
  const fieldValues = new Map<string, JsonNode>();
  for (const { key, value } of membersOf(node)) fieldValues.set(key, value);
  for (const [key, value] of fieldValues) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (field) adviseField(key, field, value, fieldValues, path, add);
    else if (!open) add(unknownFieldFinding(key, value, fields, path));
  }
  for (const name in fields) {
    if (!fields[name]?.advice?.required || fieldValues.has(name)) continue;
    const describe: PendingFinding['describe'] = () => ({
      path: [...path, name],
      message: 'is required by most servers',
    });
    add({ level: 'warning', code: 'missing', offset: startOffset(node), describe });
  }
}

function hasNestedFields(shape: Shape): boolean {
  return shape.type === 'list' || (shape.type === 'object' && shape.fields !== undefined);
}

function unknownFieldFinding(key: string, value: JsonNode, fields: Fields, path: JsonPath): PendingFinding {
  const describe: PendingFinding['describe'] = () => {
    const suggestion = closestMatch(key, Object.keys(fields));
    const message = `is not a member the service knows${suggestion ? `; did you mean ${suggestion}?` : ''}`;
    return { path: [...path, key], message };
  };
  return { level: 'warning', code: 'unknown', offset: startOffset(value), describe };
}

function adviseField(
  name: string,
  field: Field,
  node: JsonNode,
  siblings: SiblingValues,
  parentPath: JsonPath,
  add: AddFinding,
): void {
  const { advice, deprecated, excludes } = field;
  const warn = (code: Finding['code'], message: string): void =>
    add({
      level: 'warning',
      code,
      offset: startOffset(node),
      describe: () => ({ path: [...parentPath, name], message }),
    });
  if (deprecated) warn('deprecated', `is deprecated; ${deprecated}`);
  // What the service takes for an absent sibling is true, so leaving it out is as wrong as saying true.
  if (excludes && isTrue(node) && !siblings.has(excludes)) warn('advice', `needs ${excludes} to be false`);
  if (advice) {
    for (const message of rejectionWarnings(node, advice, siblings)) warn('advice', message);
    const size = endOffset(node) - startOffset(node);
    if (size > (advice.bytes ?? Number.POSITIVE_INFINITY))
      warn('large', `has ${size} bytes; servers take at most ${advice.bytes}`);
    for (const message of qualityWarnings(node, advice, siblings)) warn('unwise', message);
  }
  if (hasNestedFields(field)) collectAdviceAt(node, field, [...parentPath, name], add);
}
