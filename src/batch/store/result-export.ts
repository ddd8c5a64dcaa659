import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import type { Context } from '../../context.ts';
import { safetyFailure, usageFailure } from '../../errors.ts';
import { closestMatches, joinWithOr } from '../../fields/closest-match.ts';
import { unreadableInputFailure } from '../../files/read-input.ts';
import {
  firstStringMember,
  getMember,
  type JsonNode,
  kindOf,
  numberMember,
  rawText,
  rootOf,
} from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import type { Reporter } from '../../output/reporter.ts';
import { shellWord } from '../../output/shell-quote.ts';
import { mapLines, type Sink } from '../../output/sink.ts';
import { createFormulaGuard } from '../../results/format-rows.ts';
import { compileJqFilter, createJqEngine, type JqFilter } from '../../results/jq-filter.ts';
import { isTableName, openTable, parseDelimiter, type TableRecord } from '../read/table-records.ts';

/** Text, or the digits of a number. */
type Cell = string | readonly [string];

interface JoinOptions {
  readonly columns?: readonly string[] | undefined;
  readonly delimiter?: string | undefined;
  readonly spreadsheetSafe?: true | undefined;
}

const MAX_ROW_BYTES = 256 * 1024 * 1024;

/**
 * Prepares a sink for results that writes the rows of a CSV or TSV file, as they stand there, with columns added: `name=filter` is a
 * jq filter for the result of the row, or one of `resultColumns`, which may also stand alone. Names of columns of the file select
 * these: the rows then have exactly `columns`, in this order. A row without a result has empty cells; text is a cell as it is, in
 * quotes if it needs them or if all names have them; other values are JSON. Throws usage for columns that cannot be read; the sink
 * throws Failure `safety_check` at a row that differs from the one that was sent. `onMissing` gets the number of each row after the
 * last result.
 */
export async function prepareJoin(
  displayPath: string,
  { columns = [], delimiter, spreadsheetSafe }: JoinOptions,
  context: Context,
  onMissing: (row: number) => void,
): Promise<(sink: Sink) => Sink> {
  const { report } = context;
  rejectIncompleteJoin(displayPath, delimiter, columns);
  const formulas = createFormulaGuard(spreadsheetSafe, report);
  const table = await openJoinTable(displayPath, delimiter, formulas, context.runtime.cwd);
  // A name may have a comma.
  const entries = columns.flatMap((text) => (table.names.includes(text) ? [text] : splitColumns(text)));
  const order = entries.map((entry) => parseColumn(entry, table.names));
  const added = order.flatMap(({ name, filter }) => (filter === undefined ? [] : [{ name, filter }]));
  const filter = await compileColumns(added, context);
  await warnOfNames(order, table.names, report);
  const { rowsUpTo, restOfRows, counts } = createRowJoin(table, displayPath, order, onMissing);
  const isFilled = added.map(() => false);
  const errors: (string | undefined)[] = [];
  return (sink) => ({
    ...mapLines(sink, async (lines) => {
      const results = lines.split('\n').slice(0, -1);
      const { text, failure } = await filter.applyToLines(results.map((result) => `${result}\n`));
      if (failure) throw failure;
      const addedCells = text.split('\n');
      let whole = '';
      for (const [at, result] of results.entries()) {
        const root = rootOf(parseJson(result));
        const made: (Cell | { readonly error: string })[] = JSON.parse(addedCells[at] ?? '[]');
        const cells = made.map((cell, index): Cell => {
          isFilled[index] ||= typeof cell === 'string' ? cell !== '' : !('error' in cell);
          if (typeof cell === 'string' || !('error' in cell)) return cell;
          errors[index] ??= cell.error;
          return '';
        });
        whole += await rowsUpTo(root, cells);
      }
      return whole;
    }),
    commit: async () => {
      for await (const text of restOfRows()) await sink.writer.write(text);
      await sink.commit();
      await formulas.finish();
      const { missing, rows, unproven } = counts;
      if (unproven > 0)
        await report.warn(
          `${unproven} of ${rows} rows of ${displayPath} may have results of other rows: a result records its row only if --rows sent the table`,
        );
      if (missing === rows)
        return report.warn(
          `no row of ${displayPath} has a result: join the table that --rows sent with the outputs of that batch`,
        );
      for (const [at, column] of added.entries())
        if (!isFilled[at]) await warnOfEmptyColumn(column, errors[at], report);
    },
  });
}

function rejectIncompleteJoin(displayPath: string, delimiter: string | undefined, columns: readonly string[]): void {
  if (delimiter === undefined && !isTableName(displayPath))
    throw usageFailure(
      `--join cannot read ${displayPath}`,
      'name a file that ends in .csv or .tsv, or add --delimiter for a table',
    );
  if (columns.length === 0)
    throw usageFailure('--join needs --columns', "write --columns 'answer=.response.choices[0].message.content'");
}

/** One of the table has no filter. */
interface Column {
  readonly name: string;
  readonly filter?: string;
}
type AddedColumn = Required<Column>;

/** Filters for the results of rows, by the names of their columns. */
export const resultColumns = new Map([
  ['text', '.response.choices[0] | .message.content // .text'],
  ['latency_ms', 'select(.status) | .ms'],
  ['prompt_tokens', '.response.usage.prompt_tokens'],
  ['completion_tokens', '.response.usage.completion_tokens'],
  ['cost', '.cost'],
  ['cached_tokens', '.cached_tokens'],
  ['finish_reason', '.response.choices[0].finish_reason'],
  ['error', '.error.message'],
]);

// So that filters can use the names; `error` is jq's own.
const definitions = `${Array.from(resultColumns, ([name, filter]) => (name === 'error' ? '' : `def ${name}: ${filter};`)).join(' ')}\n`;

// The words of APIs and tools for the text of a response.
const TEXT_WORD = /^(?:content|answer|response|message|output|result|completion|reply)$/;

async function warnOfNames(order: readonly Column[], tableNames: readonly string[], { warn }: Reporter): Promise<void> {
  const selected = order.flatMap(({ name, filter }) => (filter === undefined ? name : []));
  // A header may have a name twice.
  const names = tableNames.filter((name, at) => selected.length === 0 || tableNames.indexOf(name) < at);
  for (const { name, filter } of order) {
    const own = filter === undefined && resultColumns.get(name);
    if (names.includes(name)) await warn(`two columns are called ${name}; give each its own name`);
    else if (own && !order.some((one) => one.filter === own))
      await warn(`--columns ${name} is a column of the table; for that of the results, write new_name=${name}`);
    names.push(name);
  }
}

function parseColumn(column: string, tableNames: readonly string[]): Column {
  if (tableNames.includes(column)) return { name: column };
  const [, name = column, value = column] = /^([^=]+?)\s*=\s*(.+)$/s.exec(column) ?? [];
  const filter = resultColumns.get(value) ?? (value === column ? undefined : value);
  const known =
    !/^\w+$/.test(value) || resultColumns.has(value) ? [] : TEXT_WORD.test(value) ? ['text'] : likelyColumns(value);
  const near = known.map((one) => (value === column && one !== 'text' ? one : `${name}=${one}`));
  if (value === column) near.unshift(...closestMatches(column, tableNames).slice(0, 1));
  const isSeveral = /^\w+=[^\s;=]+(?:[\s;]+\w+=[^\s;=]+)+$/.test(column);
  if (filter !== undefined && known.length === 0 && !isSeveral) return { name, filter };
  const hint = isSeveral
    ? `separate them by commas: --columns ${shellWord(column.replace(/[\s;]+/g, ','))}`
    : near.length > 0
      ? `did you mean ${joinWithOr(near)}?`
      : `write name=filter, such as code=.exit_code, with parentheses around a filter with a comma; a column of the table; or a name or name=one of ${[...resultColumns.keys()].join(', ')}`;
  throw usageFailure(`--columns cannot be ${JSON.stringify(column)}`, hint);
}

// `tokens` is a part of several names.
function likelyColumns(word: string): string[] {
  const names = [...resultColumns.keys()];
  const parts = names.filter((name) => name.split('_').includes(word));
  return parts.length > 0 ? parts : closestMatches(word, names).slice(0, 1);
}

// A filter that makes the added cells of a result; one that fails makes an error in place of its cell.
async function compileColumns(added: readonly AddedColumn[], context: Context): Promise<JqFilter> {
  const runJq = createJqEngine();
  // Each one alone first: the error of an invalid filter shows what was typed.
  for (const { name, filter } of added) {
    const write = (path: string): string => `--columns ${shellWord(`${name}=${belowResponse(path)}`)}`;
    await compileJqFilter(filter, context, { label: `--columns ${name}`, write, runJq, definitions });
  }
  const toText =
    'if . == null then "" elif type == "string" then . elif type == "number" then [tojson] else tojson end';
  const cells = added.map(({ filter }) => `(try (first((${filter}\n), null) | ${toText}) catch {error: tostring})`);
  return compileJqFilter(`[${cells.join(', ')}]`, context, { label: '--columns', runJq, definitions });
}

// `.choices` of a result is in its response.
function belowResponse(path: string): string {
  return path.replace(/^(?=\.(?:choices|usage|model)\b)/, '.response');
}

type JoinTable = Awaited<ReturnType<typeof openJoinTable>>;

async function openJoinTable(
  displayPath: string,
  requestedDelimiter: string | undefined,
  { guard }: ReturnType<typeof createFormulaGuard>,
  cwd: string,
) {
  const fail = (error: unknown): never => {
    throw unreadableInputFailure(displayPath, error);
  };
  const { delimiter, preamble, records } = await openTable(
    createReadStream(resolve(cwd, displayPath)),
    displayPath,
    requestedDelimiter === undefined ? undefined : parseDelimiter(requestedDelimiter),
    MAX_ROW_BYTES,
  ).catch(fail);
  let isAllQuoted = false;
  // Not with @csv and @tsv, which escape a NUL, and a tab or a line break, by a backslash.
  const joinCells = (cells: readonly Cell[]): string =>
    cells
      .map((cell) => {
        // A number.
        if (typeof cell === 'object') return cell[0];
        const isQuoted = isAllQuoted || /["\r\n]/.test(cell) || cell.includes(delimiter);
        return isQuoted ? `"${cell.replaceAll('"', '""')}"` : cell;
      })
      .join(delimiter);
  const nextRow = async () => (await records.next().catch(fail)).value;
  const header = await nextRow();
  // Names in quotes that need none: so has every cell.
  isAllQuoted = header?.cells.length === header?.raw.split(`"${delimiter}"`).length && header?.raw[0] === '"';
  const formatCells = (cells: readonly Cell[]): string =>
    joinCells(cells.flatMap((cell): readonly Cell[] => (typeof cell === 'string' ? guard([cell]) : [cell])));
  return {
    names: header?.cells ?? [],
    preamble,
    header,
    nextRow,
    formatCells,
    /** The text of a row, with cells added. */
    extendRow: ({ cells, raw }: TableRecord, added: readonly Cell[]): string => {
      const safe = guard(cells);
      return `${safe === cells ? raw : joinCells(safe)}${delimiter}${formatCells(added)}`;
    },
  };
}

// Goes through the rows of a table beside the results, which come in ascending order.
function createRowJoin(
  { names, preamble, header, nextRow, formatCells, extendRow }: JoinTable,
  path: string,
  order: readonly Column[],
  onMissing: (row: number) => void,
) {
  const added = order.filter(({ filter }) => filter !== undefined);
  const noCells = added.map((): Cell => ['']);
  const counts = { rows: 0, missing: 0, unproven: 0 };
  const format = (row: TableRecord, cells: readonly Cell[] = noCells): string => {
    if (added.length === order.length) return `${extendRow(row, cells)}\n`;
    const rest = cells.values();
    const all = order.map((one) => (one.filter === undefined ? row.cells[names.indexOf(one.name)] : rest.next().value));
    // An empty line would not be a row.
    return `${formatCells(all.map((cell) => cell ?? '')) || '""'}\n`;
  };
  const addedNames = added.map(({ name }) => name);
  let unwritten = preamble + (header ? format(header, addedNames) : '');
  return {
    counts,
    /** The rows before that of a result, and its own with its cells: the digest of the row that was sent, or the id, shows that it is. */
    rowsUpTo: async (result: JsonNode | undefined, cells: readonly Cell[]): Promise<string> => {
      const line = numberMember(result, 'line') ?? 0;
      const digest = firstStringMember(getMember(result, 'checkpoint'), 'row');
      const id = firstStringMember(result, 'id');
      let text = unwritten;
      unwritten = '';
      for (; counts.rows < line; counts.rows += 1) {
        const found = await nextRow();
        if (!found) throw usageFailure(`${path} has no row ${line}`, 'name the table that --rows sent');
        const isWanted = counts.rows === line - 1;
        if (!isWanted) counts.missing += 1;
        else if (digest !== undefined && found.digest !== digest)
          throw safetyFailure('changed_input', `row ${line} of ${path} is not the row that was sent as line ${line}`, {
            hint: 'name the table as --rows sent it, with the same cells in the same order',
          });
        else if (digest === undefined && !(id && found.cells.includes(id))) counts.unproven += 1;
        text += format(found, isWanted ? cells : noCells);
      }
      return text;
    },
    restOfRows: async function* (): AsyncGenerator<string> {
      yield unwritten;
      for (let found = await nextRow(); found; found = await nextRow()) {
        counts.rows += 1;
        counts.missing += 1;
        onMissing(counts.rows);
        yield format(found);
      }
    },
  };
}

async function warnOfEmptyColumn(
  { name, filter }: AddedColumn,
  error: string | undefined,
  { warn, redact }: Pick<Reporter, 'warn' | 'redact'>,
): Promise<void> {
  if (filter === resultColumns.get('error')) return;
  const isCost = filter === resultColumns.get('cost');
  const path = belowResponse(filter);
  const hint = isCost
    ? '; svc chat and batch report compute a cost with --price-prompt and --price-completion'
    : path === filter
      ? error && `: ${redact(error)}`
      : `; write ${path}`;
  await warn(`--columns ${name}: ${filter} is empty in every row${hint ?? ''}`);
}

/** `a=.x,b=.y` is two columns: a comma outside of brackets and strings separates. */
function splitColumns(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:\\.|[^"\\])*"|./gs)) {
    if ('([{'.includes(token)) depth += 1;
    if (')]}'.includes(token)) depth -= 1;
    if (token === ',' && depth === 0) parts.push('');
    else parts.push(`${parts.pop()}${token}`);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '' || parts.length === 1);
}

/** A sink for results that writes them as the results of an OpenAI batch: `custom_id`, and `response` or `error`. */
export function openAiSink(sink: Sink): Sink {
  return mapLines(sink, async (lines) => lines.replace(/[^\n]+/g, (line) => openAiResult(line)));
}

function openAiResult(line: string): string {
  const root = rootOf(parseJson(line));
  const [id, response, error] = ['id', 'response', 'error'].map((name) => getMember(root, name));
  const number = numberMember(root, 'line') ?? 0;
  const hasId = id !== undefined && kindOf(id) !== 'null';
  const customId =
    hasId && kindOf(id) === 'string' ? rawText(id) : JSON.stringify(hasId ? rawText(id) : `line-${number}`);
  const status = numberMember(root, 'status');
  const [code = null, message = null] = ['code', 'message'].map((name) => firstStringMember(error, name));
  const failure = JSON.stringify({ code, message });
  // That of the service, or else of svc.
  const received = response ?? getMember(error, 'body');
  const body = received ? rawText(received) : `{"error":${failure}}`;
  const [ofLine, ofError] = [root, error].map((node) => firstStringMember(node, 'request_id'));
  const requestId = JSON.stringify(ofLine ?? ofError ?? firstStringMember(response, 'id') ?? null);
  const answer = `{"status_code":${status},"request_id":${requestId},"body":${body}}`;
  // The service refused the request in its response; any other failure is one of sending it.
  const [ofService, ofSending] = status === undefined ? ['null', error ? failure : 'null'] : [answer, 'null'];
  return `{"id":"batch_req_${number}","custom_id":${customId},"response":${ofService},"error":${ofSending}}`;
}
