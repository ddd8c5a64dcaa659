import type { Context } from '../context.ts';
import { LINE_FEED } from '../json/json-bytes.ts';
import { getMember, itemsOf, type JsonDocument, type JsonNode, kindOf, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { compactChunks, indentChunks, type JsonValue, writeJson } from '../json/write-json.ts';
import {
  chooseFormat,
  type OutputFormat,
  type ResultKind,
  type ResultOptions,
  requestedFilter,
} from '../output/output-format.ts';
import type { Reporter } from '../output/reporter.ts';
import type { TextStyle } from '../output/text-style.ts';
import { ignoreClosedPipe, type Writer } from '../output/writer.ts';
import {
  columnNames,
  createFormulaGuard,
  csvLines,
  type FormulaGuard,
  recordCells,
  recordLines,
  recordText,
  type TableFit,
  tabbedLines,
  tableLines,
  tsvLines,
} from './format-rows.ts';
import { yamlChunks } from './format-yaml.ts';
import type { JqFilter } from './jq-filter.ts';
import { lossyValueWarnings } from './lossy-values.ts';

export interface StyledText {
  readonly text: string;
  readonly style?: TextStyle | undefined;
}

/** A result of a command: its JSON, and how people see it if the JSON alone is not readable enough. */
interface PrintableResult {
  /** The whole result, with every digit as received. */
  readonly doc: JsonDocument;
  /** The field whose elements are the rows. An array is its own rows; any other value is one record. */
  readonly rowsField?: string | undefined;
  readonly columns?: readonly string[] | undefined;
  /** The text for people, in place of tab-separated fields. */
  readonly text?: () => string | Iterable<StyledText>;
  /** The rows of the table, headings first, in place of those of the JSON. */
  readonly table?: () => Iterable<readonly string[]>;
  readonly tableFit?: TableFit;
  /** Its JSON is indented even in a pipe, because it is kept in a file. */
  readonly isIndented?: boolean;
  readonly emptyNote?: string | undefined;
}

/** The format and the destination of a result, known before anything is sent. */
export interface ResultOutput {
  readonly format: OutputFormat;
  readonly filter: JqFilter | undefined;
  readonly writer: Writer;
  readonly report: Reporter;
  /** Cells of CSV and TSV that a spreadsheet would run begin with a `'`. */
  readonly isSpreadsheetSafe?: boolean | undefined;
}

/** The output of a command that prints on stdout. Throws usage as chooseFormat does, and for an invalid filter. */
export async function openResultOutput(
  kind: ResultKind,
  options: ResultOptions,
  context: Context,
): Promise<ResultOutput> {
  const { stdout, report } = context;
  const format = chooseFormat(kind, options, stdout.isTerminal);
  const filter = await openResultFilter(options, context);
  return { format, filter, writer: stdout, report, isSpreadsheetSafe: options.spreadsheetSafe };
}

export async function openResultFilter(
  options: Partial<ResultOptions>,
  context: Context,
  remainingMs?: () => number,
): Promise<JqFilter | undefined> {
  const requested = requestedFilter(options);
  if (requested === undefined) return undefined;
  const { compileJqFilter } = await import('./jq-filter.ts');
  return compileJqFilter(requested.filter, context, { remainingMs });
}

export function resultOf(value: JsonValue): PrintableResult {
  return { doc: parseJson(writeJson(value)) };
}

/** Prints a result in its format, with a final line break. Every command prints its result with this function. */
export async function printResult(result: PrintableResult, output: ResultOutput): Promise<void> {
  const { format, filter, writer, report } = output;
  if (filter) {
    const input = format === 'jsonl' ? Array.from(jsonLines(recordsOf(result))).join('') : result.doc.bytes.toString();
    return printFiltered(input, filter, writer.write);
  }
  if (format === 'yaml')
    for (const warning of lossyValueWarnings(result.doc.bytes.toString(), '--format yaml')) await report.warn(warning);
  const formulas = createFormulaGuard(output.isSpreadsheetSafe, report);
  const pieces = formatResult(result, format, writer, formulas.guard);
  for (const piece of pieces) {
    if (typeof piece === 'string' || piece instanceof Uint8Array) await writer.write(piece);
    else await writer.write(piece.text, piece.style);
  }
  await formulas.finish();
  const isForPeople = format === 'table' || format === 'text';
  if (isForPeople && result.emptyNote && isEmpty(result)) await report.note(result.emptyNote);
}

/** Prints the output of a filter. What comes before an error is printed, as jq does; then the error is thrown. */
export async function printFiltered(input: string, filter: JqFilter, write: Writer['write']): Promise<void> {
  const { text, failure } = await filter.apply(input);
  if (!failure) return write(text);
  await ignoreClosedPipe(write(text));
  throw failure;
}

function formatResult(
  result: PrintableResult,
  format: OutputFormat,
  writer: Writer,
  guard: FormulaGuard['guard'],
): Iterable<string | Uint8Array | StyledText> {
  const root = rootOf(result.doc);
  switch (format) {
    case 'json':
      return colorOnTerminal(jsonChunks(result.doc, writer.isTerminal || result.isIndented === true), writer);
    case 'jsonl':
      return colorOnTerminal(jsonLines(recordsOf(result)), writer);
    case 'yaml':
      return yamlChunks(root);
    case 'csv':
      return csvLines(guardedCells(result, guard));
    case 'tsv':
      return tsvLines(guardedCells(result, guard));
    case 'table':
      return tableOf(result, writer.isTerminal ? writer.columns : undefined);
    case 'text': {
      if (!result.text && !hasRows(result)) return recordText(root);
      const text = result.text?.() ?? tabbedLines(recordCells(recordsOf(result), columnNames(recordsOf(result))));
      return typeof text === 'string' ? [text] : text;
    }
  }
}

// Elsewhere JSON has no color, even if requested: programs read it.
function* colorOnTerminal(
  chunks: Iterable<string | Uint8Array>,
  { isTerminal }: Writer,
): Generator<string | Uint8Array | StyledText> {
  for (const text of chunks) yield typeof text === 'string' && isTerminal ? { text, style: 'json' } : text;
}

// Strings hold no line feed, so one before the end is whitespace: programs that read lines get the JSON as one line.
function* jsonChunks(doc: JsonDocument, isIndented: boolean): Generator<string | Uint8Array> {
  const lineFeedAt = doc.bytes.indexOf(LINE_FEED);
  const isOneLine = lineFeedAt === -1 || lineFeedAt === doc.bytes.length - 1;
  if (isIndented) yield* indentChunks(rootOf(doc));
  else if (isOneLine) yield doc.bytes;
  else yield* compactChunks(rootOf(doc));
  if (isIndented || !isOneLine || lineFeedAt === -1) yield '\n';
}

function* jsonLines(records: Iterable<JsonNode>): Generator<string> {
  for (const record of records) {
    yield* compactChunks(record);
    yield '\n';
  }
}

function tableOf(result: PrintableResult, columns: number | undefined): Iterable<string> {
  if (isEmpty(result)) return [];
  if (result.table) return tableLines(result.table, columns, result.tableFit);
  if (!hasRows(result)) return recordLines(rootOf(result.doc), columns);
  return tableLines(() => headedCells(result, (name) => name.toUpperCase()), columns);
}

function* headedCells(result: PrintableResult, heading: (name: string) => string = String): Generator<string[]> {
  const found = columnNames(recordsOf(result));
  const names = found.length > 0 || !isEmpty(result) ? found : (result.columns ?? []);
  if (names.length === 0) return;
  yield names.map(heading);
  yield* recordCells(recordsOf(result), names);
}

function* guardedCells(result: PrintableResult, guard: FormulaGuard['guard']): Generator<readonly string[]> {
  for (const row of headedCells(result)) yield guard(row);
}

function recordsOf({ doc, rowsField }: PrintableResult): Iterable<JsonNode> {
  const root = rootOf(doc);
  const rows = rowsField === undefined ? root : getMember(root, rowsField);
  if (rows && kindOf(rows) === 'list') return itemsOf(rows);
  return rowsField === undefined ? [root] : [];
}

function hasRows({ doc, rowsField }: PrintableResult): boolean {
  return rowsField !== undefined || kindOf(rootOf(doc)) === 'list';
}

function isEmpty(result: PrintableResult): boolean {
  return hasRows(result) && [...recordsOf(result)].length === 0;
}
