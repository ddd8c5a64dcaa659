import { deepStrictEqual } from 'node:assert';
import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFastParser } from '../../src/json/fast-parser.ts';
import { JsonError } from '../../src/json/json-error.ts';
import { duplicateKeys, type JsonDocument, rootOf, startOffset } from '../../src/json/json-node.ts';
import { indexValue, parseJson, skipWhitespace, tryParseJson } from '../../src/json/parse-json.ts';
import { figure } from '../support/figure.ts';
import { blank, object, value } from './random-json.ts';
import { accepted, acceptedBytes, refused, refusedBytes } from './vectors.ts';

const parse = createFastParser(new URL('../../dist/fast-parser.wasm', import.meta.url));
if (!parse) throw new Error('no fast parser: run npm run build');

// The text around a value must not matter.
const BEFORE = '{"trajectories":[';

function parseInside(text: Buffer, after: string): JsonDocument | undefined {
  const whole = Buffer.concat([Buffer.from(BEFORE), text, Buffer.from(after)]);
  return parse?.(whole, BEFORE.length + skipWhitespace(text, 0));
}

// Expects the same document of both parsers, or no value that is as long as a text which the other one rejects.
function expectAgreement(text: Buffer, after: string): boolean {
  const fast = parseInside(text, after);
  const root = tryParseJson(text);
  if (fast) {
    const again = parseJson(Buffer.from(fast.bytes));
    // This assertion compares the memory of arrays: millions of numbers take milliseconds.
    deepStrictEqual(fast.tape, again.tape);
    if (fast.hasDistinctKeys) expect([...duplicateKeys(again)]).toEqual([]);
  }
  if (root) {
    const start = startOffset(root);
    expect(fast?.bytes.toString()).toBe(text.toString('utf8', start, root.doc.tape[1]));
  } else expect(fast?.bytes.length ?? -1).toBeLessThan(text.length - skipWhitespace(text, 0));
  return root !== undefined;
}

describe('the fast parser', () => {
  // Of a text in which a mark stands for the place of its error, only the bytes count.
  const fromHex = ([, text]: readonly [string, string]): Buffer => Buffer.from(text.replace(/[‸ ]/g, ''), 'hex');
  const fromText = ([, text]: readonly [string, string]): Buffer => Buffer.from(text.replace('‸', ''));

  it('agrees with parseJson on all vectors', () => {
    const vectors = [...[...accepted, ...refused].map(fromText), ...[...acceptedBytes, ...refusedBytes].map(fromHex)];
    let count = 0;
    for (const vector of vectors) {
      // The other one drops a byte order mark and names what has zero bytes.
      if (vector[0] === 0xef || vector.length === 0) continue;
      expectAgreement(vector, '');
      count += 1;
    }
    expect(count).toBeGreaterThan(320);
  });

  it('agrees on random documents, and on those with one byte changed', () => {
    let valid = 0;
    let invalid = 0;
    const change = fc.tuple(
      fc.nat(),
      fc.constantFrom('insert', 'replace', 'remove'),
      fc.constantFrom(...'{}[]",:\\-0.eE+u\n x'),
    );
    fc.assert(
      fc.property(fc.oneof(object, value), blank, change, (inner, space, [place, kind, byte]) => {
        const text = `${inner}${space}`;
        if (expectAgreement(Buffer.from(text), ',1]')) valid += 1;
        const at = place % (text.length + 1);
        const rest = text.slice(kind === 'insert' ? at : at + 1);
        const changed = Buffer.from(`${text.slice(0, at)}${kind === 'remove' ? '' : byte}${rest}`);
        if (changed.length > 0 && !expectAgreement(changed, '')) invalid += 1;
      }),
      { numRuns: 3000 },
    );
    figure(`${valid} valid and ${invalid} invalid documents read alike by both parsers`);
    expect(valid).toBe(3000);
    expect(invalid).toBeGreaterThan(1000);
  });

  it('ends literals and numbers where parseJson does, whatever follows them', () => {
    const endOf = (text: Buffer): number | undefined => {
      try {
        return indexValue(text, 0, 1000).end;
      } catch (error) {
        if (error instanceof JsonError) return undefined;
        throw error;
      }
    };
    const words = ['true', 'false', 'null', '[true]', '{"a":null}', '-1.5e+3', '0', 'tru', 'NaN', 'truefalse'];
    const part = fc.oneof(
      fc.constantFrom(...words, ...'truefalsnTRUE019.-+eE,:]}[{" \n_$@`\u007fé\u0000'),
      fc.string(),
    );
    let rejected = 0;
    fc.assert(
      fc.property(fc.constantFrom(...words), fc.nat(9), fc.nat(2), part, part, (word, at, cut, inserted, after) => {
        const text = Buffer.from(word.slice(0, at) + inserted + word.slice(at + cut) + after);
        const end = endOf(text);
        expect(parse(text, 0)?.bytes.length, text.toString()).toBe(end);
        if (end === undefined) rejected += 1;
      }),
      { numRuns: 20_000, examples: [['true', 4, 0, 'x', '']] },
    );
    figure(
      `20,000 mutations of literals and numbers, ${rejected} of them rejected, with 0 differences of both parsers`,
    );
    expect(rejected).toBeGreaterThan(2_000);
  });

  it('does not accept an incomplete value', () => {
    const text = '{"a":[1,true,"x\\u00e9",{"b":-1.5e3}],"c":null}';
    for (let length = 1; length < text.length; length += 1)
      expect(parseInside(Buffer.from(text.slice(0, length)), ''), text.slice(0, length)).toBeUndefined();
    expect(parseInside(Buffer.from(text), '')?.bytes.toString()).toBe(text);
  });

  it('reads values of any depth and size, one after the other', () => {
    const depth = 1_000_000;
    const texts = [
      '{}',
      '['.repeat(depth) + ']'.repeat(depth),
      `"${'x'.repeat(5_000_000)}"`,
      '[1,2]',
      `[${'0,'.repeat(700_000)}0]`,
    ];
    for (const text of texts) {
      const bytes = Buffer.from(text);
      deepStrictEqual(parseInside(bytes, '')?.tape, parseJson(bytes).tape);
    }
  });

  it.each([
    ['{"a":1,"b":2}', true],
    ['[{"a":1,"b":2},{"a":3,"b":4},{"a":5},{"b":6,"a":7},{"c":{"a":{}},"a":0}]', true],
    ['{"a":1,"a":2}', false],
    ['[{"a":1,"b":2},{"a":1,"b":2,"a":3}]', false],
    ['[{"a":1,"b":2},{"a":1,"c":2,"a":3}]', false],
    ['[{"a":1,"b":2},{"b":1,"b":2}]', false],
    ['{"a":{"b":1,"c":{"d":1,"d":2}},"e":1}', false],
    // Unknown: an escape, and more keys than it compares.
    ['{"\\u0061":1}', false],
    [JSON.stringify(Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`key${at}`, at]))), false],
  ])('knows whether the keys of %s are distinct', (text, isDistinct) => {
    const document = parseInside(Buffer.from(text), '');
    expect(document?.hasDistinctKeys).toBe(isDistinct);
    expect(rootOf(parseJson(text)).doc.hasDistinctKeys).toBeUndefined();
  });

  it('reads several values of several texts in any order', () => {
    const texts = ['[{"a":1},[2],"three"]', '[[[4]],{"b":{}}]'].map((text) => Buffer.from(text));
    const places = [
      [0, 1, '{"a":1}'],
      [0, 9, '[2]'],
      [1, 1, '[[4]]'],
      [0, 13, '"three"'],
      [0, 1, '{"a":1}'],
      [1, 7, '{"b":{}}'],
      [1, 2, '[4]'],
      [1, 0, '[[[4]],{"b":{}}]'],
    ] as const;
    for (const [text, offset, value] of places) {
      const document = parse?.(texts[text] ?? Buffer.alloc(0), offset);
      expect(document?.bytes.toString()).toBe(value);
      deepStrictEqual(document?.tape, parseJson(value).tape);
    }
  });

  it('is undefined if its file is missing', () => {
    expect(createFastParser(new URL('../../dist/none.wasm', import.meta.url))).toBeUndefined();
  });
});
