import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type BatchIdentity,
  batchJournalFile,
  compareRuns,
  createRunRecord,
  openBatchJournal,
  readBatchJournal,
} from '../../src/batch/store/batch-journal.ts';
import { createLineTable, type LineTable } from '../../src/batch/store/line-table.ts';
import { temporaryDirectory } from '../support/svc.ts';

const run = '01a1fd65-c7c7-7d58-a39c-000000000000';
const identity: BatchIdentity = {
  operation: '/v1/chat/completions',
  shard: '1/1',
  base_url: 'https://a.example/v2/',
  values: { model: 'large', temperature: '0.5' },
};
const digestOf = (line: number): string => hash('sha256', `line ${line}`, 'hex').slice(0, 16);
const sent = (line: number) => ({ digest: digestOf(line), timestampMs: 1000 + line });

/** Lines 1 to 3 were sent in one group, line 2 was withdrawn, and line 3 changed and was sent as another input. */
async function writtenJournal() {
  const path = join(temporaryDirectory(), 'out.jsonl');
  const file = await batchJournalFile({ path, displayPath: 'out.jsonl' });
  const journal = await openBatchJournal(file, createRunRecord(identity, run), undefined, () => {});
  await Promise.all([1, 2, 3].map((line) => journal.recordSending(line, sent(line), undefined)));
  await journal.recordWithdrawn(2, digestOf(2));
  await journal.recordSending(3, { digest: digestOf(33), timestampMs: 5 }, digestOf(3));
  await journal.close();
  return { file, whole: readFileSync(file.path) };
}

const linesOf = (table: LineTable): string[] =>
  Array.from(table.lines(), (line) => `${line} ${table.sent(line)?.digest} ${table.sent(line)?.timestampMs}`);

describe('the journal of a batch', () => {
  it('that was cut at any byte has the records before the cut', async () => {
    const { file, whole } = await writtenJournal();
    const states = new Set<string>();
    for (let length = 0; length <= whole.length; length += 1) {
      writeFileSync(file.path, whole.subarray(0, length));
      const table = createLineTable();
      const state = await readBatchJournal(file, table);
      expect(whole.subarray(0, state?.end.bytes).toString()).toMatch(/\n$|^$/);
      states.add(JSON.stringify([state?.runs.length, ...linesOf(table)]));
    }
    const [one, two, three] = [1, 2, 3].map((line) => `${line} ${digestOf(line)} ${1000 + line}`);
    expect(Array.from(states, (state) => JSON.parse(state))).toEqual([
      [0],
      [1],
      [1, one],
      [1, one, two],
      [1, one, two, three],
      [1, one, three],
      [1, one, `3 ${digestOf(33)} 5`],
    ]);
  });

  it('with a flipped bit is rejected with its place, or has another input or another time for a line', async () => {
    const { file, whole } = await writtenJournal();
    const readable: string[] = [];
    for (let bit = 0; bit < whole.length * 8; bit += 3) {
      const flipped = Buffer.from(whole);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      writeFileSync(file.path, flipped);
      const table = createLineTable();
      const state = await readBatchJournal(file, table).catch((error: unknown) => {
        expect(error).toMatchObject({
          exitCode: 13,
          message: expect.stringMatching(/^out.jsonl.journal:\d is not a /),
        });
        return undefined;
      });
      // A run that differs is that of another batch, and is refused too.
      const [found, ...others] = state?.runs ?? [];
      if (!found || compareRuns([found, ...others], identity).length > 0 || found.run !== run) continue;
      if (found.operation !== identity.operation || found.shard !== identity.shard) continue;
      readable.push(linesOf(table).join());
    }
    // What is read is either the same, or has a line whose digest is not that of its input.
    const own = new Map([1, 2, 3].map((line) => [`${line}`, digestOf(line === 3 ? 33 : line)]));
    for (const lines of readable) {
      const known = lines.split(',').map((line) => line.split(' '));
      if (known.every(([line = '', digest]) => own.get(line) === digest))
        expect(known.map(([line]) => line)).toEqual(['1', '3']);
    }
    expect(readable.length).toBeGreaterThan(0);
  });

  it.each([
    [
      'another run',
      `${JSON.stringify({ run: run.replace('0', '1'), operation: '/x', shard: '1/1', base_url: '0', values: {} })}\n`,
      'it belongs to another run',
    ],
    [
      'a withdrawn line that was not sent',
      '{"withdrawn":9,"input":"0000000000000009"}\n',
      'line 9 was not recorded before',
    ],
    [
      'a line with two inputs',
      '{"sending":1,"input":"0000000000000009","at":1}\n',
      'line 1 was recorded with another input before',
    ],
    ['a line without a time', '{"sending":1,"input":"0000000000000001"}\n', 'it is not the record of a batch'],
    ['line 0', '{"sending":0,"input":"0000000000000001","at":1}\n', 'its line number is not from 1 to 1099511627776'],
  ])('with %s is rejected', async (_, record, problem) => {
    const { file, whole } = await writtenJournal();
    writeFileSync(file.path, Buffer.concat([whole, Buffer.from(record)]));
    await expect(readBatchJournal(file, createLineTable())).rejects.toThrow(
      `out.jsonl.journal:7 is not a valid record: ${problem}`,
    );
  });

  it('of another kind is rejected, a missing one is known', async () => {
    const path = join(temporaryDirectory(), 'out.jsonl');
    const file = await batchJournalFile({ path, displayPath: 'out.jsonl' });
    expect(await readBatchJournal(file, createLineTable())).toBeUndefined();
    for (const text of ['{"sending":1,"input":"0000000000000001","at":1}\n', '{"entry":"1","started_at":"x"}\n']) {
      writeFileSync(file.path, text);
      await expect(readBatchJournal(file, createLineTable())).rejects.toThrow('it is not the record of a batch');
    }
  });

  it('records a run once for the same flags', async () => {
    const { file, whole } = await writtenJournal();
    const state = await readBatchJournal(file, createLineTable());
    for (const values of [identity.values, { ...identity.values, model: 'small' }]) {
      const record = createRunRecord({ ...identity, values }, run);
      await (await openBatchJournal(file, record, state, () => {})).close();
    }
    expect(readFileSync(file.path, 'utf8').slice(whole.length)).toMatch(/^\{"run":"[^\n]*\n$/);
  });
});

describe('a batch that is resumed', () => {
  const record = createRunRecord(identity, run);

  it.each<[string, Partial<BatchIdentity>, string[]]>([
    ['the same', {}, []],
    [
      'another path',
      { base_url: 'https://a.example/v1/' },
      ['its results came from a base URL other than https://a.example/v1/'],
    ],
    [
      'another host',
      { base_url: 'https://b.example/v2/' },
      ['its results came from a base URL other than https://b.example/v2/'],
    ],
    [
      'another model',
      { values: { ...identity.values, model: 'small' } },
      ['it was started with other values for model'],
    ],
    ['one flag less', { values: { model: 'large' } }, ['it was started with other values for temperature']],
    ['one flag more', { values: { ...identity.values, seed: '1' } }, ['it was started with other values for seed']],
  ])('with %s', (_, changed, differences) => {
    expect(compareRuns([record], { ...identity, ...changed })).toEqual(differences);
  });

  it('matches any of its earlier runs, and differs from the last', () => {
    const other = createRunRecord({ ...identity, values: { model: 'small' } }, run);
    expect(compareRuns([record, other], identity)).toEqual([]);
    expect(compareRuns([record, other], { ...identity, values: { model: 'tiny' } })).toEqual([
      'it was started with other values for model',
    ]);
    expect(compareRuns([], identity)).toEqual([]);
  });

  it('does not reveal its base URL and its values', () => {
    const text = JSON.stringify(record);
    for (const secret of ['a.example', 'large', '0.5']) expect(text).not.toContain(secret);
    expect(createRunRecord(identity, run.replace('0', '1')).values).not.toEqual(record.values);
  });
});
