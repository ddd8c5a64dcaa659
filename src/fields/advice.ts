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
export function* advise(node: JsonNode, shape: Shape, path: Path = []): Generator<Remark> {
  if (shape.type === 'list' && looksInside(shape.of)) {
    let at = 0;
    for (const item of itemsOf(node)) yield* advise(item, shape.of, [...path, at++]);
  }
  if (shape.type !== 'object' || !shape.fields || kindOf(node) !== 'object') return;
  const { fields } = shape;
  const members: Members = new Map(Array.from(membersOf(node), ({ key, value }) => [key, value]));
  if (!shape.open) yield* unknownMembers(members, fields, path);
  for (const [name, field] of Object.entries(fields)) {
    if (members.has(name) || field.advice?.required) yield* adviseMember(name, field, node, members, path);
  }
}

function looksInside(shape: Shape): boolean {
  return shape.type === 'list' || (shape.type === 'object' && shape.fields !== undefined);
}

function* unknownMembers(members: Members, fields: Fields, path: Path): Generator<Remark> {
  for (const [key, value] of members) {
    if (Object.hasOwn(fields, key)) continue;
    const tell: Remark['tell'] = () => {
      const meant = suggest(key, Object.keys(fields));
      const message = `is not a member the service knows${meant ? `; did you mean ${meant}?` : ''}`;
      return { path: [...path, key], message };
    };
    yield { level: 'warning', code: 'unknown', at: startOf(value), tell };
  }
}

function* adviseMember(name: string, field: Field, object: JsonNode, members: Members, outer: Path): Generator<Remark> {
  const node = members.get(name);
  const at = startOf(node ?? object);
  const path = [...outer, name];
  const warn = (code: Finding['code'], message: string): Remark => {
    return { level: 'warning', code, at, tell: () => ({ path, message }) };
  };
  if (!node) {
    if (field.advice?.required) yield warn('missing', 'is required by most servers');
    return;
  }
  if (field.deprecated) yield warn('deprecated', `is deprecated; ${field.deprecated}`);
  if (field.advice) for (const message of refusals(node, field.advice, members)) yield warn('advice', message);
  // What the service takes for an absent sibling is true, so leaving it out is as wrong as saying true.
  if (field.excludes && isTrue(node) && !members.has(field.excludes))
    yield warn('advice', `needs ${field.excludes} to be false`);
  const size = endOf(node) - startOf(node);
  const most = field.advice?.bytes ?? Number.POSITIVE_INFINITY;
  if (size > most) yield warn('large', `has ${size} bytes; servers take at most ${most}`);
  if (field.advice) for (const message of regrets(node, field.advice, members)) yield warn('unwise', message);
  yield* advise(node, field, path);
}
