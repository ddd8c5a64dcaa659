import { usageFailure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import { detectShard } from './detect-shard.ts';

/** The part of the lines that one of several tasks processes: of 10, the third takes lines 3, 13, 23 and so on. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/**
 * The shard of `3/10`, `auto` or `auto/10`, from the flag or the variable that `source` names; without a text all lines.
 * Throws usage for anything else.
 */
export function parseShard(text: string | undefined, source: string, env: Runtime['env']): Shard {
  if (text === undefined) return { index: 1, count: 1 };
  const [isAuto, autoCount] = /^auto(?:\/([1-9]\d{0,5}))?$/.exec(text) ?? [];
  if (isAuto !== undefined)
    return detectShard(env, `${source} ${text}`, autoCount === undefined ? undefined : Number(autoCount));
  const [, index, count] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(text) ?? [];
  if (index === undefined || Number(index) > Number(count))
    throw usageFailure(
      `${source} cannot be ${JSON.stringify(text)}`,
      'use 3/10 for the third of ten shards, or auto on a scheduler',
    );
  return { index: Number(index), count: Number(count) };
}

/** True for the lines of a shard; line numbers start at 1. */
export function isInShard(line: number, { index, count }: Shard): boolean {
  return (line - index) % count === 0;
}

/** A path with the shard in the place of `{shard}`: `out-{shard}.jsonl` is `out-3-of-10.jsonl`. */
export function fillShard(path: string, { index, count }: Shard): string {
  return path.replaceAll('{shard}', `${index}-of-${count}`);
}
