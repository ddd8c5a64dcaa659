import type { OperationOptions } from '../client/operation-options.ts';
import type { Invocation } from '../command.ts';
import { usageFailure } from '../errors.ts';
import { getBooleanFlag, getStringFlag } from '../flag.ts';
import type { RateLimits } from './rate-limiter.ts';
import { parseShard, type Shard } from './shard.ts';

/** What the flags of a batch say. */
export interface BatchOptions {
  /** The file of lines as typed; `-` is stdin. */
  readonly input: string;
  readonly rateLimits: RateLimits;
  readonly shard: Shard;
  readonly isResumed: boolean;
  readonly canRetryUnknown: boolean;
  readonly isFailFast: boolean;
  readonly isOrdered: boolean;
}

const DEFAULT_CONCURRENT_REQUESTS = 8;
const MAX_CONCURRENT_REQUESTS = 1000;

/** Reads the flags of a batch. Throws usage for those that contradict it or each other. */
export function readBatchOptions(
  { args, flags }: Invocation,
  { previewFormat, format, output }: OperationOptions,
): BatchOptions {
  const isFlagOn = (name: string): boolean => getBooleanFlag(flags, name) === true;
  if (flags.has('file')) throw usageFailure('--file is one body, and --batch has many', 'give one of them');
  if (args.length > 0) throw usageFailure(`--batch takes the bodies from its file, not ${JSON.stringify(args[0])}`);
  if (previewFormat === 'curl')
    throw usageFailure('--curl prints one request, and --batch has many', 'leave out one of them');
  if (format !== undefined && format !== 'jsonl' && previewFormat === undefined)
    throw usageFailure(
      `--batch prints one line of JSON for each input line, which is not ${format}`,
      'remove --format and --json, or use --format jsonl',
    );
  if (isFlagOn('resume') && (output === undefined || output === '-'))
    throw usageFailure('--resume goes on with a file of results, and stdout is none', 'give it with -o');
  if (isFlagOn('retry-unknown') && !isFlagOn('resume'))
    throw usageFailure('--retry-unknown belongs to --resume', 'give both');
  return {
    input: getStringFlag(flags, 'batch') ?? '-',
    rateLimits: {
      concurrency: parseConcurrency(getStringFlag(flags, 'concurrency')),
      rate: parseRate(getStringFlag(flags, 'rate')),
    },
    shard: parseShard(getStringFlag(flags, 'shard')),
    isResumed: isFlagOn('resume'),
    canRetryUnknown: isFlagOn('retry-unknown'),
    isFailFast: isFlagOn('fail-fast'),
    isOrdered: isFlagOn('ordered'),
  };
}

function parseConcurrency(text: string | undefined): number {
  if (text === undefined) return DEFAULT_CONCURRENT_REQUESTS;
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= MAX_CONCURRENT_REQUESTS) return Number(text);
  throw usageFailure(
    `--concurrency cannot be ${JSON.stringify(text)}`,
    `write a number from 1 to ${MAX_CONCURRENT_REQUESTS}`,
  );
}

const secondsPerUnit: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600 };

// In requests a second.
function parseRate(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = 's'] = /^(\d{1,6}(?:\.\d{1,6})?)(?:\/([smh]))?$/.exec(text) ?? [];
  const rate = Number(count) / (secondsPerUnit[unit] ?? 1);
  if (rate > 0) return rate;
  throw usageFailure(`--rate cannot be ${JSON.stringify(text)}`, 'write requests a second, such as 20/s, or 100/m');
}
