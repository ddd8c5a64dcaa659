import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type JournalEnd,
  type JournalFile,
  NOT_A_RECORD,
  openJournal,
  parseRecord,
  readJournal,
} from '../../src/files/journal.ts';
import { temporaryDirectory } from '../support/svc.ts';

const newJournal = (): JournalFile => {
  const path = join(temporaryDirectory(), 'j');
  return { path, displayPath: 'j', hint: 'fix that line' };
};

async function recordsOf(
  file: JournalFile,
  start?: JournalEnd,
): Promise<{ end: JournalEnd | undefined; records: string[] }> {
  const records: string[] = [];
  const end = await readJournal(file, (record) => void records.push(record.toString()), start);
  return { end, records };
}

const texts = ['{"a":1}', '{"b":"\\n","c":[1,2]}', '{"d":{"e":"ü"}}'];
const whole = Buffer.from(texts.map((text) => `${text}\n`).join(''));

describe('a journal', () => {
  it('that was cut at any byte has the records before the cut', async () => {
    const file = newJournal();
    const ends = texts.map((_, at) => Buffer.byteLength(`${texts.slice(0, at + 1).join('\n')}\n`));
    for (let length = 0; length <= whole.length; length += 1) {
      writeFileSync(file.path, whole.subarray(0, length));
      const lines = ends.filter((end) => end <= length).length;
      expect(await recordsOf(file)).toEqual({
        end: { bytes: Math.max(0, ...ends.filter((end) => end <= length)), lines },
        records: texts.slice(0, lines),
      });
    }
  });

  it('continues after the records before a cut', async () => {
    const file = newJournal();
    writeFileSync(file.path, whole.subarray(0, -3));
    const { end } = await recordsOf(file);
    const { append, close } = await openJournal(file, end?.bytes ?? 0);
    await append('{"f":1}');
    await close();
    expect(readFileSync(file.path, 'utf8')).toBe(`${texts[0]}\n${texts[1]}\n{"f":1}\n`);
  });

  it.each([
    ['no JSON', 'hello\n', 'it is not a JSON object on one line'],
    ['no object', '7\n', 'it is not a JSON object on one line'],
    ['an empty line', '\n', 'it is not a JSON object on one line'],
    ['two records on one line', '{"a":1}{"b":1}\n', 'it is not a JSON object on one line'],
    ['a record whose line feed was changed, at the end', '{"a":1}\v', 'it is not a JSON object on one line'],
    ['a record that its reader rejects', '{"x":1}\n', 'x is not known'],
  ])('with %s is rejected with its place', async (_, text, problem) => {
    const file = newJournal();
    writeFileSync(file.path, Buffer.concat([whole, Buffer.from(text)]));
    const read = readJournal(file, (record) => {
      if (record.toString() === '{"x":1}') return 'x is not known';
      return parseRecord(record) ? undefined : NOT_A_RECORD;
    });
    await expect(read).rejects.toMatchObject({
      exitCode: 13,
      message: `j:4 is not a valid record: ${problem}`,
      facts: { hint: 'fix that line', applied: 'no' },
    });
  });

  it('writes the records of one group together, durably and in order, readable by the owner only', async () => {
    const file = newJournal();
    let writes = 0;
    const { append, close } = await openJournal(file, 0, () => {
      writes += 1;
    });
    await Promise.all([append('{"a":1}', '{"b":1}'), append('{"c":1}'), append('{"d":1}')]);
    expect(writes).toBe(1);
    expect((await recordsOf(file)).records).toEqual(['{"a":1}', '{"b":1}', '{"c":1}', '{"d":1}']);
    await close();
    expect(statSync(file.path).mode & 0o777).toBe(0o600);
  });

  it('does not write what its owner prevents', async () => {
    const file = newJournal();
    const { append, close } = await openJournal(file, 0, () => {
      throw new Error('not now');
    });
    await expect(append('{"a":1}')).rejects.toThrow('not now');
    await close();
    expect(readFileSync(file.path, 'utf8')).toBe('');
  });

  it('is read on from an earlier end, also without a file', async () => {
    const file = newJournal();
    expect(await recordsOf(file)).toEqual({ end: undefined, records: [] });
    writeFileSync(file.path, whole);
    const start = { bytes: Buffer.byteLength(`${texts[0]}\n`), lines: 1 };
    expect(await recordsOf(file, start)).toEqual({ end: { bytes: whole.length, lines: 3 }, records: texts.slice(1) });
  });
});
