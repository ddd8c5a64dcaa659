import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createNodeFinder,
  duplicateKeys,
  formatJsonPath,
  getMember,
  type JsonPath,
  membersOf,
  nodeAtPath,
  rawText,
  rootOf,
} from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { createPositionLookup, positionAfter, positionAt } from '../../src/json/utf8.ts';
import { indentJson, RawJson, writeJson } from '../../src/json/write-json.ts';
import { anyText } from './random-json.ts';

describe('duplicateKeys', () => {
  // Many keys of the same length and with the same letters at both ends and in the middle, in several spellings.
  const key = fc.constantFrom(
    '""',
    '"abcba"',
    '"aBcBa"',
    '"\\u0061bcba"',
    '"é"',
    '"\\u00e9"',
    '"a"',
    '"x-c-y"',
    '"x=c=y"',
  );
  const object = fc
    .array(fc.tuple(key, fc.constantFrom('1', '{"a":{},"a":2}', '[{"é":1},{"é":1,"é":2}]')), { maxLength: 8 })
    .map((members) => `{${members.map(([name, value]) => `${name}:${value}`).join()}}`);

  it('and getMember agree with a walk over all fields', () => {
    fc.assert(
      fc.property(fc.array(object, { maxLength: 4 }), (objects) => {
        const root = rootOf(parseJson(`[${objects.join()}]`));
        const duplicates = Array.from(duplicateKeys(root.doc), ({ value }) => value.at);
        const expected: number[] = [];
        for (let at = 0; at * 3 < root.doc.tape.length; at += 1) {
          const members = Array.from(membersOf({ doc: root.doc, at }));
          const last = new Map(members.map(({ key: name, value }) => [name, value.at]));
          for (const [name, value] of last) {
            expect(getMember({ doc: root.doc, at }, name)?.at).toBe(value);
            if (members.filter((member) => member.key === name).length > 1) expected.push(value);
          }
        }
        expect(duplicates.toSorted()).toEqual(expected.toSorted());
      }),
      { numRuns: 200 },
    );
  });

  it('reads each key as JSON.parse does, whatever keys were read before', () => {
    const keys = [
      'axcxb',
      'aycyb',
      'a\\u0078cxb',
      'a\\"cxb',
      'axcx\\u0062',
      'é',
      '\\u00e9',
      '',
      'x'.repeat(65),
      'x'.repeat(64),
    ];
    const written = [...keys, ...keys.toReversed(), ...keys].map((key) => `"${key}"`);
    const read = written.flatMap((key) =>
      Array.from(membersOf(rootOf(parseJson(`{${key}:0}`))), (member) => member.key),
    );
    expect(read).toEqual(written.map((key) => JSON.parse(key)));
  });

  it('finds them at every depth, each once, by what the key means', () => {
    const text = '{"a":1,"a":2,"a":3,"l":[{},{"x":{"y":1,"\\u0079":2}}],"b":{"a":1}}';
    const found = Array.from(duplicateKeys(parseJson(text)));
    expect(found.map(({ path, value }) => [formatJsonPath(path()), rawText(value)])).toEqual([
      ['a', '3'],
      ['l[1].x.y', '2'],
    ]);
  });

  it('compares keys of the same length and ends by all of their bytes, and long or escaped ones as strings', () => {
    const long = 'x'.repeat(5000);
    const many = Array.from({ length: 40 }, (_, at) => `"k${at}":0`).join(',');
    const text = `[{"axxb":1,"ayxb":2},{"axxb":1,"axxb":2},{"${long}":1,"${long}y":2},{"${long}":1,"${long}":2},{"n\\n":1,"n":2},{${many}},{${many},"k0":1}]`;
    const found = Array.from(duplicateKeys(parseJson(text)), ({ path }) => formatJsonPath(path()));
    expect(found).toEqual(['[1].axxb', `[3].${long}`, '[6].k0']);
  });

  it('reads a document once, however deep it is', () => {
    const depth = 200_000;
    const found = Array.from(duplicateKeys(parseJson('{"a":0,"a":'.repeat(depth) + 1 + '}'.repeat(depth))));
    expect(found.length).toBe(depth);
    expect(found.at(-1)?.path()).toHaveLength(depth);
  });
});

describe('finderIn', () => {
  it('finds what nodeAt finds, in any order of lookups, and reports how far a path exists', () => {
    const text = '{"a":1,"l":[0,{"x":[2,3]},{"x":null}],"a":{"b":4,"c":{}},"__proto__":5}';
    const root = rootOf(parseJson(text));
    const find = createNodeFinder(root.doc);
    const paths: JsonPath[] = [
      ['l', 1, 'x', 1],
      ['a'],
      ['l', 1, 'x', 0],
      ['a', 'b'],
      ['l', 2],
      ['__proto__'],
      [],
      ['l', 1],
    ];
    for (const path of [...paths, ...paths.toReversed()]) {
      expect(find(path).length).toBe(path.length + 1);
      expect(find(path).at(-1)).toEqual(nodeAtPath(root, path));
    }
    const [, list = root] = find(['l']);
    expect(find([2, 'x'], list).map(rawText)).toEqual([rawText(list), '{"x":null}', 'null']);
    for (const path of [
      ['l', 9, 'x'],
      ['l', 'x'],
      ['l', 1.5],
      ['l', 'length'],
    ])
      expect(find(path).map(rawText)).toEqual([text, rawText(list)]);
    expect(find(['constructor']).map(rawText)).toEqual([text]);
  });
});

describe('positionOf', () => {
  it('counts lines and characters, not bytes', () => {
    const bytes = Buffer.from('{\n  "é😀": 1\n}');
    expect(positionAt(bytes, bytes.indexOf('1'))).toEqual({ line: 2, column: 9 });
    expect(positionAt(bytes, 0)).toEqual({ line: 1, column: 1 });
    const position = createPositionLookup(bytes);
    for (const offset of [3, 5, bytes.length, bytes.length, 1, 0, 14]) {
      expect(position(offset)).toEqual(positionAt(bytes, offset));
    }
  });
});

describe('positionAfter', () => {
  it('counts the characters of the last line, wherever the text starts in memory', () => {
    fc.assert(
      fc.property(anyText(12), fc.nat(7), (text, start) => {
        const bytes = Buffer.concat([Buffer.alloc(start), Buffer.from(text)]).subarray(start);
        const column = Array.from(text.slice(text.lastIndexOf('\n') + 1)).length + (text.includes('\n') ? 1 : 5);
        expect(positionAfter(bytes, { line: 1, column: 5 }).column).toBe(column);
      }),
      { numRuns: 2000 },
    );
  });
  it('counts line feeds among bytes that differ in one bit', () => {
    const near = [0x0a, 0x0b, 0x08, 0x0e, 0x02, 0x1a, 0x2a, 0x4a, 0x8a, 0x00, 0x09, 0xff, 0x80, 0x0d];
    let checked = 0;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...near), { maxLength: 40 }), fc.nat(3), (values, skipped) => {
        const bytes = Buffer.from(values).subarray(skipped);
        const lines = bytes.filter((byte) => byte === 0x0a).length;
        expect(positionAfter(bytes, { line: 3, column: 1 }).line).toBe(3 + lines);
        checked += 1;
      }),
      { numRuns: 2000 },
    );
    expect(checked).toBe(2000);
  });
});

describe('writeJson', () => {
  it('writes integers of any size and text that is JSON already', () => {
    expect(writeJson({ n: 2n ** 70n, raw: new RawJson('1.0e5'), none: undefined, list: [null, true, 'ü\n'] })).toBe(
      '{"n":1180591620717411303424,"raw":1.0e5,"list":[null,true,"ü\\n"]}',
    );
  });
});

describe('indentJson', () => {
  it('does not grow without end on a document that is very deep', () => {
    const text = '['.repeat(20_000) + ']'.repeat(20_000);
    expect(indentJson(rootOf(parseJson(text))).length).toBeLessThan(20_000 * 2 * 210);
  });
});
