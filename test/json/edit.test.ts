import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applySplices,
  JsonPathError,
  type NewMember,
  splicesToSetMembers,
  splicesToSetPath,
} from '../../src/json/edit.ts';
import { formatJsonPath, parseJsonPath, rootOf } from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';

function withMembers(text: string, ...entries: NewMember[]): string {
  const doc = parseJson(text);
  return applySplices(doc.bytes, splicesToSetMembers(rootOf(doc), entries)).toString();
}

function withPath(text: string, path: string, value: string): string {
  const doc = parseJson(text);
  return applySplices(doc.bytes, splicesToSetPath(rootOf(doc), parseJsonPath(path) ?? [], value)).toString();
}

describe('setMembers', () => {
  it.each([
    ['{}', 'b', '{"b":9}'],
    ['{ }', 'b', '{"b":9 }'],
    ['{"a":1}', 'b', '{"a":1,"b":9}'],
    ['{\n  "a": 1.0\n}\n', 'b', '{\n  "a": 1.0,"b":9\n}\n'],
    ['{"a" : 1 , "c":2}', 'a', '{"a" : 9 , "c":2}'],
    ['{"a":1, "x":0, "a":2, "a":3}', 'a', '{"x":0, "a":9}'],
    ['{"\\u0061":1}', 'a', '{"\\u0061":9}'],
    ['{"a":{"a":1}}', 'a', '{"a":9}'],
  ])('%s with %s', (text, key, wanted) => {
    expect(withMembers(text, { key, text: '9' })).toBe(wanted);
  });

  it('keeps the order in which new fields are given', () => {
    expect(withMembers('{"b":1}', { key: 'c', text: '2' }, { key: 'b', text: '3' }, { key: 'a', text: '4' })).toBe(
      '{"b":3,"c":2,"a":4}',
    );
  });

  it('takes bytes as well as text', () => {
    const bytes = Buffer.from('[1.0]');
    expect(
      withMembers('{"a":1,"b":2}', { key: 'c', text: bytes }, { key: 'a', text: bytes }, { key: 'd', text: '' }),
    ).toBe('{"a":[1.0],"b":2,"c":[1.0],"d":}');
  });

  it('changes no byte outside of the fields it names', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (object, key) => {
        const text = JSON.stringify(object, null, 3);
        const changed = withMembers(text, { key, text: '"new"' });
        const wanted = Object.hasOwn(object, key)
          ? { ...object, [key]: 'new' }
          : Object.fromEntries([...Object.entries(object), [key, 'new']]);
        expect(JSON.parse(changed)).toEqual(JSON.parse(JSON.stringify(wanted)));
        if (!Object.hasOwn(object, key))
          expect(changed.replace(/,?"(?:[^"\\]|\\.)*":"new"/, '')).toContain(text.slice(1, -2).trim().slice(0, 20));
      }),
    );
  });
});

describe('setPath', () => {
  it.each([
    ['{"a":{"b":1}}', 'a.b', '{"a":{"b":9}}'],
    ['{}', 'a.b.c', '{"a":{"b":{"c":9}}}'],
    ['{"a":[1,2]}', 'a[1]', '{"a":[1,9]}'],
    ['{"a":[1,2]}', 'a[2]', '{"a":[1,2,9]}'],
    ['{"a":[]}', 'a[]', '{"a":[9]}'],
    ['{"a":[1]}', 'a[].x', '{"a":[1,{"x":9}]}'],
    ['{}', 'a[0].x', '{"a":[{"x":9}]}'],
    ['{"a.b":1}', 'a\\.b', '{"a.b":9}'],
    ['{"a":{"b":1},"a":{"b":2}}', 'a.b', '{"a":{"b":1},"a":{"b":9}}'],
  ])('%s at %s', (text, path, wanted) => {
    expect(withPath(text, path, '9')).toBe(wanted);
  });

  it.each([
    ['{"a":1}', 'a.b', /a number has no field "b"/],
    ['{"a":null}', 'a.b', /null has no field/],
    ['{"a":{}}', 'a[0]', /an object has no element/],
    ['{"a":[1]}', 'a[3]', /1 element;/],
    ['{}', 'a[2]', /no array yet/],
  ])('%s at %s does not fit the document', (text, path, message) => {
    expect(() => withPath(text, path, '9')).toThrow(JsonPathError);
    expect(() => withPath(text, path, '9')).toThrow(message);
  });
});

describe('parsePath and formatPath', () => {
  it('are the inverse of each other', () => {
    const step = fc.oneof(fc.string({ minLength: 1 }), fc.nat(9999));
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.array(step), (first, rest) => {
        expect(parseJsonPath(formatJsonPath([first, ...rest]))).toEqual([first, ...rest]);
      }),
    );
  });

  it.each(['', '.a', 'a.', 'a..b', 'a[', 'a[x]', '[0]', 'a]', 'a[-1]'])('%j is not a path', (text) => {
    expect(parseJsonPath(text)).toBeUndefined();
  });
});
