import { Buffer } from 'node:buffer';
import { extname } from 'node:path';
import { invalidBodyFailure } from '../../body/body-check.ts';
import { type BodyFlags, givenText, givenTexts } from '../../body/body-flags.ts';
import { buildBody } from '../../body/build-body.ts';
import type { BodyInputs } from '../../body/input-reader.ts';
import { decodeLine, decodeUtf8Text } from '../../body/json-source.ts';
import { expectationTemplates } from '../../client/chat-expectations.ts';
import type { ExpectationOptions } from '../../client/request-flags.ts';
import { errorMessage, Failure, usageFailure } from '../../errors.ts';
import { flagName } from '../../fields/field.ts';
import { type InputLine, splitLines } from '../../files/split-lines.ts';
import type { FlagValue } from '../../flag.ts';
import { JsonError, resemblance } from '../../json/json-error.ts';
import {
  getMember,
  type JsonDocument,
  kindOf,
  membersOf,
  nodeAtPath,
  parseJsonPath,
  rawText,
  rootOf,
  stringOf,
} from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { flagTarget, type Operation } from '../../operations/operation.ts';
import { pluralize } from '../../output/transfer-text.ts';
import type { BatchFlagOptions } from '../batch-flags.ts';
import { emptyInputFailure, isEmptyLine, type LineSplitter, rejectOtherText } from './batch-input.ts';
import { checkUtf8, rejectOtherFormats } from './input-encoding.ts';
import { isTableName, openTable, parseDelimiter } from './table-records.ts';

export type RowOptions = Pick<BatchFlagOptions, 'rows' | 'prompt' | 'idColumn' | 'delimiter'> & ExpectationOptions;

/** The text of a cell, or its JSON value as typed. Throws JsonError for a cell that is not JSON, or that an object lacks. */
type Row = (column: string, isJson: boolean, isOptional?: boolean) => string;

/**
 * Makes the lines of a batch of the rows of a file: CSV or TSV with a header, by its name or with a delimiter; lines of text, by
 * its name; otherwise JSON Lines of objects. A row
 * that cannot be used becomes a line with a problem. Returns also the flags that bodies are made from. Throws usage, and what
 * building a body throws; the lines throw usage for columns that the file lacks, and Failure `body` for a file that is not CSV.
 * `hasUnusedId` is true once a first row was read whose `id` the results will lack.
 */
export async function readRows(
  operation: Operation,
  args: readonly string[],
  options: Partial<RowOptions>,
  given: BodyFlags,
  project: string | undefined,
  tools: BodyInputs,
) {
  const { rows: path = '', prompt, idColumn, delimiter: delimiterFlag } = options;
  if (prompt !== undefined && args.length > 0)
    throw usageFailure('--prompt cannot be combined with a prompt as the argument', 'remove one of them');
  if (typeof operation.arguments?.as === 'object')
    throw usageFailure('svc train takes no --rows', 'make bodies of the rows, and send them with --batch');
  const words = prompt === undefined ? args : [prompt];
  const { columns, usedFlags, render } = await buildTemplate(operation, words, given, project, tools);
  if (idColumn !== undefined && !columns.has(idColumn)) columns.set(idColumn, '--id-column');
  const templates = expectationTemplates(options);
  for (const [, , column = ''] of templates.join(' ').matchAll(BRACES))
    if (column !== '' && column !== ROW_NUMBER && !columns.has(column)) columns.set(column, 'an expectation');
  const delimiter = delimiterFlag === undefined ? undefined : parseDelimiter(delimiterFlag);
  const isText = extname(path).toLowerCase() === '.txt' && delimiter === undefined;
  if (isText) readHeader(['line'], path, columns);
  let hasUnusedId = false;
  const toLine: ToLine = (place, readRow) => {
    const line = { ...place, isTorn: false, isRow: true } as const;
    try {
      const row = readRow();
      if (place.number === 1) hasUnusedId = idColumn === undefined && row('id', false, true) !== '';
      const body = render(row, place.number);
      const expressions =
        templates.length === 0
          ? undefined
          : new Map(templates.map((text) => [text, rowExpression(text, row, place.number)]));
      const id = idColumn === undefined ? undefined : JSON.stringify(row(idColumn, false));
      const bytes = Buffer.from(id === undefined ? body : `{"custom_id":${id},"body":${body}}`);
      return { ...line, bytes, expressions };
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      return { ...line, bytes: undefined, problem: error.message, resembles: resemblance(error.unexpected, {}) };
    }
  };
  const { maxBodyBytes } = operation;
  const split: LineSplitter =
    delimiter !== undefined || isTableName(path)
      ? (chunks) => tableLines(chunks, { path, columns, delimiter, maxBodyBytes }, toLine)
      : (chunks) => textLines(chunks, { path, isText, maxBodyBytes }, toLine);
  const lineFlags: BodyFlags = new Map([...given].filter(([name]) => isNewId(operation, name)));
  return { split, given: usedFlags, lineFlags, hasUnusedId: () => hasUnusedId };
}

type ToLine = (place: Pick<InputLine, 'number' | 'offset' | 'length' | 'rowDigest'>, readRow: () => Row) => InputLine;

interface RowFile {
  readonly path: string;
  readonly maxBodyBytes: number;
}

async function* tableLines(
  chunks: AsyncIterable<Uint8Array>,
  file: RowFile & { readonly columns: ReadonlyMap<string, string>; readonly delimiter: string | undefined },
  toLine: ToLine,
): AsyncGenerator<InputLine> {
  const { path, columns } = file;
  const { records } = await openTable(chunks, path, file.delimiter, file.maxBodyBytes);
  const header = (await records.next()).value;
  const names = header && readHeader(header.cells, path, columns);
  let number = 0;
  for await (const { cells, offset, digest } of records) {
    number += 1;
    yield toLine({ number, offset, length: 0, rowDigest: digest }, () => tableRow(names ?? [], cells));
  }
  if (number === 0) throw emptyInputFailure('rows', path, names ? 'it has a header, and no rows' : 'it is empty');
}

async function* textLines(
  chunks: AsyncIterable<Uint8Array>,
  { path, maxBodyBytes, isText }: RowFile & { readonly isText: boolean },
  toLine: ToLine,
): AsyncGenerator<InputLine> {
  const known = rejectOtherFormats(chunks, path);
  let rows = 0;
  for await (const line of splitLines(isText ? known : rejectOtherText(known, path), maxBodyBytes)) {
    const { bytes } = line;
    const isRow = !isEmptyLine(line);
    if (isRow) rows += 1;
    if (bytes && isText) checkUtf8(bytes, path);
    yield bytes && isRow ? toLine(line, () => (isText ? textRow(bytes) : objectRow(bytes))) : line;
  }
  if (rows === 0) throw emptyInputFailure('rows', path, 'it is empty');
}

// An id that is new in each row is no part of the template.
function isNewId({ shorthands = {} }: Operation, name: string): boolean {
  return shorthands[name]?.kind === 'new-id';
}

function readHeader(cells: readonly string[], path: string, columns: ReadonlyMap<string, string>): readonly string[] {
  const names = cells.map((name) => name.trim());
  for (const [column, label] of columns) {
    if (!names.includes(column))
      throw usageFailure(
        `${label} names the column ${JSON.stringify(column)}, which ${path} does not have`,
        `${filterHint(column)}${columnsHint(names)}`,
      );
    if (names.indexOf(column) !== names.lastIndexOf(column))
      throw usageFailure(`${path} has two columns ${JSON.stringify(column)}`, 'rename one of them');
  }
  return names;
}

// A single column that holds a delimiter was split at another one.
function columnsHint(names: readonly string[]): string {
  const [, found = ''] = (names.length === 1 && /([,;\t|])/.exec(names[0] ?? '')) || [];
  const write = `; write --delimiter ${found === '\t' ? 'tab' : `'${found}'`}`;
  const header = names.some((name) => /^[-+]?[\d.]+$/.test(name))
    ? '; if that line is data, put a line of names above it'
    : '';
  return `its columns are ${quoteNames(names)}${found === '' ? header : write}`;
}

function quoteNames(names: readonly string[]): string {
  const more = names.length - MAX_SHOWN_NAMES;
  const shown = names.slice(0, MAX_SHOWN_NAMES).map((name) => JSON.stringify(name));
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

const MAX_SHOWN_NAMES = 20;

// As templates of other programs have them.
function filterHint(column: string): string {
  const [name = '', filter] = column.split('|').map((part) => part.trim());
  return filter === undefined ? '' : `svc has no filters: write {{${name}}}, or {{${name}:json}} for JSON; `;
}

function tableRow(header: readonly string[], cells: readonly string[]): Row {
  if (cells.length !== header.length) {
    const [place, cause] =
      cells.length > header.length
        ? [JSON.stringify(cells[header.length]), 'has no column']
        : [JSON.stringify(header[cells.length]), 'has no cell'];
    const counts = `the row has ${cells.length} ${pluralize(cells.length, 'cell')}, and the header ${header.length}`;
    throw new JsonError(`${counts}: ${place} ${cause}; enclose cells with delimiters or line breaks in quotes`, 0);
  }
  return (column, isJson) => {
    const cell = cells[header.indexOf(column)] ?? '';
    if (isJson) parsePart(cell, `the column ${JSON.stringify(column)} is not JSON`);
    return isJson ? cell.trim() : cell;
  };
}

function textRow(bytes: Buffer): Row {
  return tableRow(['line'], [bytes.toString().replace(/^\ufeff|\r$/g, '')]);
}

// A name, or the path of a nested value.
function objectRow(bytes: Buffer): Row {
  const root = rootOf(parsePart(bytes, 'invalid JSON'));
  return (column, isJson, isOptional) => {
    const value = getMember(root, column) ?? nodeAtPath(root, parseJsonPath(column) ?? [column]);
    if (!value && isOptional) return '';
    if (!value) {
      const names = quoteNames(Array.from(membersOf(root), ({ key }) => key));
      const found = names && `; ${filterHint(column)}the row has ${names}`;
      throw new JsonError(`there is no member ${JSON.stringify(column)}${found}`, 0);
    }
    return kindOf(value) === 'string' && !isJson ? stringOf(value) : rawText(value);
  };
}

function parsePart(json: string | Buffer, problem: string): JsonDocument {
  try {
    return parseJson(json);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new JsonError(`${problem}: ${error.message}`, 0, undefined, error.unexpected);
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
async function buildTemplate(
  operation: Operation,
  args: readonly string[],
  given: BodyFlags,
  project: string | undefined,
  tools: BodyInputs,
) {
  const { prefix, placeholders, columns, mark, hideTokens } = createTokens(tools.randomBytes);
  // With rows, a long text is worth a file.
  const fromFile = async (value: string): Promise<string> => {
    if (!/^@[^\s{]+$/.test(value)) return value;
    const path = value.slice(1);
    return decodeLine(path, await tools.read(path));
  };
  const templateFlags = new Map([...given].filter(([name]) => !isNewId(operation, name)));
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
  setJsonFields(operation, markedFlags, prefix);
  const base = prompt === undefined ? {} : { prompt: mark('the prompt', prompt) };
  const draft = await buildBody(
    { operation, args: [], given: markedFlags, options: {}, isStdinTerminal: true },
    { settings: undefined, project, base },
    { ...tools, read },
  ).catch((error: unknown) => {
    throw error instanceof Failure ? hideTokens(error) : error;
  });
  if (draft.issues.length > 0) throw hideTokens(invalidBodyFailure(draft.issues));
  if (placeholders.length === 0) {
    const [, single] = /\{(\w+)\}/.exec(prompt ?? '') ?? [];
    throw usageFailure(
      'no flag names a column, so every row would send the same request',
      single
        ? `for the column ${single}, write {{${single}}}`
        : "write {{column}}, such as: svc chat --rows in.csv 'Classify: {{text}}'",
    );
  }
  const segments = splitBody(draft.doc.bytes.toString().replaceAll('\n', ' '), prefix, placeholders);
  return {
    columns,
    usedFlags: prompt === undefined ? templateFlags : new Map([...templateFlags, ['prompt', prompt]]),
    render: (row: Row, number: number): string =>
      segments.map((segment) => (typeof segment === 'string' ? segment : renderCell(segment, row, number))).join(''),
  };
}

// A token for each placeholder of a text, and the columns with the flag that names each.
function createTokens(randomBytes: BodyInputs['randomBytes']) {
  const placeholders: Placeholder[] = [];
  const columns = new Map<string, string>();
  const prefix = `svc${Buffer.from(randomBytes(8)).toString('hex')}n`;
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
  const hideTokens = (failure: Failure): Failure => {
    const text = JSON.stringify([failure.message, failure.facts.hint, failure.facts.issues]);
    const [, at] = new RegExp(`${prefix}q?(\\d+)z`).exec(text) ?? [];
    const { column } = placeholders[Number(at)] ?? {};
    if (column === undefined) return failure;
    const place = `${columns.get(column) ?? 'the body'}: {{${column}}} is not at a place for its value`;
    return usageFailure(place, `in JSON, write {{${column}:json}} for a value, and "{{${column}}}" for text`);
  };
  return { prefix, placeholders, columns, mark, hideTokens };
}

// `--temperature {{t}}` is `--set temperature:={{t:json}}`: the flag of a number or of JSON takes no token.
function setJsonFields(operation: Operation, flags: Map<string, FlagValue>, prefix: string): void {
  const token = new RegExp(`^\\s*"?${prefix}q?(\\d+)z"?\\s*$`);
  const { fields, path } = flagTarget(operation);
  const setToken = (name: string, field: string, toJson: (token: string) => string): void => {
    const [, at] = token.exec([flags.get(name)].flat().join('\n')) ?? [];
    if (at === undefined) return;
    flags.delete(name);
    flags.set('set', [...givenTexts(flags, 'set'), `${[...path, field].join('.')}:=${toJson(`"${prefix}q${at}z"`)}`]);
  };
  for (const [field, { type }] of Object.entries(fields))
    if (type !== 'string' && type !== 'boolean') setToken(flagName(field), field, (json) => json);
  for (const [name, shorthand] of Object.entries(operation.shorthands ?? {}))
    if (shorthand.kind === 'part' && shorthand.part === 'number') setToken(name, shorthand.sets[0], (json) => json);
    else if (shorthand.kind === 'reply-schema')
      setToken(
        name,
        'response_format',
        (json) => `{"type":"json_schema","json_schema":{"name":"reply","schema":${json}}}`,
      );
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

// A cell is text in the expression, never a part of its syntax.
function rowExpression(template: string, row: Row, number: number): RegExp {
  const source = template.replace(BRACES, (found, _, column?: string, json?: string) => {
    if (!column) return found;
    const cell = column === ROW_NUMBER ? String(number) : row(column, json !== undefined);
    return cell.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  });
  if (source === '') throw new JsonError(`the expectation ${template} is empty, so every text would match`, 0);
  try {
    return new RegExp(source, 'u');
  } catch (error) {
    throw new JsonError(`the expectation ${template} is not valid: ${errorMessage(error)}`, 0);
  }
}
