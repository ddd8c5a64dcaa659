import type { Context } from '../../cli/context.ts';
import { transferText } from '../../output/transfer.ts';
import type { Checked } from '../../trajectories/training.ts';

/** Reading for the first time, as it is shown on a terminal. */
export interface Checking {
  /** Says how many bytes have passed. Throws where the process was asked to end. */
  readonly told: (bytes: number) => void;
  readonly end: () => void;
}

/** Begins to show how far the checks of some trajectories have come. */
export function showChecking({ content, checks }: Checked, { runtime, signal, spin }: Context): Checking {
  const start = runtime.elapsed();
  const sizes = content.sources.map(({ size }) => size);
  const total = sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0);
  let bytes = 0;
  const end = spin(() => {
    const transfer = transferText('checking', { bytes, total, milliseconds: runtime.elapsed() - start });
    return `${transfer}, ${checks.groups()} groups`;
  });
  return {
    end,
    told: (passed) => {
      signal.throwIfAborted();
      bytes = passed;
    },
  };
}
