import type { Context } from '../../context.ts';
import { formatTransfer } from '../../output/transfer-text.ts';
import type { CheckedContent } from '../../train/stream/checked-content.ts';

/** The progress of the first read, shown on a terminal. */
export interface CheckProgress {
  /** Updates the number of bytes read. Throws if the process was asked to end. */
  readonly onBytes: (bytes: number) => void;
  readonly end: () => void;
}

/** Shows the progress of the checks. */
export function showCheckProgress(
  { content, checks }: CheckedContent,
  { runtime, signal, startSpinner }: Context,
): CheckProgress {
  const start = runtime.elapsed();
  const sizes = content.sources.map(({ size }) => size);
  const total = sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0);
  let bytes = 0;
  const end = startSpinner(() => {
    const transfer = formatTransfer('checking', { bytes, total, elapsedMs: runtime.elapsed() - start });
    return `${transfer}, ${checks.groupCount()} groups`;
  });
  return {
    end,
    onBytes: (readBytes) => {
      signal.throwIfAborted();
      bytes = readBytes;
    },
  };
}
