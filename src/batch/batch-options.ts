import type { Settings } from '../client/resolve-settings.ts';
import { resolveSetting, type SettingSources } from '../config/select-profile.ts';
import { parseDurationOrZeroMs, parseNumeric, parsePrice } from '../config/setting-kinds.ts';
import { environmentSetting } from '../config/settings.ts';
import { usageFailure } from '../errors.ts';
import { parseByteSize } from '../files/byte-size.ts';
import { MIN_TAKE_OVER_MS } from '../files/file-lock.ts';
import type { Runtime } from '../runtime.ts';
import type { BatchFlagOptions } from './batch-flags.ts';
import { parseShard, type Shard } from './read/shard.ts';

export interface BatchOptions {
  /** The file of lines as typed; `-` is stdin. */
  readonly input: string;
  readonly concurrency: number | 'auto';
  /** Requests per second. */
  readonly rate: number | undefined;
  /** Tokens per second. */
  readonly tokenRate: number | undefined;
  readonly shard: Shard;
  readonly limit: number | undefined;
  /** Lines chosen at random: the same ones for the same seed, and all of them in a larger sample. */
  readonly sample: { readonly size: number; readonly seed: string } | undefined;
  readonly maxTotalTokens: number | undefined;
  readonly maxCost: number | undefined;
  readonly prices: Prices;
  readonly takeOverMs: number | undefined;
  readonly isResumed: boolean;
  readonly canRetryUnknown: boolean;
  readonly canAcceptChanges: boolean;
  readonly isFailFast: boolean;
  readonly maxFailures: { readonly limit: number; readonly isPercentage: boolean } | undefined;
  readonly maxSpoolBytes: number | undefined;
  readonly isOrdered: boolean;
  /** How long lines wait while no connection can be made; 0 if they fail at once. */
  readonly maxOutageMs: number;
  readonly outageFlag: string;
}

const MAX_CONCURRENT_REQUESTS = 1000;
const secondsPerUnit: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600 };
const TAKE_OVER_VALUES = `at least ${MIN_TAKE_OVER_MS / 1000}s: the process that holds the lock stops by itself in that time`;

export const DEFAULT_BATCH_OPTIONS: BatchOptions = { ...parseBatchFlags({}, {}), outageFlag: '' };

/** Reads the flags of a batch. Throws usage for flags that contradict --batch or each other. */
export function readBatchOptions(
  args: readonly string[],
  options: Partial<BatchFlagOptions>,
  { previewFormat, output, profile }: Pick<Settings, 'previewFormat' | 'output' | 'profile'>,
  env: Runtime['env'],
): BatchOptions {
  if (args.length > 0 && options.rows === undefined)
    throw usageFailure(
      `--batch takes bodies from a file, not from the argument ${JSON.stringify(args[0])}`,
      args.some((text) => text.includes('{{'))
        ? 'for one request per row of a table, write --rows instead of --batch'
        : 'remove the argument; for a prompt for each row of a table, write --rows <file> "... {{column}}" instead',
    );
  if (previewFormat === 'curl')
    throw usageFailure(
      '--curl cannot be combined with --batch: it prints one request',
      'use --dry-run to check the lines',
    );
  if (options.resume && (output === undefined || output === '-'))
    throw usageFailure('--resume needs the output file of the earlier run, not stdout', 'name that file with -o');
  const { resume, retryUnknown, acceptChanges, takeOver, sample, sampleSeed, delimiter, idColumn, rows } = options;
  const needs = [
    ['retry-unknown', retryUnknown, 'resume', resume],
    ['accept-changes', acceptChanges, 'resume', resume],
    ['take-over', takeOver, 'resume', resume],
    ['sample-seed', sampleSeed, 'sample', sample],
    ['id-column', idColumn, 'rows', rows],
    ['delimiter', delimiter, 'rows', rows],
  ] as const;
  for (const [name, value, other, needed] of needs)
    if (value && !needed) throw usageFailure(`--${name} needs --${other}`, `add --${other}, or leave out --${name}`);
  return parseBatchFlags(options, env, readPrices({ options, env, selected: profile }));
}

/** The prices of flags, else of the profile. Throws usage for one that is not a number. */
export function readPrices(sources: SettingSources): Prices {
  const priceOf = (name: 'price_prompt' | 'price_completion'): number | undefined => {
    const price = resolveSetting(name, sources);
    return price && parsePrice(price.label, price.text);
  };
  return { prompt: priceOf('price_prompt'), completion: priceOf('price_completion') };
}

/** Per million tokens. */
export interface Prices {
  readonly prompt?: number | undefined;
  readonly completion?: number | undefined;
}

function parseFlag<T>(
  name: string,
  text: string | undefined,
  expected: string,
  toValue: (text: string) => T | undefined,
): T | undefined {
  return text === undefined ? undefined : parseNumeric(`--${name}`, text, expected, toValue);
}

function parseCount(name: string, count: string | undefined): number | undefined {
  const expected = 'a whole number from 1 on';
  return parseFlag(name, count, expected, (text) => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined));
}

function parseBatchFlags(options: Partial<BatchFlagOptions>, env: Runtime['env'], prices: Prices = {}): BatchOptions {
  const size = parseCount('sample', options.sample);
  const shard = options.shard;
  const isFailFast = options.failFast === true;
  return {
    input: options.rows ?? options.batch ?? '-',
    concurrency:
      parseFlag(
        'concurrency',
        options.concurrency,
        `auto, or a number from 1 to ${MAX_CONCURRENT_REQUESTS}`,
        (text) => {
          if (text === 'auto') return 'auto' as const;
          return /^[1-9]\d{0,3}$/.test(text) && Number(text) <= MAX_CONCURRENT_REQUESTS ? Number(text) : undefined;
        },
      ) ?? 'auto',
    rate: parseFlag('rate', options.rate, 'requests per second or minute, such as 20/s or 100/m', (text) =>
      perSecond(text, 's'),
    ),
    tokenRate: parseFlag('token-rate', options.tokenRate, 'tokens per minute or second, such as 100000/m', (text) =>
      perSecond(text, 'm'),
    ),
    shard: parseShard(shard ?? environmentSetting('shard', env), shard === undefined ? 'SVC_SHARD' : '--shard', env),
    limit: parseCount('limit', options.limit),
    sample: size === undefined ? undefined : { size, seed: options.sampleSeed ?? '0' },
    maxTotalTokens: parseCount('max-total-tokens', options.maxTotalTokens),
    maxCost: parseFlag('max-cost', options.maxCost, 'an amount above 0, such as 2.5', (text) =>
      /[1-9]/.test(text) ? parsePrice('--max-cost', text) : undefined,
    ),
    prices,
    takeOverMs: parseFlag('take-over', options.takeOver, TAKE_OVER_VALUES, (text) => {
      const milliseconds = parseDurationOrZeroMs('--take-over', text);
      return milliseconds >= MIN_TAKE_OVER_MS ? milliseconds : undefined;
    }),
    isResumed: options.resume === true,
    canRetryUnknown: options.retryUnknown === true,
    canAcceptChanges: options.acceptChanges === true,
    isFailFast,
    maxFailures: parseFlag('max-failures', options.maxFailures, 'a number such as 10, or 5%', (text) => {
      const [, limit, percent] = /^(\d{1,9}|\d{1,3}\.\d{1,3}(?=%))(%?)$/.exec(text) ?? [];
      const isValid = limit !== undefined && !(percent && Number(limit) > 100);
      return isValid ? { limit: Number(limit), isPercentage: percent === '%' } : undefined;
    }),
    maxSpoolBytes: options.maxSpool === undefined ? undefined : parseByteSize('--max-spool', options.maxSpool),
    isOrdered: options.ordered === true,
    maxOutageMs: isFailFast ? 0 : parseDurationOrZeroMs('--max-outage', options.maxOutage ?? '5m'),
    outageFlag: '--max-outage',
  };
}

function perSecond(text: string, defaultUnit: 's' | 'm'): number | undefined {
  const [, count, unit = defaultUnit] = /^(\d{1,12}(?:\.\d{1,6})?)(?:\/([smh]))?$/.exec(text) ?? [];
  const rate = Number(count) / (secondsPerUnit[unit] ?? 1);
  return rate > 0 ? rate : undefined;
}

/** A file that a batch writes, with the shard in the place of `{shard}`: `3-of-10`. */
export function fillShard(path: string | undefined, { index, count }: Shard): string | undefined {
  return path?.replaceAll('{shard}', `${index}-of-${count}`);
}
