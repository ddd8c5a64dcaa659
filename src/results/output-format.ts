import { usageFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../flag.ts';

interface ResultFormats<Format> {
  readonly formats: readonly Format[];
  /** The format on a terminal, and anywhere else, unless the user chooses one. */
  readonly onTerminal: Format;
  readonly piped: Format;
}

/** The kinds of results, each with the formats it has (docs/contract.md). */
export const resultKinds = {
  record: { formats: ['json', 'jsonl', 'yaml', 'table', 'text'], onTerminal: 'table', piped: 'json' },
  rows: { formats: ['json', 'jsonl', 'yaml', 'table', 'csv', 'tsv', 'text'], onTerminal: 'table', piped: 'json' },
  chat: { formats: ['json', 'jsonl', 'yaml', 'text'], onTerminal: 'text', piped: 'text' },
  report: { formats: ['json', 'jsonl', 'yaml', 'text'], onTerminal: 'text', piped: 'json' },
  document: { formats: ['json', 'jsonl', 'yaml'], onTerminal: 'json', piped: 'json' },
  lines: { formats: ['jsonl'], onTerminal: 'jsonl', piped: 'jsonl' },
  // Of a request that is shown: text and jsonl say what is requested, since jsonl asks for a stream.
  'dry-run': { formats: ['json', 'jsonl', 'text'], onTerminal: 'text', piped: 'text' },
  curl: { formats: ['jsonl', 'text'], onTerminal: 'text', piped: 'text' },
} as const satisfies { readonly [kind: string]: ResultFormats<string> };

export type ResultKind = keyof typeof resultKinds;

export type OutputFormat = (typeof resultKinds)[ResultKind]['formats'][number];

interface ResultFilter {
  /** The placeholder in help. */
  readonly value: string;
  readonly summary: string;
  /** The filter as jq has it. */
  readonly toJq: (text: string) => string;
}

/** The flags that filter the JSON of a result. To add one, add an entry: help, formats and contradictions derive from it. */
export const resultFilters: { readonly [flag: string]: ResultFilter } = {
  jq: {
    value: '<filter>',
    summary: 'Filter the JSON with jq; strings are printed without quotes',
    toJq: (text) => text,
  },
};

/** The flags that select the format of a result or filter it; what prints something else contradicts them. */
export const resultFlagNames: readonly string[] = ['format', 'json', ...Object.keys(resultFilters)];

/** The flag that filters the result and its filter as jq has it, if one is given. Throws usage for several. */
export function requestedFilter(flags: FlagValues): { readonly flag: string; readonly filter: string } | undefined {
  const [found, other] = Object.entries(resultFilters).flatMap(([flag, { toJq }]) => {
    const text = getStringFlag(flags, flag);
    return text === undefined ? [] : { flag, filter: toJq(text) };
  });
  if (found && other)
    throw usageFailure(`--${found.flag} cannot be combined with --${other.flag}`, 'remove one of them');
  return found;
}

/** The views of a feedback schema; `table` is that of any rows. */
export const schemaViewNames = ['table', 'tree', 'json-schema', 'typescript'] as const;

/** The kind of what a request prints: its result, the lines of a batch, or what `--dry-run` and `--curl` show. */
export function requestResultKind(own: ResultKind, flags: FlagValues): ResultKind {
  const [isDryRun, isCurl] = ['dry-run', 'curl'].map((name) => isFlagOn(flags, name));
  if (flags.has('batch') || flags.has('rows')) return isDryRun || isCurl ? 'record' : 'lines';
  return isDryRun ? 'dry-run' : isCurl ? 'curl' : own;
}

/** `--format`, `--json`, JSON for a filter, else that of the kind. Throws usage for contradictions and formats that the kind lacks. */
export function chooseFormat(kind: ResultKind, flags: FlagValues, isTerminal: boolean): OutputFormat {
  return requestedFormat(kind, flags) ?? defaultFormat(kind, isTerminal);
}

export function defaultFormat(kind: ResultKind, isTerminal: boolean): OutputFormat {
  return resultKinds[kind][isTerminal ? 'onTerminal' : 'piped'];
}

/** The format that flags request, if any. Throws usage as `chooseFormat` does. */
export function requestedFormat(kind: ResultKind, flags: FlagValues): OutputFormat | undefined {
  const { formats }: ResultFormats<OutputFormat> = resultKinds[kind];
  const filter = requestedFilter(flags);
  const requested = readFormatFlags(flags) ?? (filter ? formats.find(isJsonFormat) : undefined);
  if (requested === undefined) return undefined;
  if (filter && !isJsonFormat(requested))
    throw usageFailure(`--${filter.flag} cannot be combined with --format ${requested}`, 'remove one of them');
  const format = formats.find((candidate) => candidate === requested);
  if (format) return format;
  throw usageFailure(
    `${getStringFlag(flags, 'format') === undefined ? '--json' : `--format ${requested}`} does not apply to this result`,
    `use ${joinWithOr(formats)}`,
  );
}

function isJsonFormat(format: string): boolean {
  return format === 'json' || format === 'jsonl';
}

function readFormatFlags(flags: FlagValues): string | undefined {
  const format = getStringFlag(flags, 'format');
  if (!isFlagOn(flags, 'json')) return format;
  if (format !== undefined && format !== 'json')
    throw usageFailure(`--json cannot be combined with --format ${format}`, 'remove one of them');
  return 'json';
}
