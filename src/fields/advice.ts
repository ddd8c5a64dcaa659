import { endOf, isTrue, itemsOf, type JsonNode, kindOf, membersOf, startOf, stringOf, textOf } from '../json/node.ts';
import { compareNumbers } from '../json/number.ts';
import type { Path } from '../json/path.ts';
import { type Advice, type Field, type Fields, flagName, type Shape } from './field.ts';
import type { Finding } from './finding.ts';
import { formats, hasFormat } from './formats.ts';
import { suggest } from './suggest.ts';

type Members = ReadonlyMap<string, JsonNode>;

/**
 * What the interface allows and is still likely wrong, all as warnings: members nobody knows, deprecated ones, and
 * what real servers refuse (SERVERS.md). Values of the wrong kind are left to the validator.
 */
export function advise(node: JsonNode, shape: Shape, path: Path = []): Finding[] {
  if (shape.type === 'list') {
    if (!looksInside(shape.of)) return [];
    return Array.from(itemsOf(node)).flatMap((item, at) => advise(item, shape.of, [...path, at]));
  }
  if (shape.type !== 'object' || !shape.fields || kindOf(node) !== 'object') return [];
  const { fields } = shape;
  const members: Members = new Map(Array.from(membersOf(node), ({ key, value }) => [key, value]));
  return [
    ...(shape.open ? [] : unknownMembers(members, fields, path)),
    ...Object.entries(fields).flatMap(([name, field]) => adviseMember(name, field, members, [...path, name])),
  ];
}

function looksInside(shape: Shape): boolean {
  return shape.type === 'list' || (shape.type === 'object' && shape.fields !== undefined);
}

function unknownMembers(members: Members, fields: Fields, path: Path): Finding[] {
  return [...members.keys()]
    .filter((key) => !Object.hasOwn(fields, key))
    .map((key) => {
      const meant = suggest(key, Object.keys(fields));
      const message = `is not a member the service knows${meant ? `; did you mean ${meant}?` : ''}`;
      return { path: [...path, key], level: 'warning', code: 'unknown', message };
    });
}

function adviseMember(name: string, field: Field, members: Members, path: Path): Finding[] {
  const node = members.get(name);
  const warn = (code: Finding['code'], message: string): Finding => ({ path, level: 'warning', code, message });
  if (!node) return field.advice?.required ? [warn('missing', 'is required by most servers')] : [];
  const deprecated = field.deprecated ? [warn('deprecated', `is deprecated; ${field.deprecated}`)] : [];
  const refused = field.advice ? refusals(node, field.advice, members) : [];
  // What the service takes for an absent sibling is true, so leaving it out is as wrong as saying true.
  if (field.excludes && isTrue(node) && !members.has(field.excludes))
    refused.push(`needs ${field.excludes} to be false`);
  const size = endOf(node) - startOf(node);
  const most = field.advice?.bytes ?? Number.POSITIVE_INFINITY;
  const large = size > most ? [warn('large', `has ${size} bytes; servers take at most ${most}`)] : [];
  const regretted = field.advice ? regrets(node, field.advice, members) : [];
  return [
    ...deprecated,
    ...refused.map((message) => warn('advice', message)),
    ...large,
    ...regretted.map((message) => warn('unwise', message)),
    ...advise(node, field, path),
  ];
}

function regrets(node: JsonNode, { wants, keeps }: Advice, members: Members): string[] {
  const size = endOf(node) - startOf(node);
  return [
    ...(wants && isActive(node) && !isActive(members.get(wants.member))
      ? [`should come with ${wants.member}: ${wants.why}`]
      : []),
    ...(keeps !== undefined && size > keeps
      ? [`has ${size} bytes; beyond ${keeps} servers keep something else instead`]
      : []),
  ];
}

function refusals(node: JsonNode, advice: Advice, members: Members): string[] {
  const found: string[] = [];
  const kind = kindOf(node);
  if (kind === 'number') found.push(...wrongNumber(textOf(node), advice, members));
  if (kind === 'string' && advice.notEmpty && stringOf(node) === '') found.push('must not be empty');
  if (kind === 'string' && advice.format && !hasFormat(stringOf(node), advice.format)) {
    found.push(`should be ${formats[advice.format].shape}; most servers refuse others`);
  }
  if (!isActive(node)) return found;
  if (advice.needs && !isActive(members.get(advice.needs)))
    found.push(`needs ${advice.needs} (--${flagName(advice.needs)})`);
  for (const other of advice.conflicts ?? []) {
    if (isActive(members.get(other))) found.push(`does not go with ${other}; most servers refuse the two together`);
  }
  return found;
}

function wrongNumber(text: string, { min, max, above, atMost }: Advice, members: Members): string[] {
  const found: string[] = [];
  if (min !== undefined && compareNumbers(text, String(min)) < 0) found.push(`should be at least ${min}`);
  if (max !== undefined && compareNumbers(text, String(max)) > 0) found.push(`should be at most ${max}`);
  if (above !== undefined && compareNumbers(text, String(above)) <= 0) found.push(`should be above ${above}`);
  for (const other of atMost ?? []) {
    const limit = members.get(other);
    if (limit && kindOf(limit) === 'number' && compareNumbers(text, textOf(limit)) > 0) {
      found.push(`should be at most ${other}, ${textOf(limit)}`);
    }
  }
  return found.map((message) => `${message}; most servers refuse ${text}`);
}

// Off in every way a body can say it: absent, null, false or 0.
function isActive(node: JsonNode | undefined): boolean {
  if (!node) return false;
  switch (kindOf(node)) {
    case 'null':
      return false;
    case 'boolean':
      return isTrue(node);
    case 'number':
      return compareNumbers(textOf(node), '0') !== 0;
    default:
      return true;
  }
}
