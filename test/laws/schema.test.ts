import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fields, Shape } from '../../src/fields/field.ts';
import { objectSchema } from '../../src/fields/json-schema.ts';
import { createBodyValidator } from '../../src/fields/schema-validator.ts';
import { type StringFormat, stringFormats } from '../../src/fields/string-formats.ts';
import { rootOf } from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { type JsonValue, writeJson } from '../../src/json/write-json.ts';
import { allOperations } from '../../src/operations/all-operations.ts';
import { fullBody, sampleBodies } from '../support/bodies.ts';

const cases = allOperations.map((operation) => ({
  operation,
  name: operation.command.join(' '),
  ...verdictsOf(operation.body),
}));

const bounded = allOperations.flatMap(({ command, body }) => boundedIn(body, command.join(' ')));

describe('JSON Schema and the validator give the same verdicts', () => {
  it.each(cases)('on samples of $name', ({ operation, bySchema, byJudge }) => {
    for (const { name, body } of [...sampleBodies(operation), { name: 'full', body: fullBody(operation) }]) {
      expect([name, byJudge(writeJson(body))]).toEqual([name, true]);
      expect([name, bySchema(writeJson(body))]).toEqual([name, true]);
    }
  });

  it.each(cases)('on generated bodies of $name, good and bad', ({ operation, bySchema, byJudge }) => {
    let good = 0;
    let bad = 0;
    fc.assert(
      fc.property(objectOf(operation.body), (body) => {
        const text = writeJson(body);
        const verdict = byJudge(text);
        if (verdict) good += 1;
        else bad += 1;
        expect({ text, verdict: bySchema(text) }).toEqual({ text, verdict });
      }),
      { numRuns: 1500, seed: 1 },
    );
    // The generator must try both, or the law says nothing.
    expect(Math.min(good, bad)).toBeGreaterThan(50);
  });
});

describe('also for values that are only just valid or invalid', () => {
  it.each(Object.keys(stringFormats).filter(isFormat))('%s: the sample with a character changed', (format) => {
    const { bySchema, byJudge } = verdictsOf({ x: { type: 'string', format, summary: '' } });
    const verdicts = changesOf(stringFormats[format].sample).map((changed) => {
      const text = writeJson({ x: changed });
      expect({ text, verdict: bySchema(text) }).toEqual({ text, verdict: byJudge(text) });
      return byJudge(text);
    });
    expect(verdicts).toContain(true);
    // A name may be any text, so nothing is wrong that is short.
    if (!['op-name', 'display-name'].includes(format)) expect(verdicts).toContain(false);
  });

  it('these numbers have bounds that a double can represent', () => {
    expect(bounded.map(({ name }) => name)).toEqual(['feedback schema sample_limit', 'chat truncate_prompt_tokens']);
  });

  it.each(bounded)('$name: the bounds, and their neighbors', ({ shape }) => {
    const { bySchema, byJudge } = verdictsOf({ x: { ...shape, summary: '' } });
    const verdicts = besideBounds(shape).map((value) => {
      const text = writeJson({ x: value });
      expect({ text, verdict: bySchema(text) }).toEqual({ text, verdict: byJudge(text) });
      return byJudge(text);
    });
    expect(verdicts).toContain(true);
    expect(verdicts).toContain(false);
  });
});

interface Verdicts {
  readonly bySchema: (text: string) => boolean;
  readonly byJudge: (text: string) => boolean;
}

function verdictsOf(fields: Fields): Verdicts {
  const schema: unknown = JSON.parse(writeJson(objectSchema(fields)));
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, validateFormats: false });
  const bySchema = ajv.compile(typeof schema === 'object' && schema !== null ? schema : {});
  const judge = createBodyValidator({ body: withNullWarnings(fields) });
  return {
    bySchema: (text) => bySchema(JSON.parse(text)),
    // The schema is the interface alone, without the forms that servers tolerate.
    byJudge: (text) =>
      judge(rootOf(parseJson(text))).every(
        ({ level, code }) => level !== 'error' && code !== 'tolerated' && code !== 'null',
      ),
  };
}

// Objects in which null causes no warning, as if it did.
function withNullWarnings(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, nullWarning(field)]));
}

function nullWarning<T extends Shape>(shape: T): T {
  if (shape.type === 'list') return { ...shape, of: nullWarning(shape.of) };
  if (shape.type !== 'object' || !shape.fields) return shape;
  return { ...shape, takesNull: undefined, fields: withNullWarnings(shape.fields) };
}

function isFormat(name: string): name is StringFormat {
  return Object.hasOwn(stringFormats, name);
}

// Every character left out, replaced, or with another before it.
function changesOf(sample: string): string[] {
  const others = [...'0159azAZ-+:./_ T\né😀\u0000', ''];
  const changed = [...sample, ''].flatMap((_, at) =>
    others.flatMap((other) => [
      sample.slice(0, at) + other + sample.slice(at),
      sample.slice(0, at) + other + sample.slice(at + 1),
    ]),
  );
  return [...new Set([...changed, '', sample.repeat(2), 'x'.repeat(128), 'x'.repeat(129)])];
}

type Numeric = Extract<Shape, { readonly type: 'number' | 'integer' }>;

// Of the bounds that a double holds exactly: libraries for schemas read numbers as doubles.
function besideBounds({ min, max }: Numeric): number[] {
  return [min, max]
    .flatMap((bound) => (bound === undefined ? [] : [-1, -0.5, 0, 0.5, 1].map((off) => Number(bound) + off)))
    .filter((value) => Math.abs(value) <= Number.MAX_SAFE_INTEGER);
}

function boundedIn(fields: Fields, outer: string): { name: string; shape: Numeric }[] {
  return Object.entries(fields).flatMap(([name, field]) => boundedShapes(field, `${outer} ${name}`));
}

function boundedShapes(shape: Shape, name: string): { name: string; shape: Numeric }[] {
  switch (shape.type) {
    case 'number':
    case 'integer':
      return besideBounds(shape).length > 0 ? [{ name, shape }] : [];
    case 'list':
      return boundedShapes(shape.of, name);
    case 'either':
      return shape.of.flatMap((one) => boundedShapes(one, name));
    case 'object':
      return boundedIn(shape.fields ?? {}, name);
    default:
      return [];
  }
}

// Mostly what the shape asks for, sometimes anything: a body has many members, and one bad one is enough.
function generated(shape: Shape): fc.Arbitrary<JsonValue> {
  const right = rightValue(shape);
  const nothing: fc.Arbitrary<JsonValue> = fc.constant(null);
  const weird: fc.Arbitrary<JsonValue> = fc.oneof(
    nothing,
    fc.constantFrom<JsonValue>(true, 'x', 1.5, 7, -3, '', [], {}, [null], { a: 1 }),
  );
  return fc.oneof({ arbitrary: right, weight: 60 }, { arbitrary: weird, weight: 1 });
}

function rightValue(shape: Shape): fc.Arbitrary<JsonValue> {
  switch (shape.type) {
    case 'string':
      if (shape.oneOf) return fc.constantFrom(...shape.oneOf);
      return shape.format
        ? nearly(stringFormats[shape.format].sample, changesOf(stringFormats[shape.format].sample))
        : fc.string();
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true, min: -3, max: 3 });
    case 'integer': {
      const [least = -1, most = 2 ** 31 - 1] = [shape.min, shape.max].map((bound) =>
        bound === undefined ? undefined : Math.max(-(2 ** 53) + 1, Math.min(2 ** 53 - 1, Number(bound))),
      );
      return fc.integer({ min: least, max: most }).chain((right) => nearly(right, [...besideBounds(shape), right]));
    }
    case 'boolean':
      return fc.boolean();
    case 'list':
      return fc.array(generated(shape.of), { maxLength: 3 });
    case 'object':
      if (shape.fields) return objectOf(shape.fields);
      return shape.values ? fc.dictionary(fc.string(), generated(shape.values), { maxKeys: 3 }) : fc.constant({ a: 1 });
    case 'either':
      return fc.oneof(...shape.of.map(generated));
    case 'json':
      return fc.constantFrom<JsonValue>('x', null, [1]);
  }
}

function nearly(right: JsonValue, others: readonly JsonValue[]): fc.Arbitrary<JsonValue> {
  return fc.oneof({ arbitrary: fc.constant(right), weight: 30 }, { arbitrary: fc.constantFrom(...others), weight: 1 });
}

function objectOf(fields: Fields): fc.Arbitrary<JsonValue> {
  const names = Object.keys(fields);
  const required = names.filter((name) => fields[name]?.required);
  const record = fc.record(
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, generated(field)])),
    {
      requiredKeys: required,
    },
  );
  const dropped = fc
    .tuple(record, fc.constantFrom<string>(...names))
    .map(([body, name]) => Object.fromEntries(Object.entries(body).filter(([key]) => key !== name)));
  return fc.oneof({ arbitrary: record, weight: 30 }, { arbitrary: dropped, weight: 1 });
}
