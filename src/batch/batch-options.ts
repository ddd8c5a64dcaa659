import type { Settings } from '../client/resolve-settings.ts';
import type { Invocation } from '../command.ts';
import { parseDurationOrZeroMs } from '../config/setting-kinds.ts';
import { invalidValueFailure, usageFailure } from '../errors.ts';
import { MIN_TAKE_OVER_MS } from '../files/file-lock.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../flag.ts';
import type { Runtime } from '../runtime.ts';
import { parseShard, type Shard } from './read/shard.ts';

export type BatchOptions = ReturnType<typeof parseBatchFlags>;

const MAX_CONCURRENT_REQUESTS = 1000;
const secondsPerUnit: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600 };
const TAKE_OVER_VALUES = `at least ${MIN_TAKE_OVER_MS / 1000}s: the process that holds the lock stops by itself in that time`;

export const DEFAULT_BATCH_OPTIONS: BatchOptions = { ...parseBatchFlags(new Map(), {}), outageFlag: '' };

const REQUIRED_FLAGS: { readonly [flag: string]: string } = {
  'retry-unknown': 'resume',
  'accept-changes': 'resume',
  'take-over': 'resume',
  'sample-seed': 'sample',
  'id-column': 'rows',
  delimiter: 'rows',
};

/** Reads the flags of a batch. Throws usage for flags that contradict --batch or each other. */
export function readBatchOptions(
  { args, flags }: Invocation,
  { previewFormat, output }: Pick<Settings, 'previewFormat' | 'output'>,
  env: Runtime['env'],
): BatchOptions {
  if (args.length > 0 && !flags.has('rows'))
    throw usageFailure(
      `--batch takes bodies from a file, not from the argument ${JSON.stringify(args[0])}`,
      'remove the argument',
    );
  if (previewFormat === 'curl')
    throw usageFailure(
      '--curl cannot be combined with --batch: it prints one request',
      'use --dry-run to check the lines',
    );
  if (isFlagOn(flags, 'resume') && (output === undefined || output === '-'))
    throw usageFailure('--resume needs the output file of the earlier run, not stdout', 'name that file with -o');
  for (const [name, other] of Object.entries(REQUIRED_FLAGS))
    if (flags.get(name) && !flags.get(other))
      throw usageFailure(`--${name} needs --${other}`, `add --${other}, or leave out --${name}`);
  return parseBatchFlags(flags, env);
}

function parseBatchFlags(flags: FlagValues, env: Runtime['env']) {
  const parse = <T>(name: string, expected: string, toValue: (text: string) => T | undefined): T | undefined => {
    const text = getStringFlag(flags, name);
    const value = text === undefined ? undefined : toValue(text);
    if (text === undefined || value !== undefined) return value;
    throw invalidValueFailure(`--${name}`, text, expected);
  };
  const parseCount = (name: string): number | undefined =>
    parse(name, 'a whole number from 1 on', (text) => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined));
  const size = parseCount('sample');
  const shard = getStringFlag(flags, 'shard');
  const isFailFast = isFlagOn(flags, 'fail-fast');
  return {
    /** The file of lines as typed; `-` is stdin. */
    input: getStringFlag(flags, 'rows') ?? getStringFlag(flags, 'batch') ?? '-',
    concurrency:
      parse('concurrency', `auto, or a number from 1 to ${MAX_CONCURRENT_REQUESTS}`, (text) => {
        if (text === 'auto') return 'auto' as const;
        return /^[1-9]\d{0,3}$/.test(text) && Number(text) <= MAX_CONCURRENT_REQUESTS ? Number(text) : undefined;
      }) ?? 'auto',
    /** Requests per second. */
    rate: parse('rate', 'requests per second or minute, such as 20/s or 100/m', (text) => {
      const [, count, unit = 's'] = /^(\d{1,6}(?:\.\d{1,6})?)(?:\/([smh]))?$/.exec(text) ?? [];
      const rate = Number(count) / (secondsPerUnit[unit] ?? 1);
      return rate > 0 ? rate : undefined;
    }),
    shard: parseShard(shard ?? (env.SVC_SHARD || undefined), shard === undefined ? 'SVC_SHARD' : '--shard', env),
    limit: parseCount('limit'),
    /** Lines chosen at random: the same ones for the same seed, and all of them in a larger sample. */
    sample: size === undefined ? undefined : { size, seed: getStringFlag(flags, 'sample-seed') ?? '0' },
    maxTotalTokens: parseCount('max-total-tokens'),
    takeOverMs: parse('take-over', TAKE_OVER_VALUES, (text) => {
      const milliseconds = parseDurationOrZeroMs('--take-over', text);
      return milliseconds >= MIN_TAKE_OVER_MS ? milliseconds : undefined;
    }),
    isResumed: isFlagOn(flags, 'resume'),
    canRetryUnknown: isFlagOn(flags, 'retry-unknown'),
    canAcceptChanges: isFlagOn(flags, 'accept-changes'),
    isFailFast,
    maxFailures: parse('max-failures', 'a number such as 10, or 5%', (text) => {
      const [, limit, percent] = /^(\d{1,9}|\d{1,3}\.\d{1,3}(?=%))(%?)$/.exec(text) ?? [];
      const isValid = limit !== undefined && !(percent && Number(limit) > 100);
      return isValid ? { limit: Number(limit), isPercentage: percent === '%' } : undefined;
    }),
    isOrdered: isFlagOn(flags, 'ordered'),
    /** How long lines wait while no connection can be made; 0 if they fail at once. */
    maxOutageMs: isFailFast ? 0 : parseDurationOrZeroMs('--max-outage', getStringFlag(flags, 'max-outage') ?? '5m'),
    outageFlag: '--max-outage',
  };
}

/** The flags of a batch, with the shard in the place of `{shard}` in the names of the files that it writes: `3-of-10`. */
export function fillShardInFiles(flags: FlagValues, { index, count }: Shard): FlagValues {
  const filled = new Map(flags);
  for (const name of ['output', 'junit', 'summary']) {
    const path = getStringFlag(flags, name);
    if (path !== undefined) filled.set(name, path.replaceAll('{shard}', `${index}-of-${count}`));
  }
  return filled;
}
