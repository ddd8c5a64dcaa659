import { Buffer } from 'node:buffer';
import { expect, it } from 'vitest';
import { createBatchWarnings } from '../../src/batch/check/batch-warnings.ts';
import { createRevisions } from '../../src/batch/send/revisions.ts';
import { createStreamStore } from '../../src/batch/store/result-store.ts';
import { Failure } from '../../src/errors.ts';
import { createBatchRecord } from '../../src/reports/batch/batch-statistics.ts';
import { UNSENT } from '../../src/reports/batch/line-facts.ts';

const batch = { run: 'r', operation: '/call/start', shard: '1/1' };

it.each([
  ['before its result is kept, such as while a warning is written', ['stray', 'keep']],
  ['after its result was kept', ['keep', 'stray']],
  ['on both sides', ['stray', 'keep', 'stray']],
])('stray data of a line takes its result back once: %s', async (_, steps) => {
  const revised: string[] = [];
  const store = {
    ...createStreamStore(batch),
    revise: async (bytes: Uint8Array): Promise<void> => void revised.push(Buffer.from(bytes).toString()),
  };
  const warned: string[] = [];
  const note = async (text: string): Promise<void> => void warned.push(text);
  const warnings = createBatchWarnings('in.jsonl', { warn: note, note });
  const record = createBatchRecord(undefined);
  record.tally.byStatus.done = 1;
  const failed = (error: unknown): void => expect(error).toBeUndefined();
  const revisions = createRevisions(warnings, store, record, { addOutcome: () => {} }, String, failed);
  let onStrayData = (): void => {};
  const strayData = new Promise<void>((settle) => {
    onStrayData = settle;
  });
  const watch = revisions.watch(strayData);
  const lineKey = { line: 1, checkpoint: { input: 'd', ...batch }, revision: 0 };
  for (const step of steps)
    if (step === 'stray') {
      onStrayData();
      await strayData;
    } else
      watch.keep({
        lineKey,
        result: { ...UNSENT, status: 'done', attempts: 1, milliseconds: 1 },
        response: Buffer.from('{"id":"i"}'),
        written: Promise.resolve(),
        createDoubt: () => new Failure('unknown', 'doubt', { applied: 'unknown' }),
      });
  await revisions.finish();
  expect(revised.map((line) => JSON.parse(line))).toMatchObject([
    { line: 1, revision: 1, applied: 'unknown', response: { id: 'i' } },
  ]);
  expect(record.tally.byStatus).toMatchObject({ done: 0, unknown: 1 });
  expect(warned).toEqual(['line 1: doubt']);
});
