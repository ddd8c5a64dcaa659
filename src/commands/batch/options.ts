import type { Speed } from '../../batch/pace.ts';
import { parseShard, type Shard } from '../../batch/shard.ts';
import type { Invocation } from '../../cli/command.ts';
import { usage } from '../../errors.ts';
import { isOn, textOf } from '../../fields/flag.ts';
import type { Options } from '../options.ts';

/** What the flags of a batch say. */
export interface BatchOptions {
  /** The file of lines as typed; `-` is stdin. */
  readonly input: string;
  readonly speed: Speed;
  readonly shard: Shard;
  readonly isResumed: boolean;
  readonly isUnknownRepeated: boolean;
  readonly isFailFast: boolean;
  readonly isOrdered: boolean;
}

const CONCURRENCY = 8;
const MOST_CONCURRENCY = 1000;

/** Reads the flags of a batch. Throws usage for those that contradict it or each other. */
export function readBatchOptions({ args, flags }: Invocation, { show, format, output }: Options): BatchOptions {
  const on = (name: string): boolean => isOn(flags, name) === true;
  if (flags.has('file')) throw usage('--file is one body, and --batch has many', 'give one of them');
  if (args.length > 0) throw usage(`--batch takes the bodies from its file, not ${JSON.stringify(args[0])}`);
  if (show === 'curl') throw usage('--curl prints one request, and --batch has many', 'leave out one of them');
  if (format === 'text' || format === 'table')
    throw usage(`--batch prints a line of JSON for each line, and no ${format}`, `leave out --format ${format}`);
  if (on('resume') && (output === undefined || output === '-'))
    throw usage('--resume goes on with a file of results, and stdout is none', 'give it with -o');
  if (on('retry-unknown') && !on('resume')) throw usage('--retry-unknown belongs to --resume', 'give both');
  return {
    input: textOf(flags, 'batch') ?? '-',
    speed: { concurrency: concurrencyOf(textOf(flags, 'concurrency')), rate: rateOf(textOf(flags, 'rate')) },
    shard: parseShard(textOf(flags, 'shard')),
    isResumed: on('resume'),
    isUnknownRepeated: on('retry-unknown'),
    isFailFast: on('fail-fast'),
    isOrdered: on('ordered'),
  };
}

function concurrencyOf(text: string | undefined): number {
  if (text === undefined) return CONCURRENCY;
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= MOST_CONCURRENCY) return Number(text);
  throw usage(`--concurrency cannot be ${JSON.stringify(text)}`, `write a number from 1 to ${MOST_CONCURRENCY}`);
}

const seconds: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600 };

// In requests a second.
function rateOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = 's'] = /^(\d{1,6}(?:\.\d{1,6})?)(?:\/([smh]))?$/.exec(text) ?? [];
  const rate = Number(count) / (seconds[unit] ?? 1);
  if (rate > 0) return rate;
  throw usage(`--rate cannot be ${JSON.stringify(text)}`, 'write requests a second, such as 20/s, or 100/m');
}
