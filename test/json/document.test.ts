import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonError } from '../../src/json/json-error.ts';
import {
  getMember,
  itemsOf,
  type JsonNode,
  kindOf,
  membersOf,
  rawText,
  rootOf,
  stringOf,
} from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { compactJson, indentJson } from '../../src/json/write-json.ts';
import { anyText } from './random-json.ts';

function plain(node: JsonNode): unknown {
  switch (kindOf(node)) {
    case 'object':
      return Object.fromEntries(Array.from(membersOf(node), ({ key, value }) => [key, plain(value)]));
    case 'list':
      return Array.from(itemsOf(node), plain);
    case 'string':
      return stringOf(node);
    default:
      return JSON.parse(rawText(node));
  }
}

function errorOf(text: string | Uint8Array): JsonError {
  try {
    parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

describe('parseJson', () => {
  it('reads what JSON.parse reads, and keeps the bytes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, 4), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const doc = parseJson(text);
        expect(JSON.stringify(plain(rootOf(doc)))).toBe(JSON.stringify(JSON.parse(text)));
        expect(rawText(rootOf(doc))).toBe(text);
        expect(JSON.parse(compactJson(rootOf(doc)))).toEqual(JSON.parse(text));
        expect(JSON.parse(indentJson(rootOf(doc)))).toEqual(JSON.parse(text));
        expect(indentJson(rootOf(doc))).toBe(JSON.stringify(JSON.parse(text), null, 2));
      }),
      { numRuns: 1000 },
    );
  });

  it('accepts and rejects exactly what JSON.parse does, for any change of a text', () => {
    const broken = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '}', '"', '\\', '0', '-', 'e', '\u0001', ' ', '[', ':'))
      .map(
        ([text, at, inserted]) =>
          text.slice(0, at % (text.length + 1)) + inserted + text.slice((at % (text.length + 1)) + 1),
      );
    fc.assert(
      fc.property(broken, (text) => {
        const accepted = (read: (text: string) => unknown): boolean => {
          try {
            read(text);
            return true;
          } catch {
            return false;
          }
        };
        expect(accepted(parseJson)).toBe(accepted(JSON.parse));
      }),
      { numRuns: 5000 },
    );
  });

  it('keeps every digit, every spelling and every duplicate', () => {
    const text = '{"n": 9007199254740993, "f":1.0,"e":1E400, "a\\u0062":1,"ab":2}';
    const doc = parseJson(text);
    expect(compactJson(rootOf(doc))).toBe('{"n":9007199254740993,"f":1.0,"e":1E400,"a\\u0062":1,"ab":2}');
    expect(rawText(getMember(rootOf(doc), 'ab') ?? rootOf(doc))).toBe('2');
  });

  it('reads a document of any depth', () => {
    const depth = 200_000;
    const text = `${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`;
    expect(compactJson(rootOf(parseJson(text)))).toBe(text);
  });

  it('treats __proto__ as an ordinary name', () => {
    const root = rootOf(parseJson('{"__proto__":{"a":1}}'));
    expect(rawText(getMember(root, '__proto__') ?? root)).toBe('{"a":1}');
  });

  it.each([
    ['{"a":1,}', 6, /comma/],
    ['[1,2', 4, /unexpected end/],
    ['{"a" 1}', 5, /:/],
    ["{'a':1}", 1, /double quotes/],
    ['NaN', 0, /NaN is not a JSON number/],
    ['[Infinity]', 1, /Infinity is not a JSON number/],
    ['[-Infinity]', 1, /-Infinity is not a JSON number/],
    ['01', 0, /leading zero/],
    ['[1.]', 3, /malformed number/],
    ['"\\x"', 1, /escape/],
    ['"\\u12g4"', 1, /hexadecimal/],
    ['"a\nb"', 2, /control character inside a string; it is a line break/],
    ['"a\tb"', 2, /control character inside a string; write it as/],
    ['nul', 3, /unexpected end/],
    ['', 0, /empty/],
    [' \n ', 0, /empty/],
    ['{"a":1}}', 7, /expected the end/],
    ['{"a":1 "b":2}', 7, /"," or "}"/],
  ])('says what is wrong with %s and where', (text, offset, message) => {
    const error = errorOf(text);
    expect(error.message).toMatch(message);
    expect(error.offset).toBe(offset);
  });

  it('rejects bytes that are not UTF-8, with the offset of the first bad one', () => {
    expect(errorOf(Buffer.from([0x22, 0x61, 0xff, 0x22]))).toMatchObject({ message: 'invalid UTF-8', offset: 2 });
    expect(errorOf(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])).offset).toBe(1);
    expect(errorOf(Buffer.from([0x22, 0xc3, 0xa9, 0xf0, 0x9f])).offset).toBe(3);
    expect(errorOf(Buffer.from('{"a":1}', 'utf16le')).message).toMatch(/UTF-16/);
    expect(errorOf(Buffer.from([0xff, 0xfe, 0x7b, 0])).message).toMatch(/UTF-16/);
  });

  it('finds the first bad byte anywhere', () => {
    fc.assert(
      fc.property(
        anyText(),
        fc.constantFrom([0x80], [0xc0, 0xaf], [0xff], [0xe2, 0x82], [0xf8, 0x88, 0x80, 0x80]),
        (text, bad) => {
          const start = Buffer.from(JSON.stringify(text).slice(0, -1));
          expect(errorOf(Buffer.concat([start, Buffer.from(bad), Buffer.from('"')])).offset).toBe(start.length);
        },
      ),
    );
  });

  it('drops a byte order mark and nothing else', () => {
    expect(rawText(rootOf(parseJson(Buffer.from('\ufeff{"a":"\ufeff"}'))))).toBe('{"a":"\ufeff"}');
  });
});
