import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { invalidBodyFailure } from '../../body/body-check.ts';
import { type BodyFlags, givenText, givenTexts } from '../../body/body-flags.ts';
import { buildBody } from '../../body/build-body.ts';
import type { BodyInputs } from '../../body/input-reader.ts';
import { decodeLine, decodeUtf8Text } from '../../body/json-source.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { flagName } from '../../fields/field.ts';
import { type InputLine, splitLines } from '../../files/split-lines.ts';
import type { FlagValue } from '../../flag.ts';
import { JsonError } from '../../json/json-error.ts';
import { getMember, type JsonDocument, kindOf, rawText, rootOf, stringOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { flagTarget, type Operation } from '../../operations/operation.ts';
import type { BatchFlagOptions } from '../batch-flags.ts';
import { isEmptyLine, type LineSplitter } from './batch-input.ts';

/** The text of a cell, or its JSON value as typed. Throws JsonError for a cell that is not JSON. */
type Row = (column: string, isJson: boolean) => string;

/**
 * Makes the lines of a batch of the rows of a file: CSV or TSV with a header, by its name, otherwise JSON Lines of objects. A row
 * that cannot be used becomes a line with a problem. Returns also the flags that bodies are made from. Throws usage, and what
 * building a body throws; the lines throw usage for columns that the file lacks, and Failure `body` for a file that is not CSV.
 */
export async function readRows(
  operation: Operation,
  args: readonly string[],
  options: Partial<Pick<BatchFlagOptions, 'rows' | 'prompt' | 'idColumn'>>,
  given: BodyFlags,
  tools: BodyInputs,
): Promise<{ readonly split: LineSplitter; readonly given: BodyFlags }> {
  const { rows: path = '', prompt, idColumn } = options;
  if (prompt !== undefined && args.length > 0)
    throw usageFailure('--prompt cannot be combined with a prompt as the argument', 'remove one of them');
  if (typeof operation.arguments?.as === 'object')
    throw usageFailure('svc train takes no --rows', 'make bodies of the rows, and send them with --batch');
  const { columns, usedFlags, render } = await buildTemplate(
    operation,
    prompt === undefined ? args : [prompt],
    given,
    tools,
  );
  if (idColumn !== undefined && !columns.has(idColumn)) columns.set(idColumn, '--id-column');
  const delimiter = tableDelimiter(path);
  const toLine = (
    place: Pick<InputLine, 'number' | 'offset' | 'length' | 'rowDigest'>,
    readRow: () => Row,
  ): InputLine => {
    const line = { ...place, isTorn: false, isRow: true } as const;
    try {
      const row = readRow();
      const body = render(row, place.number);
      const id = idColumn === undefined ? undefined : JSON.stringify(row(idColumn, false));
      return { ...line, bytes: Buffer.from(id === undefined ? body : `{"custom_id":${id},"body":${body}}`) };
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      return { ...line, bytes: undefined, problem: error.message };
    }
  };
  const split: LineSplitter = async function* (chunks) {
    if (delimiter !== undefined) {
      let header: readonly string[] | undefined;
      let number = 0;
      for await (const { cells, offset, digest } of readRecords(chunks, path, delimiter, operation.maxBodyBytes)) {
        if (header) {
          number += 1;
          const row = tableRow(header, cells);
          yield toLine({ number, offset, length: 0, rowDigest: digest }, () => row);
        } else header = readHeader(cells, path, columns);
      }
    } else
      for await (const line of splitLines(chunks, operation.maxBodyBytes)) {
        const { bytes } = line;
        yield bytes && !isEmptyLine(line) ? toLine(line, () => objectRow(bytes)) : line;
      }
  };
  return { split, given: usedFlags };
}

/** What separates the cells of a table, by the name of its file; undefined for a file of JSON Lines. */
export function tableDelimiter(path: string): string | undefined {
  return { '.csv': ',', '.tsv': '\t' }[extname(path).toLowerCase()];
}

interface TableRecord {
  readonly cells: readonly string[];
  /** The text of the record, without its line break. */
  readonly raw: string;
  /** Of its end. */
  readonly offset: number;
  /** Of its cells, however they are quoted, in 16 hex digits. */
  readonly digest: string;
}

/** The records of CSV or TSV. Throws Failure `body` for other text. */
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
    for await (const { record, raw, info } of parser) {
      const digest = hash('sha256', JSON.stringify(record), 'hex').slice(0, 16);
      yield { cells: record, raw: raw.replace(/^[\r\n]+|[\r\n]+$/g, ''), offset: info.bytes, digest };
    }
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

function readHeader(cells: readonly string[], path: string, columns: ReadonlyMap<string, string>): readonly string[] {
  const names = cells.map((name) => name.trim());
  for (const [column, label] of columns) {
    if (!names.includes(column))
      throw usageFailure(
        `${label} names the column ${JSON.stringify(column)}, which ${path} does not have`,
        `its columns are ${names.map((name) => JSON.stringify(name)).join(', ')}`,
      );
    if (names.indexOf(column) !== names.lastIndexOf(column))
      throw usageFailure(`${path} has two columns ${JSON.stringify(column)}`, 'rename one of them');
  }
  return names;
}

function tableRow(header: readonly string[], cells: readonly string[]): Row {
  return (column, isJson) => {
    const cell = cells[header.indexOf(column)] ?? '';
    if (isJson) parsePart(cell, `the column ${JSON.stringify(column)} is not JSON`);
    return isJson ? cell.trim() : cell;
  };
}

function objectRow(bytes: Buffer): Row {
  const root = rootOf(parsePart(bytes, 'invalid JSON'));
  return (column, isJson) => {
    const value = getMember(root, column);
    if (!value) throw new JsonError(`there is no member ${JSON.stringify(column)}`, 0);
    return kindOf(value) === 'string' && !isJson ? stringOf(value) : rawText(value);
  };
}

function parsePart(json: string | Buffer, problem: string): JsonDocument {
  try {
    return parseJson(json);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new JsonError(`${problem}: ${error.message}`, 0);
  }
}

interface Placeholder {
  readonly column: string;
  readonly isJson: boolean;
}

// JSON text of the body, or a placeholder: a whole value, or a part of a string.
type Segment = string | (Placeholder & { readonly isWhole: boolean });

const ROW_NUMBER = '#';
// The literal `{{`, a placeholder, or braces that are neither.
const BRACES = /\{\{(?:"(\{\{)"|\s*([^{}"]*?)\s*(:json)?)\}\}|\{\{/g;

// Builds the body that prompt and flags describe once, with a token for each placeholder: `{{column}}` is text, `{{column:json}}`
// a JSON value, `{{#}}` the number of the row. A cell can never become a flag, a file name or a part of JSON. The columns come
// with the flag that names each.
async function buildTemplate(operation: Operation, args: readonly string[], given: BodyFlags, tools: BodyInputs) {
  const placeholders: Placeholder[] = [];
  const columns = new Map<string, string>();
  const prefix = `svc${Buffer.from(tools.randomBytes(8)).toString('hex')}n`;
  const mark = (label: string, text: string): string => {
    const marked = text.replace(BRACES, (_, braces?: string, column?: string, json?: string) => {
      if (braces) return braces;
      if (!column)
        throw usageFailure(
          `${label} has {{ without a column`,
          'write {{column}}, {{column:json}} or {{#}}, and {{"{{"}} for the braces themselves',
        );
      if (column !== ROW_NUMBER && !columns.has(column)) columns.set(column, label);
      placeholders.push({ column, isJson: json !== undefined });
      return `${prefix}${placeholders.length - 1}z`;
    });
    return quoteJsonTokens(marked, prefix, placeholders);
  };
  // With rows, a long text is worth a file.
  const fromFile = async (value: string): Promise<string> => {
    if (!/^@[^\s{]+$/.test(value)) return value;
    const path = value.slice(1);
    return decodeLine(path, await tools.read(path));
  };
  const templateFlags = new Map(given);
  for (const [name, { kind }] of Object.entries(operation.shorthands ?? {})) {
    const text = kind === 'message' ? givenText(given, name) : undefined;
    if (text !== undefined) templateFlags.set(name, await fromFile(text));
  }
  const prompt = args.length > 0 ? await fromFile(args.join(' ')) : undefined;
  const markedFlags = new Map<string, FlagValue>();
  for (const [name, value] of templateFlags) {
    const markText = (text: string): string => mark(`--${name}`, text);
    const isArray = Array.isArray(value);
    markedFlags.set(name, typeof value === 'string' ? markText(value) : isArray ? value.map(markText) : value);
  }
  const read: BodyInputs['read'] = async (path) => {
    if (path.includes(prefix))
      throw usageFailure('a column cannot name a file', 'put the text of the file into the column');
    return Buffer.from(mark(path, decodeUtf8Text(path, await tools.read(path))));
  };
  setNumbers(operation, markedFlags, prefix);
  const base = prompt === undefined ? {} : { prompt: mark('the prompt', prompt) };
  const draft = await buildBody(
    { operation, args: [], given: markedFlags, options: {}, isStdinTerminal: true },
    { settings: undefined, base },
    { ...tools, read },
  );
  if (draft.issues.length > 0) throw invalidBodyFailure(draft.issues);
  if (placeholders.length === 0)
    throw usageFailure(
      'no flag names a column, so every row would send the same request',
      "write {{column}}, such as: svc chat --rows in.csv 'Classify: {{text}}'",
    );
  const segments = splitBody(draft.doc.bytes.toString().replaceAll('\n', ' '), prefix, placeholders);
  return {
    columns,
    usedFlags: prompt === undefined ? templateFlags : new Map([...templateFlags, ['prompt', prompt]]),
    render: (row: Row, number: number): string =>
      segments.map((segment) => (typeof segment === 'string' ? segment : renderCell(segment, row, number))).join(''),
  };
}

// `--temperature {{t}}` is `--set temperature:={{t:json}}`: the flag of a number takes no token.
function setNumbers(operation: Operation, flags: Map<string, FlagValue>, prefix: string): void {
  const token = new RegExp(`^"?${prefix}q?(\\d+)z"?$`);
  for (const [field, { type }] of Object.entries(flagTarget(operation).fields)) {
    const [, at] = token.exec(givenText(flags, flagName(field)) ?? '') ?? [];
    if (at === undefined || (type !== 'number' && type !== 'integer')) continue;
    flags.delete(flagName(field));
    flags.set('set', [...givenTexts(flags, 'set'), `${field}:="${prefix}q${at}z"`]);
  }
}

// In JSON, a token outside of a string becomes a string; splitBody removes its quotes again.
function quoteJsonTokens(text: string, prefix: string, placeholders: readonly Placeholder[]): string {
  const start = text.search(/^\s*[[{]|:=/);
  if (start === -1 || !text.includes(prefix)) return text;
  let isInString = false;
  const quoted = text.slice(start).replace(new RegExp(`\\\\.|"|${prefix}(\\d+)z`, 'gs'), (found, at?: string) => {
    if (found === '"') isInString = !isInString;
    return at !== undefined && !isInString && placeholders[Number(at)]?.isJson ? `"${prefix}q${at}z"` : found;
  });
  return text.slice(0, start) + quoted;
}

function splitBody(json: string, prefix: string, placeholders: readonly Placeholder[]): Segment[] {
  const segments: Segment[] = [];
  let from = 0;
  // A token that is a whole string, with quotes of ours in a longer string, or a part of a string.
  const tokens = new RegExp(`"${prefix}q?(\\d+)z"(?!\\s*:)|\\\\"${prefix}q(\\d+)z\\\\"|${prefix}q?(\\d+)z`, 'g');
  for (const match of json.matchAll(tokens)) {
    const [found, whole, quoted, part] = match;
    const placeholder = placeholders[Number(whole ?? quoted ?? part)];
    if (!placeholder) continue;
    const isWhole = whole !== undefined && (placeholder.isJson || found.includes(`${prefix}q`));
    // The quotes of a string that is text stay.
    const quote = whole !== undefined && !isWhole ? '"' : '';
    segments.push(json.slice(from, match.index) + quote, { ...placeholder, isWhole }, quote);
    from = match.index + found.length;
  }
  return [...segments, json.slice(from)];
}

function renderCell({ column, isJson, isWhole }: Exclude<Segment, string>, row: Row, number: number): string {
  const text = column === ROW_NUMBER ? String(number) : row(column, isJson || isWhole);
  return isWhole ? text : JSON.stringify(text).slice(1, -1);
}
