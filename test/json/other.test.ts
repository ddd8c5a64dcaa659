import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src/json/document.ts';
import { duplicateKeys } from '../../src/json/duplicates.ts';
import { indentJson } from '../../src/json/layout.ts';
import { formatPath } from '../../src/json/path.ts';
import { positionOf } from '../../src/json/position.ts';
import { RawJson, writeJson } from '../../src/json/write.ts';

describe('duplicateKeys', () => {
  it('finds them at every depth, each once, by what the key means', () => {
    const text = '{"a":1,"a":2,"a":3,"l":[{},{"x":{"y":1,"\\u0079":2}}],"b":{"a":1}}';
    expect(duplicateKeys(parseJson(text)).map(formatPath)).toEqual(['a', 'l[1].x.y']);
  });
});

describe('positionOf', () => {
  it('counts lines and characters, not bytes', () => {
    const bytes = Buffer.from('{\n  "é😀": 1\n}');
    expect(positionOf(bytes, bytes.indexOf('1'))).toEqual({ line: 2, column: 9 });
    expect(positionOf(bytes, 0)).toEqual({ line: 1, column: 1 });
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
    expect(indentJson(parseJson(text)).length).toBeLessThan(20_000 * 2 * 210);
  });
});
