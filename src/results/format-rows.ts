import { compactChunks } from '../json/format-json.ts';
import { getMember, type JsonNode, kindOf, membersOf, stringOf } from '../json/json-node.ts';
import { escapeControlCharacters } from '../output/escape-controls.ts';
import { alignedLines, columnWidths, fitWidths, lineWidth, padToWidth, splitByWidth } from './align-columns.ts';

/** The names of all fields that the records have, in the order they appear. */
export function columnNames(records: Iterable<JsonNode>): string[] {
  const names = new Set<string>();
  for (const record of records) for (const { key } of membersOf(record)) names.add(key);
  return [...names];
}

/** The cells of each record, one for each column; JSON text for what is not a string, nothing for what is absent. */
export function* recordCells(records: Iterable<JsonNode>, columns: readonly string[]): Generator<string[]> {
  for (const record of records)
    yield columns.map((name) => {
      const value = getMember(record, name);
      return value ? cellText(value) : '';
    });
}

/** The rules for fitting a table to a narrow terminal, by the headings of its columns. */
export interface TableFit {
  /** Columns whose cells break only between words, such as ids, which people copy. */
  readonly unbroken: readonly string[];
  /** Columns that are left out while the others have no room, the first one first. */
  readonly optional: readonly string[];
}

// A column of cells that break anywhere needs no more than this to be useful.
const USEFUL_WIDTH = 16;

/** Rows of cells as a table that fits into `columns`. */
export function* tableLines(
  rows: () => Iterable<readonly string[]>,
  columns = Infinity,
  { unbroken, optional }: TableFit = { unbroken: [], optional: [] },
): Generator<string> {
  const flattenCells = function* (): Generator<string[]> {
    for (const row of rows()) yield row.map(toSingleLine);
  };
  const [headings = []] = flattenCells();
  const widths = columnWidths(flattenCells());
  const wordWidths = unbroken.length > 0 ? columnWidths(longestWords(flattenCells())) : [];
  const minWidths = headings.map((heading, at) => (unbroken.includes(heading) ? (wordWidths[at] ?? 0) : 0));
  const neededWidths = widths.map((width, at) => minWidths[at] || Math.min(width, USEFUL_WIDTH));
  let shown = [...headings.keys()];
  const pick = <T>(values: readonly T[]): T[] => shown.flatMap((at) => values[at] ?? []);
  for (const heading of optional)
    if (lineWidth(pick(neededWidths)) > columns) shown = shown.filter((at) => headings[at] !== heading);
  const fitted = fitWidths(pick(widths), columns, pick(minWidths));
  for (const row of flattenCells()) yield alignedLines(pick(row), fitted);
}

function* longestWords(rows: Iterable<readonly string[]>): Generator<string[]> {
  for (const row of rows)
    yield row.map((cell) => cell.split(' ').reduce((longest, word) => (word.length > longest.length ? word : longest)));
}

/** The fields of one record, one per line; values that do not fit into `columns` take several lines. */
export function* recordLines(record: JsonNode, columns = Infinity): Generator<string> {
  const rows = Array.from(membersOf(record), ({ key, value }) => [key, cellText(value)].map(toSingleLine));
  const keyWidth = Math.min(columnWidths(rows)[0] ?? 0, Math.ceil(columns / 2));
  for (const [key = '', value = ''] of rows) {
    const [first = '', ...rest] = splitByWidth(value, Math.max(1, columns - keyWidth - 2));
    yield `${padToWidth(key, keyWidth)}  ${first}`.trimEnd().concat('\n');
    for (const piece of rest) yield `${' '.repeat(keyWidth + 2)}${piece}\n`;
  }
}

/** The fields of one record as lines of name, tab and value. */
export function* recordText(record: JsonNode): Generator<string> {
  for (const { key, value } of membersOf(record)) yield `${toSingleLine(key)}\t${toSingleLine(cellText(value))}\n`;
}

/** Rows of cells separated by tabs, for `cut` and `while read`. */
export function* tabbedLines(rows: Iterable<readonly string[]>): Generator<string> {
  for (const row of rows) yield `${row.map((cell) => cell.replace(/[\t\n\r]/g, ' ')).join('\t')}\n`;
}

/** Rows as comma-separated values (RFC 4180). */
export function* csvLines(rows: Iterable<readonly string[]>): Generator<string> {
  for (const row of rows) yield `${row.map((cell) => csvCell(cell, row.length)).join(',')}\r\n`;
}

/** Rows as tab-separated values; tabs, line breaks and backslashes in a cell are written as \t, \n, \r and \\. */
export function* tsvLines(rows: Iterable<readonly string[]>): Generator<string> {
  const escapes: { readonly [character: string]: string } = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
  for (const row of rows)
    yield `${row.map((cell) => cell.replace(/[\\\t\n\r]/g, (one) => escapes[one] ?? one)).join('\t')}\n`;
}

// An empty line would not be a row.
function csvCell(cell: string, cells: number): string {
  if (cell === '') return cells === 1 ? '""' : '';
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function cellText(value: JsonNode): string {
  const kind = kindOf(value);
  if (kind === 'null') return '';
  return kind === 'string' ? stringOf(value) : Array.from(compactChunks(value)).join('');
}

function toSingleLine(text: string): string {
  return escapeControlCharacters(text.replace(/[\t\n\r]/g, ' '));
}
