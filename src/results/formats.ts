import { compactChunks, indentChunks } from '../json/format-json.ts';
import { getMember, itemsOf, type JsonNode, kindOf, membersOf, rootOf, stringOf } from '../json/json-node.ts';
import type { JsonDocument } from '../json/parse-json.ts';
import { alignColumns } from './align-columns.ts';

export type OutputFormat = 'json' | 'jsonl' | 'text' | 'table';

/** How a result that is JSON is laid out. */
export interface ResultLayout {
  readonly format: OutputFormat;
  /** The member whose elements are the rows; the whole reply is one record without it. */
  readonly rows?: string | undefined;
  /** For eyes: JSON is indented; otherwise it stays byte for byte as it came. */
  readonly isTerminal: boolean;
}

// Beyond so many cells a table is for nobody's eyes.
const MAX_TABLE_CELLS = 100_000;

/**
 * A JSON result in a format, piece by piece, with a line end at its end. Every token stays as the service wrote it. What
 * is too large for a table comes as lines of JSON.
 */
export function* formatResult(
  doc: JsonDocument,
  { format, rows, isTerminal }: ResultLayout,
): Generator<string | Uint8Array> {
  const root = rootOf(doc);
  const records = rows === undefined ? [root] : readRows(doc, rows);
  if (format === 'json' && isTerminal) {
    yield* indentChunks(root);
    yield '\n';
  } else if (format === 'json') {
    yield doc.bytes;
    if (doc.bytes.at(-1) !== 0x0a) yield '\n';
  } else if (format === 'jsonl' || doc.tape.length / 3 > MAX_TABLE_CELLS) {
    yield* jsonLines(records);
  } else {
    yield rows === undefined ? formatRecord(root, format) : formatRows(records, format);
  }
}

function* jsonLines(records: readonly JsonNode[]): Generator<string> {
  for (const record of records) {
    yield* compactChunks(record);
    yield '\n';
  }
}

function formatRecord(record: JsonNode, format: 'text' | 'table'): string {
  return format === 'text' ? tabSeparatedLines(keyValueRows(record)) : alignColumns(keyValueRows(record));
}

function formatRows(records: readonly JsonNode[], format: 'text' | 'table'): string {
  const columns = columnsOf(records);
  if (records.length * columns.length > MAX_TABLE_CELLS) return Array.from(jsonLines(records)).join('');
  return format === 'text'
    ? tabSeparatedLines(cellRows(records, columns))
    : alignColumns(withHeadings(records, columns));
}

function readRows(doc: JsonDocument, name: string): JsonNode[] {
  const array = getMember(rootOf(doc), name);
  return array ? Array.from(itemsOf(array)) : [];
}

function keyValueRows(record: JsonNode): string[][] {
  return Array.from(membersOf(record), ({ key, value }) => [key, cellText(value)]);
}

function withHeadings(records: readonly JsonNode[], columns: readonly string[]): string[][] {
  return records.length === 0 ? [] : [columns.map((name) => name.toUpperCase()), ...cellRows(records, columns)];
}

function columnsOf(records: readonly JsonNode[]): string[] {
  return [...new Set(records.flatMap((record) => Array.from(membersOf(record), ({ key }) => key)))];
}

function cellRows(records: readonly JsonNode[], columns: readonly string[]): string[][] {
  return records.map((record) =>
    columns.map((name) => {
      const value = getMember(record, name);
      return value ? cellText(value) : '';
    }),
  );
}

function cellText(value: JsonNode): string {
  return kindOf(value) === 'string' ? stringOf(value).replace(/[\t\n\r]/g, ' ') : compactText(value);
}

function compactText(node: JsonNode): string {
  return Array.from(compactChunks(node)).join('');
}

function tabSeparatedLines(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.join('\t')}\n`).join('');
}
