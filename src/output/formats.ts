import type { JsonDocument } from '../json/document.ts';
import { compactPieces, indentPieces } from '../json/layout.ts';
import { itemsOf, type JsonNode, kindOf, member, membersOf, rootOf, stringOf } from '../json/node.ts';
import { aligned } from './aligned.ts';

export type Format = 'json' | 'jsonl' | 'text' | 'table';

/** How a result that is JSON is laid out. */
export interface Layout {
  readonly format: Format;
  /** The member whose elements are the rows; the whole reply is one record without it. */
  readonly rows?: string | undefined;
  /** For eyes: JSON is indented; otherwise it stays byte for byte as it came. */
  readonly isTerminal: boolean;
}

// Beyond so many cells a table is for nobody's eyes.
const MOST_CELLS = 100_000;

/**
 * A JSON result in a format, piece by piece, with a line end at its end. Every token stays as the service wrote it. What
 * is too large for a table comes as lines of JSON.
 */
export function* formatted(doc: JsonDocument, { format, rows, isTerminal }: Layout): Generator<string | Uint8Array> {
  const root = rootOf(doc);
  const records = rows === undefined ? [root] : rowsOf(doc, rows);
  if (format === 'json' && isTerminal) {
    yield* indentPieces(root);
    yield '\n';
  } else if (format === 'json') {
    yield doc.bytes;
    if (doc.bytes.at(-1) !== 0x0a) yield '\n';
  } else if (format === 'jsonl' || doc.tape.length / 3 > MOST_CELLS) {
    yield* linesOfJson(records);
  } else {
    yield rows === undefined ? ofRecord(root, format) : ofRows(records, format);
  }
}

function* linesOfJson(records: readonly JsonNode[]): Generator<string> {
  for (const record of records) {
    yield* compactPieces(record);
    yield '\n';
  }
}

function ofRecord(record: JsonNode, format: 'text' | 'table'): string {
  return format === 'text' ? lines(pairs(record)) : aligned(pairs(record));
}

function ofRows(records: readonly JsonNode[], format: 'text' | 'table'): string {
  const columns = columnsOf(records);
  if (records.length * columns.length > MOST_CELLS) return Array.from(linesOfJson(records)).join('');
  return format === 'text' ? lines(cells(records, columns)) : aligned(withHeadings(records, columns));
}

function rowsOf(doc: JsonDocument, name: string): JsonNode[] {
  const list = member(rootOf(doc), name);
  return list ? Array.from(itemsOf(list)) : [];
}

function pairs(record: JsonNode): string[][] {
  return Array.from(membersOf(record), ({ key, value }) => [key, cell(value)]);
}

function withHeadings(records: readonly JsonNode[], columns: readonly string[]): string[][] {
  return records.length === 0 ? [] : [columns.map((name) => name.toUpperCase()), ...cells(records, columns)];
}

function columnsOf(records: readonly JsonNode[]): string[] {
  return [...new Set(records.flatMap((record) => Array.from(membersOf(record), ({ key }) => key)))];
}

function cells(records: readonly JsonNode[], columns: readonly string[]): string[][] {
  return records.map((record) =>
    columns.map((name) => {
      const value = member(record, name);
      return value ? cell(value) : '';
    }),
  );
}

function cell(value: JsonNode): string {
  return kindOf(value) === 'string' ? stringOf(value).replace(/[\t\n\r]/g, ' ') : compact(value);
}

function compact(node: JsonNode): string {
  return Array.from(compactPieces(node)).join('');
}

function lines(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.join('\t')}\n`).join('');
}
