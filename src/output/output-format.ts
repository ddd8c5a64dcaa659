import { invalidValueFailure, usageFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import { type Flag, type FlagForms, type FlagList, flagGroup, type Options } from '../flag.ts';

/** The formats of a kind of results. */
export interface ResultFormats<Format> {
  readonly formats: readonly Format[];
  /** The format on a terminal, and anywhere else, unless the user chooses one. */
  readonly onTerminal: Format;
  readonly piped: Format;
}

/** The kinds of results, each with the formats it has (docs/internals/contract.md). */
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
export const resultFilters = {
  jq: {
    value: '<filter>',
    summary: 'Filter the JSON with jq; strings are printed without quotes',
    toJq: (text: string) => text,
  },
} as const satisfies { readonly [flag: string]: ResultFilter };

type FilterName = keyof typeof resultFilters;

/** The options of `resultFlags`. */
export type ResultOptions = Options<
  { '--format <format>': ''; '--json': ''; '--spreadsheet-safe': '' } & { [F in FilterName as `--${F} <filter>`]: '' }
>;

export const spreadsheetFlag = {
  '--spreadsheet-safe': "Put a ' before cells of CSV and TSV that a spreadsheet would run as formulas",
} as const satisfies FlagForms;

export function resultFlags(kind: ResultKind): FlagList<ResultOptions> {
  const { formats }: ResultFormats<OutputFormat> = resultKinds[kind];
  return [
    ...flagGroup('Output', {
      '--format <format>': { summary: `Format of the result: ${formats.join(', ')}`, choices: formats },
      '--json': 'Print the whole result as JSON (the same as --format json)',
    }),
    ...flagGroup('Output', formats.includes('csv') ? spreadsheetFlag : {}),
    ...flagGroup('Output', filterForms()),
  ];
}

export function filterForms(details: Pick<Flag, 'conflicts'> = {}): FlagForms {
  return Object.fromEntries(
    Object.entries(resultFilters).map(([name, { value, summary }]) => [`--${name} ${value}`, { ...details, summary }]),
  );
}

/** The flags that select the format of a result or filter it; what prints something else contradicts them. */
export const resultFlagNames: readonly string[] = ['format', 'json', ...Object.keys(resultFilters)];

/** The flag that filters the result and its filter as jq has it, if one is given. Throws usage for several. */
export function requestedFilter(
  options: Partial<ResultOptions>,
): { readonly flag: FilterName; readonly filter: string } | undefined {
  const [found, other] = Object.keys(resultFilters).flatMap((flag) => {
    const text = isFilterName(flag) ? options[flag] : undefined;
    return text !== undefined && isFilterName(flag) ? { flag, filter: resultFilters[flag].toJq(text) } : [];
  });
  if (found && other)
    throw usageFailure(`--${found.flag} cannot be combined with --${other.flag}`, 'remove one of them');
  return found;
}

/** The views of a feedback schema; `table` is that of any rows. */
export const schemaViewNames = ['table', 'tree', 'json-schema', 'typescript'] as const;

function isFilterName(name: string): name is FilterName {
  return Object.hasOwn(resultFilters, name);
}

/** The options that make a request one line of many, or that show it instead. */
export interface RequestKindOptions {
  readonly dryRun: true | undefined;
  readonly curl: true | undefined;
  readonly batch: string | undefined;
  readonly rows: string | undefined;
}

/** The kind of what a request prints: its result, the lines of a batch, or what `--dry-run` and `--curl` show. */
export function requestResultKind(own: ResultKind, options: Partial<RequestKindOptions>): ResultKind {
  const { dryRun, curl, batch, rows } = options;
  if (batch !== undefined || rows !== undefined) return dryRun || curl ? 'record' : 'lines';
  return dryRun ? 'dry-run' : curl ? 'curl' : own;
}

/** `--format`, `--json`, JSON for a filter, else that of the kind. Throws usage for contradictions and formats that the kind lacks. */
export function chooseFormat(kind: ResultKind, options: Partial<ResultOptions>, isTerminal: boolean): OutputFormat {
  return requestedFormat(kind, options) ?? defaultFormat(kind, isTerminal);
}

export function defaultFormat(kind: ResultKind, isTerminal: boolean): OutputFormat {
  return resultKinds[kind][isTerminal ? 'onTerminal' : 'piped'];
}

/** The format that options request, if any. Throws usage as `chooseFormat` does. */
export function requestedFormat(
  kind: ResultKind,
  options: Partial<ResultOptions> & { readonly join?: string | undefined },
): OutputFormat | undefined {
  const { formats }: ResultFormats<OutputFormat> = resultKinds[kind];
  const filter = requestedFilter(options);
  const { format: named, json: isJson, spreadsheetSafe, join } = options;
  const unknown = named !== undefined && !formats.some((one) => one === named);
  if (unknown) throw invalidValueFailure('--format', named, joinWithOr(formats));
  if (isJson && named !== undefined && named !== 'json')
    throw usageFailure(`--json cannot be combined with --format ${named}`, 'remove one of them');
  if (spreadsheetSafe && join === undefined && named !== 'csv' && named !== 'tsv')
    throw usageFailure('--spreadsheet-safe works only with CSV and TSV', 'remove it, or add --format csv or --join');
  const requested = isJson ? 'json' : (named ?? (filter ? formats.find(isJsonFormat) : undefined));
  if (requested === undefined) return undefined;
  if (filter && !isJsonFormat(requested))
    throw usageFailure(`--${filter.flag} cannot be combined with --format ${requested}`, 'remove one of them');
  const format = formats.find((candidate) => candidate === requested);
  if (format) return format;
  throw usageFailure('--json does not apply to this result', `use --format ${joinWithOr(formats)}`);
}

function isJsonFormat(format: string): boolean {
  return format === 'json' || format === 'jsonl';
}
