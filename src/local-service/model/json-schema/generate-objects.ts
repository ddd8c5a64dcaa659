import type { JsonNode } from '../../../json/json-node.ts';
import { isFalseSchema } from './find-violation.ts';
import { generateStrings } from './generate-strings.ts';
import { firstValue, type ValueGenerator } from './value-generator.ts';

// More names than that are not tried where a schema wants some and does not say which.
const MAX_SPARE_NAMES = 1000;

/** JSON texts of objects that may keep to some schemas: what is required, then with other values, then with more members. */
export function* generateObjects(
  parts: readonly JsonNode[],
  depth: number,
  generator: ValueGenerator,
): Generator<string> {
  const { reader, spend } = generator;
  const chosen = new Map<string, string>();
  const write = (): string => {
    const text = `{${Array.from(chosen, ([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
    spend(text.length);
    return text;
  };
  const valuesOf = (name: string) => generator.valuesFor(propertySchemas(parts, name, generator), depth + 1);
  for (const name of requiredNames(parts, generator)) {
    const value = firstValue(valuesOf(name));
    if (value === undefined) return;
    chosen.set(name, value);
  }
  const least = reader.maxCountAt(parts, 'minProperties');
  const spare = spareNames(parts, depth, generator);
  const addSpareProperty = (): boolean => {
    for (let next = spare.next(); !next.done; next = spare.next()) {
      const value = chosen.has(next.value) ? undefined : firstValue(valuesOf(next.value));
      if (value === undefined) continue;
      chosen.set(next.value, value);
      return true;
    }
    return false;
  };
  while (chosen.size < least && addSpareProperty());
  yield write();
  for (const [name, first] of [...chosen]) {
    for (const value of valuesOf(name)) {
      if (value === first) continue;
      chosen.set(name, value);
      yield write();
    }
    chosen.set(name, first);
  }
  while (addSpareProperty()) yield write();
}

function requiredNames(parts: readonly JsonNode[], { reader }: ValueGenerator): Set<string> {
  const names = new Set(parts.flatMap((part) => reader.stringsAt(part, 'required')));
  // A set that grows while it is walked shows what is added, too.
  for (const name of names) {
    for (const part of parts) {
      const dependent = reader.property(part, 'dependentRequired');
      for (const other of dependent ? reader.stringsAt(dependent, name) : []) names.add(other);
    }
  }
  return names;
}

function propertySchemas(
  parts: readonly JsonNode[],
  name: string,
  { reader, reportConflict }: ValueGenerator,
): JsonNode[] {
  return parts.flatMap((part) => {
    const properties = reader.property(part, 'properties');
    const property = properties && reader.property(properties, name);
    if (property) return [property];
    const additional = reader.property(part, 'additionalProperties');
    if (additional && isFalseSchema(additional)) reportConflict('additionalProperties');
    return additional ? [additional] : [];
  });
}

function* spareNames(parts: readonly JsonNode[], depth: number, generator: ValueGenerator): Generator<string> {
  const { reader, spend, valuesFor } = generator;
  for (const part of parts) {
    const properties = reader.property(part, 'properties');
    if (properties) yield* reader.properties(properties).keys();
  }
  const rules = parts.flatMap((part) => reader.property(part, 'propertyNames') ?? []);
  const texts = rules.length > 0 ? valuesFor(rules, depth + 1) : generateStrings([], reader, spend);
  let count = 0;
  for (const text of texts) {
    if (text.startsWith('"') && text !== '""') yield JSON.parse(text);
    if (++count === MAX_SPARE_NAMES) return;
  }
}
