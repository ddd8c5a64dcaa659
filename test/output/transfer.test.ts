import { describe, expect, it } from 'vitest';
import { formatTransfer, type TransferProgress } from '../../src/output/transfer-text.ts';

describe('formatTransfer', () => {
  it.each<[TransferProgress, string]>([
    [{ bytes: 0, total: undefined, elapsedMs: 0 }, 'sending 0 KB'],
    [{ bytes: 0, total: 5e8, elapsedMs: 400 }, 'sending 0 KB of 500 MB (0 %)'],
    [{ bytes: 4e8, total: 4e9, elapsedMs: 4000 }, 'sending 400 MB of 4.0 GB (10 %), 100 MB/s, 36 s left'],
    [{ bytes: 1e9, total: 4e11, elapsedMs: 10_000 }, 'sending 1.0 GB of 400.0 GB (0 %), 100 MB/s, 67 min left'],
    [{ bytes: 4e9 - 1, total: 4e9, elapsedMs: 1000 }, 'sending 4.0 GB of 4.0 GB (99 %), 4.0 GB/s, 1 s left'],
    [{ bytes: 2000, total: undefined, elapsedMs: 2000 }, 'sending 2 KB, 1 KB/s'],
  ])('of %j', (transfer, text) => {
    expect(formatTransfer('sending', transfer)).toBe(text);
  });
});
