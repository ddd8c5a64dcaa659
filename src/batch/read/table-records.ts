import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { extname } from 'node:path';
import { Failure, usageFailure } from '../../errors.ts';
import { decodeText } from './input-encoding.ts';

export interface TableRecord {
  readonly cells: readonly string[];
  /** The text of the record, without its line break. */
  readonly raw: string;
  /** Of its end. */
  readonly offset: number;
  /** Of its cells, however they are quoted, in 16 hex digits. */
  readonly digest: string;
}

export interface Table {
  readonly delimiter: string;
  /** A line `sep=;` before the header, with its line break. */
  readonly preamble: string;
  /** Throws Failure `body` for text that has no records. */
  readonly records: AsyncGenerator<TableRecord, undefined>;
}

const DELIMITERS = [',', ';', '\t', '|'];

/** True for a file of CSV or TSV, by its name. */
export function isTableName(path: string): boolean {
  return ['.csv', '.tsv'].includes(extname(path).toLowerCase());
}

/** The character that `--delimiter` names. Throws usage. */
export function parseDelimiter(text: string): string {
  const delimiter = text === 'tab' || text === '\\t' ? '\t' : text;
  if (delimiter.length === 1 && !'"\r\n'.includes(delimiter)) return delimiter;
  throw usageFailure(`--delimiter cannot be ${JSON.stringify(text)}`, "write one character, such as ';', or tab");
}

/**
 * Reads CSV, or TSV by the name of the file. Without a delimiter, that of CSV is found in `sep=;` or in the header. In TSV a
 * quote is text, unless it encloses the cell. Throws Failure `body` for other text.
 */
export async function openTable(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
  requestedDelimiter: string | undefined,
  maxRecordChars: number,
): Promise<Table> {
  const texts = decodeText(chunks, path);
  const isTsv = extname(path).toLowerCase() === '.tsv';
  let text = '';
  let isLast = false;
  const readMore = async (): Promise<void> => {
    const { value, done } = await texts.next();
    if (text === '' && value !== undefined) text = value.replace(/^\ufeff/, '');
    else text += value ?? '';
    isLast = done === true;
  };
  while (!isLast && text.length < maxRecordChars && !/[\r\n]./s.test(text)) await readMore();
  const [preamble = '', named] = /^sep=([^\r\n])(?:\r\n|\n|\r)/i.exec(text) ?? [];
  text = text.slice(preamble.length);
  const [headerLine = ''] = /^(?:"(?:[^"]|"")*"|[^"\r\n]|"(?![^"]*"))*/.exec(text.trimStart()) ?? [];
  const delimiter = requestedDelimiter ?? named ?? (isTsv ? '\t' : findDelimiter(headerLine));
  const records = async function* (): AsyncGenerator<TableRecord, undefined> {
    let offset = preamble.length;
    let row = 0;
    for (let at = 0; ; ) {
      const record = parseRecord(text, at, { delimiter, isTsv, isLast, maxRecordChars });
      if (record === undefined) {
        text = text.slice(at);
        at = 0;
        // A long record is parsed again each time it has doubled, not at every chunk.
        const wanted = text.length > MAX_EAGER_CHARS ? 2 * text.length : 0;
        do await readMore();
        while (!isLast && text.length < wanted);
        if (isLast && text === '') return undefined;
        continue;
      }
      if ('problem' in record) {
        const place = row === 0 ? 'the header' : `row ${row}`;
        const message = `${path} is not valid CSV: ${place}, column ${record.column}: ${record.problem}`;
        throw new Failure('body', message, { hint: QUOTE_HINT });
      }
      const { cells, end, next } = record;
      const raw = text.slice(at, end);
      offset += Buffer.byteLength(text.slice(at, next));
      at = next;
      if (raw !== '') {
        row += 1;
        yield { cells, raw, offset, digest: hash('sha256', JSON.stringify(cells), 'hex').slice(0, 16) };
      }
      if (isLast && at === text.length) return undefined;
    }
  };
  return { delimiter, preamble, records: records() };
}

const MAX_EAGER_CHARS = 1024 * 1024;
const QUOTE_HINT = 'enclose a cell that has quotes in quotes, and double each quote in it';

function findDelimiter(headerLine: string): string {
  const unquoted = headerLine.replace(/"(?:[^"]|"")*"/g, '');
  const counts = DELIMITERS.map((delimiter) => unquoted.split(delimiter).length - 1);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

interface RecordOptions {
  readonly delimiter: string;
  readonly isTsv: boolean;
  /** No text follows. */
  readonly isLast: boolean;
  readonly maxRecordChars: number;
}

type ParsedRecord =
  | { readonly cells: readonly string[]; readonly end: number; readonly next: number }
  | { readonly problem: string; readonly column: number };

// Undefined for a record whose end is not in the text.
function parseRecord(text: string, from: number, options: RecordOptions): ParsedRecord | undefined {
  const { delimiter, isTsv, isLast, maxRecordChars } = options;
  const cells: string[] = [];
  for (let at = from; ; at += 1) {
    const quoted = text[at] === '"' ? parseQuotedCell(text, at, options) : undefined;
    const isTooLong = text.length - from > maxRecordChars;
    if (quoted === 'incomplete' && !isTooLong) return undefined;
    const column = cells.length + 1;
    let end = at;
    if (typeof quoted === 'object') {
      cells.push(quoted.cell);
      end = quoted.end;
    } else {
      if (quoted !== undefined && !isTsv) {
        const problem = quoted === 'text' ? 'text after the closing quote' : 'the quote is not closed';
        return { problem: isTooLong ? 'the record exceeds the size limit of a body' : problem, column };
      }
      end = cellEnd(text, at, delimiter);
      if (end === text.length && !isLast && !isTooLong) return undefined;
      const cell = text.slice(at, end);
      if (end - from > maxRecordChars) return { problem: 'the record exceeds the size limit of a body', column };
      if (!isTsv && cell.includes('"')) return { problem: 'a quote in a cell without quotes', column };
      cells.push(cell);
    }
    if (text[end] === delimiter) {
      at = end;
      continue;
    }
    // The line feed of a carriage return may follow.
    if (text[end] === '\r' && end + 1 === text.length && !isLast) return undefined;
    return { cells, end, next: end + (text.startsWith('\r\n', end) ? 2 : end < text.length ? 1 : 0) };
  }
}

function parseQuotedCell(text: string, from: number, { delimiter, isLast }: RecordOptions) {
  let close = text.indexOf('"', from + 1);
  while (close !== -1 && text[close + 1] === '"') close = text.indexOf('"', close + 2);
  if (close === -1 || (close + 1 === text.length && !isLast)) return isLast ? 'open' : 'incomplete';
  const end = close + 1;
  const after = text[end];
  if (after !== undefined && after !== delimiter && after !== '\r' && after !== '\n') return 'text';
  return { cell: text.slice(from + 1, close).replaceAll('""', '"'), end };
}

function cellEnd(text: string, from: number, delimiter: string): number {
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === delimiter || char === '\n' || char === '\r') return at;
  }
  return text.length;
}
