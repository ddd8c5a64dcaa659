import { endOf, isTrue, itemsOf, type JsonNode, kindOf, membersOf, startOf } from '../json/node.ts';
import type { Path } from '../json/path.ts';
import type { Field, Fields, Shape } from './field.ts';
import type { Finding, Remark } from './finding.ts';
import { type Members, refusals, regrets } from './refusals.ts';
import { suggest } from './suggest.ts';

/**
 * What the interface allows and is still likely wrong, all as warnings: members nobody knows, deprecated ones, and
 * what real servers refuse (SERVERS.md). Values of the wrong kind are left to the validator.
 */
export function advise(root: JsonNode, shape: Shape): Remark[] {
  const remarks: Remark[] = [];
  adviseOn(root, shape, [], (remark) => remarks.push(remark));
  return remarks;
}

type Add = (remark: Remark) => void;

function adviseOn(node: JsonNode, shape: Shape, path: Path, add: Add): void {
  if (shape.type === 'list' && looksInside(shape.of)) {
    let at = 0;
    for (const item of itemsOf(node)) adviseOn(item, shape.of, [...path, at++], add);
  }
  if (shape.type !== 'object' || !shape.fields || kindOf(node) !== 'object') return;
  const { fields, open } = shape;
  const members = new Map<string, JsonNode>();
  for (const { key, value } of membersOf(node)) members.set(key, value);
  for (const [key, value] of members) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (field) adviseMember(key, field, value, members, path, add);
    else if (!open) add(unknownMember(key, value, fields, path));
  }
  for (const name in fields) {
    if (!fields[name]?.advice?.required || members.has(name)) continue;
    const tell: Remark['tell'] = () => ({ path: [...path, name], message: 'is required by most servers' });
    add({ level: 'warning', code: 'missing', at: startOf(node), tell });
  }
}

function looksInside(shape: Shape): boolean {
  return shape.type === 'list' || (shape.type === 'object' && shape.fields !== undefined);
}

function unknownMember(key: string, value: JsonNode, fields: Fields, path: Path): Remark {
  const tell: Remark['tell'] = () => {
    const meant = suggest(key, Object.keys(fields));
    const message = `is not a member the service knows${meant ? `; did you mean ${meant}?` : ''}`;
    return { path: [...path, key], message };
  };
  return { level: 'warning', code: 'unknown', at: startOf(value), tell };
}

function adviseMember(name: string, field: Field, node: JsonNode, members: Members, outer: Path, add: Add): void {
  const { advice, deprecated, excludes } = field;
  const warn = (code: Finding['code'], message: string): void =>
    add({ level: 'warning', code, at: startOf(node), tell: () => ({ path: [...outer, name], message }) });
  if (deprecated) warn('deprecated', `is deprecated; ${deprecated}`);
  // What the service takes for an absent sibling is true, so leaving it out is as wrong as saying true.
  if (excludes && isTrue(node) && !members.has(excludes)) warn('advice', `needs ${excludes} to be false`);
  if (advice) {
    for (const message of refusals(node, advice, members)) warn('advice', message);
    const size = endOf(node) - startOf(node);
    if (size > (advice.bytes ?? Number.POSITIVE_INFINITY))
      warn('large', `has ${size} bytes; servers take at most ${advice.bytes}`);
    for (const message of regrets(node, advice, members)) warn('unwise', message);
  }
  if (looksInside(field)) adviseOn(node, field, [...outer, name], add);
}
