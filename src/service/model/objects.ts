import type { JsonNode } from '../../json/node.ts';
import { isFalse } from './check.ts';
import { firstOf, type Maker } from './maker.ts';
import { strings } from './strings.ts';

// More names than that are not tried where a schema wants some and does not say which.
const MOST_NAMES = 1000;

/** JSON texts of objects that may keep to some schemas: what is required, then with other values, then with more members. */
export function* objects(parts: readonly JsonNode[], depth: number, maker: Maker): Generator<string> {
  const { reader, spend } = maker;
  const chosen = new Map<string, string>();
  const write = (): string => {
    const text = `{${Array.from(chosen, ([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
    spend(text.length);
    return text;
  };
  const valuesOf = (name: string) => maker.values(partsOf(parts, name, maker), depth + 1);
  for (const name of requiredBy(parts, maker)) {
    const value = firstOf(valuesOf(name));
    if (value === undefined) return;
    chosen.set(name, value);
  }
  const least = reader.mostAt(parts, 'minProperties');
  const spare = spareNames(parts, depth, maker);
  const fill = (): boolean => {
    for (let next = spare.next(); !next.done; next = spare.next()) {
      const value = chosen.has(next.value) ? undefined : firstOf(valuesOf(next.value));
      if (value === undefined) continue;
      chosen.set(next.value, value);
      return true;
    }
    return false;
  };
  while (chosen.size < least && fill());
  yield write();
  for (const [name, first] of [...chosen]) {
    for (const value of valuesOf(name)) {
      if (value === first) continue;
      chosen.set(name, value);
      yield write();
    }
    chosen.set(name, first);
  }
  while (fill()) yield write();
}

function requiredBy(parts: readonly JsonNode[], { reader }: Maker): Set<string> {
  const names = new Set(parts.flatMap((part) => reader.stringsAt(part, 'required')));
  // A set that grows while it is walked shows what is added, too.
  for (const name of names) {
    for (const part of parts) {
      const dependent = reader.member(part, 'dependentRequired');
      for (const other of dependent ? reader.stringsAt(dependent, name) : []) names.add(other);
    }
  }
  return names;
}

function partsOf(parts: readonly JsonNode[], name: string, { reader, blame }: Maker): JsonNode[] {
  return parts.flatMap((part) => {
    const properties = reader.member(part, 'properties');
    const property = properties && reader.member(properties, name);
    if (property) return [property];
    const additional = reader.member(part, 'additionalProperties');
    if (additional && isFalse(additional)) blame('additionalProperties');
    return additional ? [additional] : [];
  });
}

function* spareNames(parts: readonly JsonNode[], depth: number, maker: Maker): Generator<string> {
  const { reader, spend, values } = maker;
  for (const part of parts) {
    const properties = reader.member(part, 'properties');
    if (properties) yield* reader.members(properties).keys();
  }
  const rules = parts.flatMap((part) => reader.member(part, 'propertyNames') ?? []);
  const texts = rules.length > 0 ? values(rules, depth + 1) : strings([], reader, spend);
  let count = 0;
  for (const text of texts) {
    if (text.startsWith('"') && text !== '""') yield JSON.parse(text);
    if (++count === MOST_NAMES) return;
  }
}
