import type { Context } from '../../context.ts';
import { formatTransfer } from '../../output/transfer-text.ts';
import type { TextSource } from '../../train/stream/text-source.ts';

/** The progress of the first read, shown on a terminal. */
export interface CheckProgress {
  /** Updates the number of bytes read. Throws if the process was asked to end. */
  readonly onBytes: (bytes: number) => void;
  readonly end: () => void;
}

/** Shows the progress of the checks of all sources, with the number of groups if it is known. */
export function showCheckProgress(
  sources: readonly TextSource[],
  { runtime, signal, startSpinner }: Context,
  groupCount?: () => number,
): CheckProgress {
  const start = runtime.elapsed();
  const sizes = sources.map(({ size }) => size);
  const total = sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0);
  let bytes = 0;
  const end = startSpinner(() => {
    const transfer = formatTransfer('checking', { bytes, total, elapsedMs: runtime.elapsed() - start });
    return groupCount ? `${transfer}, ${groupCount()} groups` : transfer;
  });
  return {
    end,
    onBytes: (readBytes) => {
      signal.throwIfAborted();
      bytes = readBytes;
    },
  };
}
