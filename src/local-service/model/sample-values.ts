import type { AnySchemaObject } from 'ajv';
import { sampleNumbers, sampleStrings } from './sample-scalars.ts';

/** A valid JSON Schema, or a part of one. */
export type SchemaPart = boolean | AnySchemaObject;

/** Generates values that some schemas probably allow together. */
type ValueSource = (schemas: readonly SchemaPart[]) => Iterable<unknown>;

// A schema may refer to itself: values of little depth come first.
const DEPTH_LIMITS = [1, 2, 8, 32] as const;
const MAX_SAMPLES_OF_TYPE = 128;
const MAX_EXTRA_ITEMS = 8;
const MAX_SCHEMA_PARTS = 256;
// Each character of a value is a step, and checking it takes more.
const MAX_SEARCH_STEPS = 256 * 1024;
const CHECK_STEPS = 32;
const ALL_TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const;

/**
 * Small values that a schema allows, smallest first: its constants, the lower bounds of its types, its required members.
 * `isValid` decides about each part of a value. Throws Error where the search takes too many steps.
 */
export function* sampleValues(
  root: SchemaPart,
  isValid: (value: unknown, part: SchemaPart) => boolean,
): Generator<unknown> {
  let remainingSteps = MAX_SEARCH_STEPS;
  const spend = (steps: number): void => {
    remainingSteps -= steps;
    if (remainingSteps < 0) throw new Error(`the search takes more than ${MAX_SEARCH_STEPS} steps`);
  };
  let isDepthReached = true;
  for (const depth of DEPTH_LIMITS) {
    if (!isDepthReached) return;
    isDepthReached = false;
    yield* valuesFor([root], depth);
  }

  function* valuesFor(schemas: readonly SchemaPart[], remainingDepth: number): Generator<unknown> {
    isDepthReached ||= remainingDepth < 0;
    if (remainingDepth < 0) return;
    const valuesOf: ValueSource = (inner) => valuesFor(inner, remainingDepth - 1);
    for (const parts of alternatives(schemas, [])) {
      for (const source of sources(parts, valuesOf, spend)) {
        let count = 0;
        for (const value of source) {
          spend(CHECK_STEPS + JSON.stringify(value).length);
          if (schemas.every((part) => isValid(value, part))) yield value;
          if (++count === MAX_SAMPLES_OF_TYPE) break;
        }
      }
    }
  }

  // What `$ref` and `allOf` add to a schema, with one option of each `anyOf`, `oneOf` and `if`.
  function* alternatives(
    schemas: readonly SchemaPart[],
    expanded: readonly AnySchemaObject[],
  ): Generator<readonly AnySchemaObject[]> {
    spend(1 + expanded.length);
    const [part, ...rest] = schemas;
    if (part === undefined) return yield expanded;
    if (part === false || expanded.length === MAX_SCHEMA_PARTS) return;
    // A schema that refers to itself adds nothing.
    if (part === true || expanded.includes(part)) return yield* alternatives(rest, expanded);
    const target = part.$ref === undefined ? true : resolveReference(root, part.$ref);
    const branches = part.if === undefined ? [true] : [part.else ?? true, { allOf: [part.if, part.then ?? true] }];
    for (const any of part.anyOf ?? [true])
      for (const one of part.oneOf ?? [true])
        for (const branch of branches)
          yield* alternatives([...rest, target, ...(part.allOf ?? []), any, one, branch], [...expanded, part]);
  }
}

// What points outside the document adds nothing here; the validator refuses it.
function resolveReference(root: SchemaPart, reference: string): SchemaPart {
  if (!/^#(\/|$)/.test(reference)) return true;
  const steps = decodeURIComponent(reference).split('/').slice(1);
  return steps.reduce((part, step) => ownMember(part, step.replaceAll('~1', '/').replaceAll('~0', '~')) ?? true, root);
}

function ownMember(part: SchemaPart | undefined, name: string): SchemaPart | undefined {
  return typeof part === 'object' && Object.hasOwn(part, name) ? part[name] : undefined;
}

function sources(
  parts: readonly AnySchemaObject[],
  valuesOf: ValueSource,
  spend: (steps: number) => void,
): readonly Iterable<unknown>[] {
  const fixed = parts.find((part) => part.const !== undefined || part.enum !== undefined);
  if (fixed) return [fixed.const === undefined ? fixed.enum : [fixed.const]];
  const isObject = parts.some((part) => part.properties ?? part.required);
  const types: readonly string[] = parts.find((part) => part.type !== undefined)?.type ?? [
    ...(isObject ? ['object'] : []),
    ...ALL_TYPES,
  ];
  const isInteger = parts.some(({ type }) => type !== undefined && [type].flat().includes('integer'));
  return [types].flat().map((type) => {
    if (type === 'object') return sampleObjects(parts, valuesOf);
    if (type === 'array') return sampleArrays(parts, valuesOf, spend);
    if (type === 'string') return sampleStrings(parts, spend);
    if (type === 'boolean') return [false, true];
    return type === 'null' ? [null] : sampleNumbers(parts, isInteger);
  });
}

function* sampleObjects(parts: readonly AnySchemaObject[], valuesOf: ValueSource): Generator<unknown> {
  const members = new Map<string, unknown>();
  const sourceOf = (name: string): Iterable<unknown> =>
    valuesOf(
      parts.flatMap((part) => ownMember(part.properties, name) ?? (part.additionalProperties || undefined) ?? []),
    );
  const add = (name: string): boolean => {
    for (const value of sourceOf(name)) {
      members.set(name, value);
      return true;
    }
    return false;
  };
  const required = new Set<string>(parts.flatMap((part) => part.required ?? []));
  for (const name of required) {
    // A set that grows while it is walked includes the new names.
    for (const { dependentRequired } of parts) for (const other of dependentRequired?.[name] ?? []) required.add(other);
    if (!add(name)) return;
  }
  const spare = spareNames(parts, valuesOf)[Symbol.iterator]();
  const addSpare = (): boolean => {
    for (let next = spare.next(); !next.done; next = spare.next())
      if (!members.has(next.value) && add(next.value)) return true;
    return false;
  };
  const least = highest(parts, 'minProperties');
  while (members.size < least && addSpare());
  yield Object.fromEntries(members);
  for (const [name, first] of [...members]) {
    for (const value of sourceOf(name)) yield Object.fromEntries([...members, [name, value]]);
    members.set(name, first);
  }
  for (let extra = 0; extra < MAX_EXTRA_ITEMS && addSpare(); extra++) yield Object.fromEntries(members);
}

function* spareNames(parts: readonly AnySchemaObject[], valuesOf: ValueSource): Generator<string> {
  for (const { properties } of parts) yield* Object.keys(properties ?? {});
  const rules = parts.flatMap((part) => part.propertyNames ?? []);
  for (const name of valuesOf([{ type: 'string' }, ...rules])) if (typeof name === 'string' && name !== '') yield name;
}

function* sampleArrays(
  parts: readonly AnySchemaObject[],
  valuesOf: ValueSource,
  spend: (steps: number) => void,
): Generator<unknown> {
  const isUnique = parts.some((part) => part.uniqueItems);
  const contained = parts.flatMap((part): SchemaPart[] => {
    if (part.contains === undefined) return [];
    spend(part.minContains ?? 1);
    return Array(part.minContains ?? 1).fill(part.contains);
  });
  const itemSchemas = (at: number, from: number): SchemaPart[] => [
    ...parts.flatMap((part) => part.prefixItems?.[at] ?? part.items ?? []),
    ...contained.slice(at - from, at - from + 1).filter(() => at >= from),
  ];
  const build = (count: number, from: number): unknown[] | undefined => {
    spend(count);
    const items: unknown[] = [];
    const used = new Set<string>();
    while (items.length < count) {
      const at = items.length;
      for (const value of valuesOf(itemSchemas(at, from))) {
        const text = JSON.stringify(value);
        if (isUnique && used.has(text)) continue;
        used.add(text);
        items.push(value);
        break;
      }
      if (items.length === at) return undefined;
    }
    return items;
  };
  const least = Math.ceil(highest(parts, 'minItems'));
  const prefix = Math.max(0, ...parts.map((part) => part.prefixItems?.length ?? 0));
  for (const from of contained.length > 0 ? [0, prefix] : [0]) {
    const items = build(Math.max(least, contained.length && from + contained.length), from);
    if (!items) continue;
    yield items;
    for (const [at] of items.entries())
      for (const other of valuesOf(itemSchemas(at, from))) yield items.with(at, other);
  }
  for (let extra = 1; extra <= MAX_EXTRA_ITEMS; extra++) yield* [build(least + extra, 0) ?? []];
}

function highest(parts: readonly AnySchemaObject[], keyword: string): number {
  return Math.max(0, ...parts.map((part) => part[keyword] ?? 0));
}
