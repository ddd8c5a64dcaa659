import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filesContent, type TrajectoryContent } from '../../../src/train/stream/groups.ts';
import type { TextSource } from '../../../src/train/stream/source.ts';

// A file in memory that is read in chunks of this length; like a real one, it reuses the memory of its chunks.
function sourceOf(text: string, chunkBytes: number): TextSource & { readonly ranges: [number, number][] } {
  const bytes = Buffer.from(text);
  const ranges: [number, number][] = [];
  const read = async function* (start: number, end: number): AsyncGenerator<Uint8Array> {
    const buffer = Buffer.alloc(chunkBytes);
    for (let at = start; at < end; at += chunkBytes) {
      const length = bytes.copy(buffer, 0, at, Math.min(at + chunkBytes, end));
      yield buffer.subarray(0, length);
    }
  };
  return {
    label: 'file',
    size: bytes.length,
    ranges,
    readFirst: () => read(0, bytes.length),
    readAgain: (start = 0, end = bytes.length) => {
      ranges.push([start, end]);
      return read(start, end);
    },
    verifyUnchanged: async () => {},
    close: async () => {},
  };
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(Buffer.from(chunk));
  return Buffer.concat(parts).toString();
}

const readTwice = async ({ readFirst, rereadArray }: TrajectoryContent): Promise<[string, string]> => [
  await textOf(readFirst()),
  await textOf(rereadArray(0)),
];

const elementSeparators = [',', ', ', ',\n', ',\r\n  ', ' ,\n\n'];
const valueSeparators = ['\n', '\r\n', '\n\n', ' ', '', '\t\n', '\n '];
const group = fc.record({ a: fc.string(), trajectories: fc.array(fc.record({ reward: fc.integer() })) });
const text = fc
  .record({
    groups: fc.array(fc.tuple(group, fc.constantFrom(undefined, undefined, 1)), { maxLength: 6 }),
    separators: fc.array(fc.nat(34), { minLength: 6, maxLength: 6 }),
    isArray: fc.boolean(),
    start: fc.constantFrom('', '\ufeff', '\n'),
  })
  .map(({ groups, separators, isArray, start }) => {
    const values = groups.map(([value, indent]) => JSON.stringify(value, null, indent));
    const choices = isArray ? elementSeparators : valueSeparators;
    const joined = values
      .map((value, at) => (at ? choices[(separators[at] ?? 0) % choices.length] : '') + value)
      .join('');
    return { text: start + (isArray ? `[${joined}\n]` : joined), values };
  });

describe('the groups of files', () => {
  it('are the same bytes when their ranges are read again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 3 }), fc.integer({ min: 1, max: 40 }), async (files, chunkBytes) => {
        const content = filesContent(
          files.map((file) => sourceOf(file.text, chunkBytes)),
          undefined,
        );
        const wanted = files.flatMap(({ values }) => values).join(',');
        expect(await readTwice(content)).toEqual([wanted, wanted]);
        expect(content.checks.structureErrors()).toEqual([]);
      }),
    );
  });

  it('are single trajectories that are grouped, whatever separates them', async () => {
    const trajectory = fc.record({ task: fc.constantFrom('a', 'b', 'c'), note: fc.string() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(trajectory, fc.constantFrom(undefined, 1), fc.constantFrom(...valueSeparators))),
        fc.integer({ min: 1, max: 40 }),
        async (items, chunkBytes) => {
          const texts = items.map(([value, indent]) => JSON.stringify(value, null, indent));
          const file = items.map(([, , separator], at) => `${texts[at]}${separator}`).join('');
          const tasks = [...new Set(items.map(([{ task }]) => task))];
          const groups = tasks.map((task) => texts.filter((_, at) => items[at]?.[0].task === task));
          const wanted = groups.map((members) => `{"trajectories":[${members.join(',')}]}`).join(',');
          const content = filesContent([sourceOf(file, chunkBytes)], ['task']);
          expect(await readTwice(content)).toEqual(['', wanted]);
        },
      ),
    );
  });

  it('are read again in one range for each run of lines', async () => {
    const line = (task: string): string => `{"task":"${task}"}\n`;
    const source = sourceOf(line('a').repeat(1000) + line('b').repeat(1000) + line('a').repeat(1000), 100);
    await readTwice(filesContent([source], ['task']));
    const bytes = line('a').length;
    expect(source.ranges).toEqual([
      [0, 1000 * bytes - 1],
      [2000 * bytes, 3000 * bytes - 1],
      [1000 * bytes, 2000 * bytes - 1],
    ]);
  });
});
