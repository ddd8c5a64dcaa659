import { endOf, isTrue, type JsonNode, kindOf, startOf, stringOf, textOf } from '../json/node.ts';
import { compareNumbers } from '../json/number.ts';
import { type Advice, flagName } from './field.ts';
import { formats, hasFormat } from './formats.ts';

/** The members of an object by name, of duplicates the last. */
export type Members = ReadonlyMap<string, JsonNode>;

/** What servers accept and the user will regret. */
export function regrets(node: JsonNode, { wants, keeps }: Advice, members: Members): string[] {
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

/** Why servers refuse a value that the interface allows, beside these members. */
export function refusals(node: JsonNode, advice: Advice, members: Members): string[] {
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
