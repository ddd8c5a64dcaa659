import { getMember, type JsonNode, kindOf, membersOf, stringOf } from '../json/json-node.ts';
import { compactJson } from '../json/write-json.ts';
import { escapeControlCharacters } from '../output/escape-controls.ts';
import type { Reporter } from '../output/reporter.ts';
import { pluralize } from '../output/transfer-text.ts';

/** Rows as lines of text, their columns aligned and two spaces apart; limited to a width if one is given, except paths and URLs. */
export function alignColumns(rows: readonly (readonly string[])[], columns = Infinity): string {
  const widths = fitWidths(columnWidths(rows), columns);
  return rows.map((row) => alignedLines(row, widths, isPath)).join('');
}

/** The widest cell of each column, in columns of a terminal. */
function columnWidths(rows: Iterable<readonly string[]>): number[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, text] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, displayWidth(text));
  return widths;
}

// A narrower column says nothing.
const MIN_COLUMN_WIDTH = 6;

/** The widths made to fit a line: the widest columns give way first, none below 6 columns or its own minimum. */
function fitWidths(widths: readonly number[], columns: number, minWidths: readonly number[] = []): number[] {
  const fitted = [...widths];
  const canShrink = (width: number, at: number): boolean => width > Math.max(MIN_COLUMN_WIDTH, minWidths[at] ?? 0);
  for (let excess = lineWidth(widths) - columns; excess > 0; excess -= 1) {
    const widest = Math.max(...fitted.filter(canShrink));
    const at = fitted.findIndex((width, index) => width === widest && canShrink(width, index));
    if (at === -1) break;
    fitted[at] = widest - 1;
  }
  return fitted;
}

/** The width of a line of columns that are two spaces apart. */
function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 2 * (widths.length - 1));
}

/** One row as lines of text; a cell that is longer than its column breaks between words, and a longer word loses its middle. */
function alignedLines(row: readonly string[], widths: readonly number[], isWhole = (_: string) => false): string {
  const cells = row.map((text, at) => (isWhole(text) ? [text] : wrapByWidth(text, widths[at] ?? 0)));
  const height = Math.max(...cells.map((pieces) => pieces.length));
  const lines = Array.from({ length: height }, (_, line) =>
    cells.map((pieces, at) => padToWidth(pieces[line] ?? '', widths[at] ?? 0)).join('  '),
  );
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

// To be copied, it must not lose its middle.
function isPath(text: string): boolean {
  return /^(?:[~.]?\/|[a-z][a-z\d+.-]*:\/\/|[a-z]:\\)/i.test(text);
}

function wrapByWidth(text: string, columns: number): string[] {
  if (displayWidth(text) <= columns) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && displayWidth(`${last} ${word}`) <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(shortenMiddle(word, columns));
  }
  return lines;
}

// The ends of ids and paths say most.
function shortenMiddle(word: string, columns: number): string {
  if (displayWidth(word) <= columns) return word;
  const [start = ''] = splitByWidth([...word], Math.ceil((columns - 1) / 2));
  const [end = ''] = splitByWidth([...word].reverse(), Math.floor((columns - 1) / 2));
  return `${start}…${[...end].reverse().join('')}`;
}

const printableAscii = /^[\x20-\x7e]*$/;
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]$/u;

// East Asian Wide and Fullwidth, and emoji that terminals draw two columns wide (Unicode, EastAsianWidth.txt).
const doubleWidth =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}])$/u;

/** The number of columns a text takes on a terminal: CJK characters and emoji take two, combining marks none. */
export function displayWidth(text: string): number {
  if (printableAscii.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** The text padded with spaces to a width in columns. */
function padToWidth(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}

/** The characters in pieces up to a width in columns. */
function splitByWidth(characters: Iterable<string>, columns: number): string[] {
  const pieces: string[] = [];
  let piece = '';
  let width = 0;
  for (const character of characters) {
    width += characterWidth(character);
    if (width > columns && piece !== '') {
      pieces.push(piece);
      piece = '';
      width = characterWidth(character);
    }
    piece += character;
  }
  return [...pieces, piece];
}

function characterWidth(character: string): number {
  if (zeroWidth.test(character)) return 0;
  return doubleWidth.test(character) ? 2 : 1;
}

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
  /** Columns whose cells stay whole, such as ids, which people copy. */
  readonly unbroken: readonly string[];
  /** Columns that are left out while the others have no room: first those with one value in all rows, then in this order. */
  readonly optional: readonly string[];
}

// A column of cells that break anywhere needs no more than this to be useful.
const USEFUL_WIDTH = 16;

/** Rows of cells as a table that fits into `columns`; the last line names the columns that are left out. */
export function* tableLines(
  rows: () => Iterable<readonly string[]>,
  columns = Infinity,
  { unbroken, optional }: TableFit = { unbroken: [], optional: [] },
): Generator<string> {
  const flattenCells = function* (): Generator<string[]> {
    for (const row of rows()) yield row.map(toSingleLine);
  };
  const [headings = [], first = [], second] = flattenCells();
  // A single row differs from no other; `-` is no value.
  const differing = new Set<string>();
  for (const row of optional.length === 0 ? [] : flattenCells())
    for (const [at, heading] of headings.entries())
      if (row[at] !== heading && row[at] !== (second ? first[at] : '-')) differing.add(heading);
  const leastFirst = optional.toSorted((one, other) => Number(differing.has(one)) - Number(differing.has(other)));
  const widths = columnWidths(flattenCells());
  const minWidths = headings.map((heading, at) => (unbroken.includes(heading) ? (widths[at] ?? 0) : 0));
  const neededWidths = widths.map((width, at) => minWidths[at] || Math.min(width, USEFUL_WIDTH));
  let shown = [...headings.keys()];
  const pick = <T>(values: readonly T[]): T[] => shown.flatMap((at) => values[at] ?? []);
  for (const heading of leastFirst)
    if (lineWidth(pick(neededWidths)) > columns) shown = shown.filter((at) => headings[at] !== heading);
  const fitted = fitWidths(pick(widths), columns, pick(minWidths));
  for (const row of flattenCells()) yield alignedLines(pick(row), fitted);
  const hidden = headings.filter((_, at) => !shown.includes(at));
  if (hidden.length > 0) yield `hidden: ${hidden.join(', ')} (widen the terminal)\n`;
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

// A number is not a formula, and stays one.
const FORMULA = /^(?![+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$)[=+\-@\t\r]/i;

export type FormulaGuard = ReturnType<typeof createFormulaGuard>;

/** Finds cells that a spreadsheet would run as formulas, and puts a `'` before them if requested; otherwise, `finish` warns about them. */
export function createFormulaGuard(isEscaping: boolean | undefined, { warn }: Pick<Reporter, 'warn'>) {
  let count = 0;
  return {
    guard: (row: readonly string[]): readonly string[] => {
      const formulas = row.filter((cell) => FORMULA.test(cell)).length;
      count += formulas;
      return isEscaping && formulas > 0 ? row.map((cell) => (FORMULA.test(cell) ? `'${cell}` : cell)) : row;
    },
    finish: async (): Promise<void> => {
      if (isEscaping || count === 0) return;
      const cells = `${count} ${pluralize(count, 'cell begins', 'cells begin')} with =, +, -, @, a tab or a carriage return`;
      await warn(`${cells}; spreadsheets may run them as formulas; --spreadsheet-safe puts a ' before them`);
    },
  };
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
  return kind === 'string' ? stringOf(value) : compactJson(value);
}

function toSingleLine(text: string): string {
  return escapeControlCharacters(text.replace(/[\t\n\r]/g, ' '));
}
