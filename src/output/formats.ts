import type { Buffer } from 'node:buffer';
import { type JsonDocument, parseJson } from '../json/document.ts';
import { compactJson, indentJson } from '../json/layout.ts';
import { itemsOf, type JsonNode, kindOf, member, membersOf, rootOf, stringOf, textOf } from '../json/node.ts';

export type Format = 'json' | 'jsonl' | 'text' | 'table';

/** How a result that is JSON is laid out. */
export interface Layout {
  readonly format: Format;
  /** The member whose elements are the rows; the whole reply is one record without it. */
  readonly rows?: string | undefined;
  /** For eyes: JSON is indented; otherwise it stays byte for byte as it came. */
  readonly isTerminal: boolean;
}

/** A JSON result in a format, with a line end at its end. Every token stays as the service wrote it. */
export function formatted(doc: JsonDocument, { format, rows, isTerminal }: Layout): string | Buffer {
  const records = rows === undefined ? [rootOf(doc)] : rowsOf(doc, rows);
  switch (format) {
    case 'json':
      return isTerminal ? `${indentJson(doc)}\n` : withFinalNewline(doc.bytes);
    case 'jsonl':
      return records.map((record) => `${compact(record)}\n`).join('');
    case 'text':
      return lines(rows === undefined ? pairs(rootOf(doc)) : cells(records, columnsOf(records)));
    case 'table':
      return aligned(rows === undefined ? pairs(rootOf(doc)) : withHeadings(records));
  }
}

function rowsOf(doc: JsonDocument, name: string): JsonNode[] {
  const list = member(rootOf(doc), name);
  return list ? Array.from(itemsOf(list)) : [];
}

function withFinalNewline(bytes: Buffer): string | Buffer {
  return bytes.at(-1) === 0x0a ? bytes : `${bytes.toString()}\n`;
}

function pairs(record: JsonNode): string[][] {
  return Array.from(membersOf(record), ({ key, value }) => [key, cell(value)]);
}

function withHeadings(records: readonly JsonNode[]): string[][] {
  const columns = columnsOf(records);
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
  return compactJson(parseJson(textOf(node)));
}

function lines(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.join('\t')}\n`).join('');
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
  return rows
    .map(
      (row) =>
        `${row
          .map((text, at) => text.padEnd(widths[at] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
