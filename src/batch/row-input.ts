import { Buffer } from 'node:buffer';
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Failure, usageFailure } from '../errors.ts';
import { type InputLine, splitLines } from '../files/split-lines.ts';
import { JsonError } from '../json/json-error.ts';
import { getMember, kindOf, rawText, rootOf, stringOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { isEmptyLine, type LineSplitter } from './batch-input.ts';
import type { Row, RowTemplate } from './row-template.ts';

/** What the rows of a file become. */
export interface RowOptions {
  readonly template: RowTemplate;
  /** The column whose text is the `custom_id` of a line. */
  readonly idColumn: string | undefined;
  readonly maxLineBytes: number;
}

/**
 * Makes the lines of a batch of the rows of a file: CSV or TSV with a header, by its name, otherwise JSON Lines of objects. Line
 * numbers are those of rows, without the header. A row that cannot be used becomes a line with a problem. The lines throw usage
 * for columns that the file lacks, and Failure `body` for a file that is not CSV.
 */
export function rowSplitter(path: string, options: RowOptions): LineSplitter {
  const delimiter = tableDelimiter(path);
  return (chunks) => (delimiter ? readTable(chunks, path, delimiter, options) : readObjects(chunks, options));
}

/** What separates the cells of a table, by the name of its file; undefined for a file of JSON Lines. */
export function tableDelimiter(path: string): string | undefined {
  return { '.csv': ',', '.tsv': '\t' }[extname(path).toLowerCase()];
}

async function* readTable(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
  delimiter: string,
  options: RowOptions,
): AsyncGenerator<InputLine> {
  let header: ReadonlyMap<string, number> | undefined;
  let number = 0;
  for await (const { cells, offset } of readRecords(chunks, path, delimiter, options.maxLineBytes)) {
    if (header) {
      number += 1;
      const positions = header;
      const text = (column: string): string => cells[positions.get(column) ?? -1] ?? '';
      yield toLine({ text, json: (column) => validJson(column, text(column)) }, { number, offset, length: 0 }, options);
    } else header = readHeader(cells, path, options);
  }
}

/** A record of CSV or TSV. */
interface TableRecord {
  readonly cells: readonly string[];
  /** As it stands in the file, without its line break. */
  readonly raw: string;
  /** Of its end, in bytes. */
  readonly offset: number;
}

/** The records of CSV or TSV, without empty lines. Throws Failure `body` for text that is not CSV in UTF-8. */
export async function* readRecords(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
  delimiter: string,
  maxRecordBytes: number,
): AsyncGenerator<TableRecord> {
  const { CsvError, parse } = await import('csv-parse');
  // Every line break ends a record: by default, only that of the header does.
  const records = { max_record_size: maxRecordBytes, skip_empty_lines: true, record_delimiter: ['\r\n', '\n', '\r'] };
  const parser = parse({ bom: true, delimiter, info: true, raw: true, ...records });
  // Its errors arrive with the records.
  pipeline(Readable.from(decodeText(chunks, path)), parser).catch(() => {});
  try {
    for await (const { record, raw, info } of parser)
      yield { cells: record, raw: raw.replace(/^[\r\n]+|[\r\n]+$/g, ''), offset: info.bytes };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new Failure('body', `${path} is not valid CSV: ${error.message}`, { applied: 'no' });
  }
}

// The library would replace invalid bytes.
async function* decodeText(chunks: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Failure('body', `${path} is not UTF-8`, { hint: `convert it: iconv -t UTF-8 ${path}`, applied: 'no' });
  }
}

function readHeader(names: readonly string[], path: string, { template, idColumn }: RowOptions): Map<string, number> {
  const positions = new Map(names.map((name, at) => [name.trim(), at]));
  const needed = [...template.columns, ...(idColumn === undefined ? [] : [[idColumn, '--id-column'] as const])];
  for (const [column, label] of needed) {
    if (!positions.has(column))
      throw usageFailure(
        `${label} names the column ${JSON.stringify(column)}, which ${path} does not have`,
        `its columns are ${names.map((name) => JSON.stringify(name.trim())).join(', ')}`,
      );
    if (names.filter((name) => name.trim() === column).length > 1)
      throw usageFailure(`${path} has two columns ${JSON.stringify(column)}`, 'rename one of them');
  }
  return positions;
}

async function* readObjects(chunks: AsyncIterable<Uint8Array>, options: RowOptions): AsyncGenerator<InputLine> {
  for await (const line of splitLines(chunks, options.maxLineBytes))
    yield line.bytes && !isEmptyLine(line) ? readObject(line, line.bytes, options) : line;
}

function readObject(line: InputLine, bytes: Buffer, options: RowOptions): InputLine {
  try {
    const root = rootOf(parseJson(bytes));
    const member = (column: string) => {
      const value = getMember(root, column);
      if (value) return value;
      throw new JsonError(`there is no member ${JSON.stringify(column)}`, 0);
    };
    const text = (column: string): string => {
      const value = member(column);
      return kindOf(value) === 'string' ? stringOf(value) : rawText(value);
    };
    return toLine({ text, json: (column) => rawText(member(column)) }, line, options);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { ...line, bytes: undefined, problem: `invalid JSON: ${error.message}`, isRow: true };
  }
}

function toLine(
  row: Row,
  place: Pick<InputLine, 'number' | 'offset' | 'length'>,
  { template, idColumn }: RowOptions,
): InputLine {
  const line = { ...place, isTorn: false, isRow: true } as const;
  try {
    const body = template.render(row, place.number);
    const id = idColumn === undefined ? undefined : JSON.stringify(row.text(idColumn));
    return { ...line, bytes: Buffer.from(id === undefined ? body : `{"custom_id":${id},"body":${body}}`) };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { ...line, bytes: undefined, problem: error.message };
  }
}

function validJson(column: string, cell: string): string {
  try {
    parseJson(cell);
    return cell.trim();
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new JsonError(`the column ${JSON.stringify(column)} is not JSON: ${error.message}`, 0);
  }
}
