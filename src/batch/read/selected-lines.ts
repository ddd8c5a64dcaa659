import { hash } from 'node:crypto';
import type { InputLine } from '../../files/split-lines.ts';
import type { BatchOptions } from '../batch-options.ts';
import { type BatchInput, isEmptyLine } from './batch-input.ts';
import type { Shard } from './shard.ts';

export interface LineSelection extends Pick<BatchOptions, 'shard'>, Partial<Pick<BatchOptions, 'limit'>> {
  readonly sampledLines?: ReadonlySet<number> | undefined;
}

interface LineObserver {
  /** Called for each line of the input. */
  readonly onRead?: (line: InputLine) => void;
  readonly onEmpty?: (line: InputLine) => void;
  /** Called if the input is read to its end. */
  readonly onEnd?: () => void;
}

/** The lines of `--shard`, `--sample` and `--limit`, for checking, comparing and sending; a line left out keeps its earlier result. */
export async function* selectedLines(
  { lines, start }: BatchInput,
  { shard, limit = Number.POSITIVE_INFINITY, sampledLines }: LineSelection,
  { onRead, onEmpty, onEnd }: LineObserver = {},
): AsyncGenerator<InputLine> {
  let count = 0;
  for await (const line of lines) {
    onRead?.(line);
    if (start === undefined && !isInShard(line.number, shard)) continue;
    if (isEmptyLine(line)) onEmpty?.(line);
    else if (!sampledLines || sampledLines.has(line.number)) {
      yield line;
      count += 1;
      // A pipe may never end.
      if (count >= limit) return;
    }
  }
  onEnd?.();
}

/** The lines of a sample: those with the smallest digests of seed and number, so that a larger sample has them, too. */
export async function chooseSample(
  input: BatchInput,
  { size, seed }: NonNullable<BatchOptions['sample']>,
  shard: BatchOptions['shard'],
): Promise<ReadonlySet<number>> {
  let chosen: { readonly number: number; readonly key: string }[] = [];
  const keepSmallest = (): void => {
    chosen = chosen.sort((one, other) => (one.key < other.key ? -1 : 1)).slice(0, size);
  };
  for await (const { number } of selectedLines(input, { shard })) {
    chosen.push({ number, key: hash('sha256', `${seed} ${number}`, 'hex') });
    if (chosen.length >= 2 * size + 1000) keepSmallest();
  }
  keepSmallest();
  return new Set(chosen.map(({ number }) => number));
}

export function isInShard(line: number, { index, count }: Shard): boolean {
  return (line - index) % count === 0;
}
