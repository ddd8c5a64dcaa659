import { expect, it } from 'vitest';
import { formatBatchProgress } from '../../src/batch/send/run-lines.ts';
import { createBatchCounts } from '../../src/reports/batch/batch-statistics.ts';

const counts = (done: number, failed: number, linesRead: number, bytesRead: number, sentLines = done + failed) => ({
  ...createBatchCounts(),
  byStatus: { done, failed, unknown: 0, unsent: 0 },
  linesRead,
  bytesRead,
  sentLines,
});

it.each([
  ['at the start', counts(0, 0, 8, 800), 4000, '0 of about 40 lines (0 %), 0/s, up to 8 in flight'],
  [
    'after 10 s',
    counts(1190, 10, 1208, 120_800),
    401_234,
    '1,200 of about 4,012 lines (29 %), 10 failed, 120/s, 24 s left, up to 8 in flight',
  ],
  [
    'with unknown lines, as in the summary',
    { ...counts(0, 0, 40, 4000, 32), byStatus: { done: 23, failed: 3, unknown: 6, unsent: 0 } },
    4000,
    '32 of 40 lines (80 %), 3 failed, 6 unknown, 3/s, 3 s left, up to 8 in flight',
  ],
  [
    'when all is read',
    counts(30, 2, 40, 4000),
    4000,
    '32 of 40 lines (80 %), 2 failed, 3/s, 3 s left, up to 8 in flight',
  ],
  ['of one line', counts(1, 0, 1, 100), 100, '1 of 1 line (100 %), 0/s, 0 s left, up to 8 in flight'],
  ['of one line from a pipe', counts(1, 0, 1, 100), undefined, '1 line, 0/s, up to 8 in flight'],
  [
    'with results of earlier runs',
    counts(1030, 0, 1040, 104_000, 30),
    200_000,
    '1,030 of about 2,000 lines (51 %), 3/s, 6 min left, up to 8 in flight',
  ],
  ['with results of earlier runs alone', counts(30, 0, 38, 3800, 0), undefined, '30 lines, 0/s, up to 8 in flight'],
  ['from a pipe', counts(30, 0, 38, 3800), undefined, '30 lines, 3/s, up to 8 in flight'],
  ['with a limit', counts(1, 0, 5, 500), 4000, '1 of 5 lines (20 %), 0/s, 40 s left, up to 8 in flight', 5],
  ['with a limit above its lines', counts(0, 0, 5, 500), 4000, '0 of about 40 lines (0 %), 0/s, up to 8 in flight', 99],
])('the progress of a batch %s', (_, tally, totalBytes, text, limit?: number) => {
  const scheduler = { describeProgress: () => 'up to 8 in flight', stopReason: () => undefined };
  expect(formatBatchProgress(tally, totalBytes, scheduler, 10_000, limit)).toBe(text);
});

it.each([
  ['interrupted', '; press Ctrl-C again to stop at once'],
  ['terminated', ''],
])('the progress of a batch that takes no more lines: %s', (reason, next) => {
  const tally = { ...createBatchCounts(), byStatus: { done: 3, failed: 0, unknown: 0, unsent: 33 }, linesRead: 40 };
  const scheduler = { describeProgress: () => 'up to 8 in flight', stopReason: () => reason };
  const text = `${reason}; waiting for 4 requests in flight${next}`;
  expect(formatBatchProgress(tally, 4000, scheduler, 10_000)).toBe(text);
});
