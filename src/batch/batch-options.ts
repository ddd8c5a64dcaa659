import type { Settings } from '../client/settings.ts';
import type { Invocation } from '../command.ts';
import { parseDurationOrZeroMs } from '../config/parse-duration.ts';
import { usageFailure } from '../errors.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../flag.ts';
import type { Runtime } from '../runtime.ts';
import { parseShard, type Shard } from './shard.ts';

/** A limit of failures. */
export interface MaxFailures {
  readonly limit: number;
  readonly isPercentage: boolean;
}

/** Lines chosen at random: the same ones for the same seed, and all of them in a larger sample. */
export interface Sample {
  readonly size: number;
  readonly seed: string;
}

/** The flags of a batch. */
export interface BatchOptions {
  /** The file of lines as typed; `-` is stdin. */
  readonly input: string;
  /** Maximum requests in flight. */
  readonly concurrency: number;
  /** Maximum requests per second; undefined for no limit. */
  readonly rate: number | undefined;
  readonly shard: Shard;
  /** The number of lines that are sent, from the first one of the shard; undefined for all. */
  readonly limit: number | undefined;
  readonly sample: Sample | undefined;
  /** The lines of the sample, once they are chosen. */
  readonly sampledLines: ReadonlySet<number> | undefined;
  /** No more lines are sent once the responses of this run used as many tokens. */
  readonly maxTotalTokens: number | undefined;
  readonly isResumed: boolean;
  readonly canRetryUnknown: boolean;
  readonly canAcceptChanges: boolean;
  readonly isFailFast: boolean;
  /** The number of lines that may fail, or a percentage of the lines so far. */
  readonly maxFailures: MaxFailures | undefined;
  readonly isOrdered: boolean;
  /** Milliseconds that lines wait while no connection can be made; 0 if they fail at once. */
  readonly maxOutageMs: number;
  /** The flag that changes that time, for messages. */
  readonly outageFlag: '--max-outage' | undefined;
}

const MAX_CONCURRENT_REQUESTS = 1000;

/** The options of a batch without flags. */
export const DEFAULT_BATCH_OPTIONS: BatchOptions = {
  input: '-',
  concurrency: 8,
  rate: undefined,
  shard: { index: 1, count: 1 },
  limit: undefined,
  sample: undefined,
  sampledLines: undefined,
  maxTotalTokens: undefined,
  isResumed: false,
  canRetryUnknown: false,
  canAcceptChanges: false,
  isFailFast: false,
  maxFailures: undefined,
  isOrdered: false,
  maxOutageMs: 5 * 60_000,
  outageFlag: undefined,
};

/** Reads the flags of a batch. Throws usage for flags that contradict --batch or each other. */
export function readBatchOptions(
  { args, flags }: Invocation,
  { previewFormat, output }: Pick<Settings, 'previewFormat' | 'output'>,
  env: Runtime['env'],
): BatchOptions {
  const isRows = flags.has('rows');
  if (flags.has('file'))
    throw usageFailure(
      `--file cannot be combined with --${isRows ? 'rows' : 'batch'}`,
      isRows ? 'describe the body with flags' : 'put the body on a line of the --batch file',
    );
  if (flags.has('id-column') && !isRows)
    throw usageFailure('--id-column works only with --rows', 'write a custom_id into the lines of the --batch file');
  if (args.length > 0 && !isRows)
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
  if (isFlagOn(flags, 'retry-unknown') && !isFlagOn(flags, 'resume'))
    throw usageFailure('--retry-unknown needs --resume', 'add --resume, or leave out --retry-unknown');
  if (isFlagOn(flags, 'accept-changes') && !isFlagOn(flags, 'resume'))
    throw usageFailure('--accept-changes needs --resume', 'add --resume, or leave out --accept-changes');
  return {
    input: getStringFlag(flags, 'rows') ?? getStringFlag(flags, 'batch') ?? DEFAULT_BATCH_OPTIONS.input,
    concurrency: parseConcurrency(getStringFlag(flags, 'concurrency')),
    rate: parseRate(getStringFlag(flags, 'rate')),
    shard: readShard(getStringFlag(flags, 'shard'), env),
    limit: parseCount('limit', getStringFlag(flags, 'limit')),
    sample: readSample(flags),
    sampledLines: undefined,
    maxTotalTokens: parseCount('max-total-tokens', getStringFlag(flags, 'max-total-tokens')),
    isResumed: isFlagOn(flags, 'resume'),
    canRetryUnknown: isFlagOn(flags, 'retry-unknown'),
    canAcceptChanges: isFlagOn(flags, 'accept-changes'),
    isFailFast: isFlagOn(flags, 'fail-fast'),
    maxFailures: parseMaxFailures(getStringFlag(flags, 'max-failures')),
    isOrdered: isFlagOn(flags, 'ordered'),
    maxOutageMs: isFlagOn(flags, 'fail-fast') ? 0 : parseMaxOutage(getStringFlag(flags, 'max-outage')),
    outageFlag: '--max-outage',
  };
}

function readShard(flag: string | undefined, env: Runtime['env']): Shard {
  return flag === undefined
    ? parseShard(env.SVC_SHARD || undefined, 'SVC_SHARD', env)
    : parseShard(flag, '--shard', env);
}

function readSample(flags: FlagValues): Sample | undefined {
  const size = parseCount('sample', getStringFlag(flags, 'sample'));
  const seed = getStringFlag(flags, 'sample-seed');
  if (size !== undefined) return { size, seed: seed ?? '0' };
  if (seed === undefined) return undefined;
  throw usageFailure('--sample-seed works only with --sample', 'add --sample <n>, or leave out --sample-seed');
}

function parseCount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw usageFailure(`--${name} cannot be ${JSON.stringify(text)}`, 'use a whole number from 1 on');
}

function parseConcurrency(text: string | undefined): number {
  if (text === undefined) return DEFAULT_BATCH_OPTIONS.concurrency;
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= MAX_CONCURRENT_REQUESTS) return Number(text);
  throw usageFailure(
    `--concurrency cannot be ${JSON.stringify(text)}`,
    `use a number from 1 to ${MAX_CONCURRENT_REQUESTS}`,
  );
}

function parseMaxFailures(text: string | undefined): MaxFailures | undefined {
  if (text === undefined) return undefined;
  const [, limit, percent] = /^(\d{1,9}|\d{1,3}\.\d{1,3}(?=%))(%?)$/.exec(text) ?? [];
  if (limit === undefined || (percent && Number(limit) > 100))
    throw usageFailure(`--max-failures cannot be ${JSON.stringify(text)}`, 'use a number such as 10, or 5%');
  return { limit: Number(limit), isPercentage: percent === '%' };
}

function parseMaxOutage(text: string | undefined): number {
  if (text === undefined) return DEFAULT_BATCH_OPTIONS.maxOutageMs;
  return parseDurationOrZeroMs('--max-outage', text);
}

const secondsPerUnit: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600 };

// In requests per second.
function parseRate(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = 's'] = /^(\d{1,6}(?:\.\d{1,6})?)(?:\/([smh]))?$/.exec(text) ?? [];
  const rate = Number(count) / (secondsPerUnit[unit] ?? 1);
  if (rate > 0) return rate;
  throw usageFailure(
    `--rate cannot be ${JSON.stringify(text)}`,
    'use requests per second or minute, such as 20/s or 100/m',
  );
}
