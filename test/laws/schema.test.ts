import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fields, Shape } from '../../src/fields/field.ts';
import { formats } from '../../src/fields/formats.ts';
import { objectSchema } from '../../src/fields/json-schema.ts';
import { judgeOf } from '../../src/fields/judge.ts';
import { parseJson } from '../../src/json/document.ts';
import { rootOf } from '../../src/json/node.ts';
import { type Json, writeJson } from '../../src/json/write.ts';
import { operations } from '../../src/operations/index.ts';
import { fullBody, sampleBodies } from '../support/bodies.ts';

const cases = operations.map((operation) => {
  const schema: unknown = JSON.parse(writeJson(objectSchema(operation.body)));
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, validateFormats: false });
  const bySchema = ajv.compile(typeof schema === 'object' && schema !== null ? schema : {});
  const judge = judgeOf(operation.body);
  const byJudge = (text: string): boolean => judge(rootOf(parseJson(text))).every(({ level }) => level !== 'error');
  return {
    operation,
    name: operation.command.join(' '),
    bySchema: (text: string) => bySchema(JSON.parse(text)),
    byJudge,
  };
});

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

// Mostly what the shape asks for, sometimes anything: a body has many members, and one bad one is enough.
function generated(shape: Shape): fc.Arbitrary<Json> {
  const right = rightValue(shape);
  const nothing: fc.Arbitrary<Json> = fc.constant(null);
  const weird: fc.Arbitrary<Json> = fc.oneof(
    nothing,
    fc.constantFrom<Json>(true, 'x', 1.5, 7, -3, '', [], {}, [null], { a: 1 }),
  );
  return fc.oneof({ arbitrary: right, weight: 60 }, { arbitrary: weird, weight: 1 });
}

function rightValue(shape: Shape): fc.Arbitrary<Json> {
  switch (shape.type) {
    case 'string':
      if (shape.oneOf) return fc.constantFrom(...shape.oneOf);
      return shape.format ? fc.constant(formats[shape.format].sample) : fc.string();
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true, min: -3, max: 3 });
    case 'integer':
      return fc.integer({ min: shape.min === 1 ? 1 : -1, max: shape.max === 5000 ? 5001 : 2 ** 31 - 1 });
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
      return fc.constantFrom<Json>('x', null, [1]);
  }
}

function objectOf(fields: Fields): fc.Arbitrary<Json> {
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
