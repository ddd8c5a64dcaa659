import { usageFailure } from '../errors.ts';

/** The part of a file that one of several machines takes: of 10, the third takes lines 3, 13, 23 and so on. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/** The shard that `3/10` names; without a text the only one. Throws usage for what names none. */
export function parseShard(text: string | undefined): Shard {
  if (text === undefined) return { index: 1, count: 1 };
  const [, index, count] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(text) ?? [];
  if (index === undefined || Number(index) > Number(count))
    throw usageFailure(`--shard cannot be ${JSON.stringify(text)}`, 'write 3/10 for the third of ten shards');
  return { index: Number(index), count: Number(count) };
}

/** True for the lines of a shard, counted from 1 in the whole file. */
export function isInShard(line: number, { index, count }: Shard): boolean {
  return (line - index) % count === 0;
}
