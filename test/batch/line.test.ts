import { describe, expect, it } from 'vitest';
import { isEmptyLine, isInShard } from '../../src/batch/read/batch-input.ts';
import { parseShard } from '../../src/batch/read/shard.ts';
import { formatLineRanges, type InputLine, splitLines } from '../../src/files/split-lines.ts';

async function linesIn(pieces: readonly string[], most = 1000): Promise<InputLine[]> {
  const given = async function* (): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield Buffer.from(piece);
  };
  const lines: InputLine[] = [];
  for await (const line of splitLines(given(), most)) lines.push(line);
  return lines;
}

describe('lines', () => {
  const text = '{"a":1}\n\n  \r\n{"long":"….…"}\r\n{"last":true}';

  it('are the same for any split of the text', async () => {
    const whole = await linesIn([text]);
    for (let at = 0; at <= text.length; at += 1) {
      for (const next of [at, Math.min(at + 3, text.length)]) {
        const pieces = [text.slice(0, at), text.slice(at, next), text.slice(next)];
        expect(await linesIn(pieces)).toEqual(whole);
      }
    }
  });

  it('have their offset, their length, and whether they have a line feed', async () => {
    const lines = await linesIn([text]);
    expect(lines.map(({ bytes }) => bytes?.toString())).toEqual([
      '{"a":1}',
      '',
      '  \r',
      '{"long":"….…"}\r',
      '{"last":true}',
    ]);
    expect(lines.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
    expect(lines.map(isEmptyLine)).toEqual([false, true, true, false, false]);
    expect(lines.map(({ isTorn }) => isTorn)).toEqual([false, false, false, false, true]);
    const all = Buffer.from(text);
    for (const { offset, length, bytes } of lines)
      expect(all.subarray(offset, offset + (bytes?.length ?? 0)).equals(bytes ?? all) && length > 0).toBe(true);
    expect(lines.reduce((sum, { length }) => sum + length, 0)).toBe(all.length);
  });

  it('that are too long are counted, not kept', async () => {
    const long = 'x'.repeat(5000);
    const lines = await linesIn([`a\n${long.slice(0, 10)}`, long.slice(10), '\nb\n'], 100);
    expect(lines.map(({ number, bytes, length }) => [number, bytes?.toString(), length])).toEqual([
      [1, 'a', 2],
      [2, undefined, 5001],
      [3, 'b', 2],
    ]);
  });
});

describe('shards', () => {
  it('together contain every line once', () => {
    const shards = [1, 2, 3].map((index) => parseShard(`${index}/3`, '--shard', {}));
    for (let line = 1; line <= 20; line += 1)
      expect(
        shards.filter((shard) => isInShard(line, shard)),
        String(line),
      ).toHaveLength(1);
    expect([1, 2, 3, 12, 13, 23].filter((line) => isInShard(line, parseShard('3/10', '--shard', {})))).toEqual([
      3, 13, 23,
    ]);
    expect(isInShard(7, parseShard(undefined, '--shard', {}))).toBe(true);
  });

  it.each(['0/3', '4/3', '3', '1/0', 'a/b', '1/3/5', '-1/3'])('%s is not a shard', (text) => {
    expect(() => parseShard(text, '--shard', {})).toThrow('--shard cannot be');
  });
});

it('line numbers are printed as ranges, limited to the first ones', () => {
  expect(formatLineRanges([3, 7, 8, 9, 12])).toBe('3, 7-9, 12');
  expect(formatLineRanges([])).toBe('');
  expect(formatLineRanges(Array.from({ length: 100 }, (_, at) => at * 2))).toMatch(/^0, 2, .*38 and 80 more ranges$/);
  expect(formatLineRanges(Array.from({ length: 21 }, (_, at) => at * 2))).toMatch(/38 and 1 more range$/);
});
