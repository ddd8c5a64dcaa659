import { describe, expect, it } from 'vitest';
import { formatTransfer, type TransferProgress } from '../../src/output/transfer-text.ts';

describe('formatTransfer', () => {
  it.each<[TransferProgress, string]>([
    [{ bytes: 0, total: undefined, elapsedMs: 0 }, 'sending 0 B'],
    [{ bytes: 0, total: 5e8, elapsedMs: 400 }, 'sending 0 B of 476.9 MiB (0 %)'],
    [{ bytes: 4e8, total: 4e9, elapsedMs: 4000 }, 'sending 381.5 MiB of 3.8 GiB (10 %), 95.4 MiB/s, 36 s left'],
    [{ bytes: 1e9, total: 4e11, elapsedMs: 10_000 }, 'sending 953.7 MiB of 372.6 GiB (0 %), 95.4 MiB/s, 67 min left'],
    [{ bytes: 4e9 - 1, total: 4e9, elapsedMs: 1000 }, 'sending 3.8 GiB of 3.8 GiB (99 %), 3.8 GiB/s, 1 s left'],
    [{ bytes: 2000, total: undefined, elapsedMs: 2000 }, 'sending 2 KiB, 1000 B/s'],
  ])('of %j', (transfer, text) => {
    expect(formatTransfer('sending', transfer)).toBe(text);
  });
});
