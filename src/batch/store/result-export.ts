import { Buffer } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { unreadableInputFailure } from '../../files/read-input.ts';
import { firstStringMember, getMember, kindOf, numberMember, rawText, rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import type { Sink } from '../../output/sink.ts';
import { createFormulaGuard } from '../../results/format-rows.ts';
import { compileJqFilter, createJqEngine } from '../../results/jq-filter.ts';
import { isTableName, openTable, parseDelimiter } from '../read/table-records.ts';

/** Text, or the digits of a number. */
type Cell = string | readonly [string];

interface JoinOptions {
  readonly columns?: readonly string[] | undefined;
  readonly delimiter?: string | undefined;
  readonly spreadsheetSafe?: true | undefined;
}

const MAX_ROW_BYTES = 256 * 1024 * 1024;

/**
 * Prepares a sink for results that writes the rows of a CSV or TSV file, as they stand there, with columns added: `name=filter` is a jq
 * filter for the result of the row, or one of `resultColumns`, which may also stand alone. A row without a result has empty cells; text is a cell as it is, in quotes if it needs them or if all names have them; other values are JSON. Throws
 * usage for columns that cannot be read; the sink throws Failure `safety_check` at a row that differs from the one that was sent.
 */
export async function prepareJoin(
  displayPath: string,
  { columns = [], delimiter: requestedDelimiter, spreadsheetSafe }: JoinOptions,
  context: Context,
): Promise<(sink: Sink) => Sink> {
  const { report } = context;
  if (requestedDelimiter === undefined && !isTableName(displayPath))
    throw usageFailure(
      `--join cannot read ${displayPath}`,
      'name a file that ends in .csv or .tsv, or add --delimiter for a table',
    );
  if (columns.length === 0)
    throw usageFailure('--join needs --columns', "write --columns 'answer=.response.choices[0].message.content'");
  const filters = columns.flatMap(splitColumns).map((column) => {
    const [, name = column, value = column] = /^([^=]+)=(.+)$/s.exec(column) ?? [];
    const filter = resultColumns.get(value) ?? (value === column ? undefined : value);
    if (filter !== undefined) return { name, filter };
    throw usageFailure(
      `--columns cannot be ${JSON.stringify(column)}`,
      `write name=filter, such as code=.exit_code, with parentheses around a filter with a comma; or a name or name=one of ${[...resultColumns.keys()].join(', ')}`,
    );
  });
  const runJq = createJqEngine();
  // Each one alone first: the error of an invalid filter shows what was typed.
  for (const { name, filter } of filters) await compileJqFilter(filter, context, { label: `--columns ${name}`, runJq });
  // A filter that fails on a result leaves its cell empty.
  const cells = filters.map(({ filter }) => `([try (${filter}\n) catch null] | first)`).join(', ');
  const toText =
    'map(if . == null then "" elif type == "string" then . elif type == "number" then [tojson] else tojson end)';
  const filter = await compileJqFilter(`[${cells}] | ${toText}`, context, { label: '--columns', runJq });
  let isAllQuoted = false;
  const formulas = createFormulaGuard(spreadsheetSafe, report);
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
  const formatCells = (cells: readonly Cell[]): string =>
    joinCells(cells.flatMap((cell): readonly Cell[] => (typeof cell === 'string' ? formulas.guard([cell]) : [cell])));
  const path = resolve(context.runtime.cwd, displayPath);
  const { delimiter, preamble, records } = await openTable(
    createReadStream(path),
    displayPath,
    requestedDelimiter === undefined ? undefined : parseDelimiter(requestedDelimiter),
    MAX_ROW_BYTES,
  ).catch((error: unknown) => {
    throw unreadableInputFailure(displayPath, error);
  });
  const nextRow = async () => {
    const { value } = await records.next().catch((error: unknown) => {
      throw unreadableInputFailure(displayPath, error);
    });
    if (!value) return undefined;
    const cells = formulas.guard(value.cells);
    return cells === value.cells ? value : { ...value, raw: joinCells(cells) };
  };
  const emptyCells = delimiter.repeat(filters.length);
  const isFilled = filters.map(() => false);
  let missingRows = 0;
  const header = await nextRow();
  // Names in quotes that need none: so has every cell.
  isAllQuoted = header?.cells.length === header?.raw.split(`"${delimiter}"`).length && header?.raw[0] === '"';
  for (const { name } of filters.filter(({ name }) => header?.cells.includes(name)))
    await report.warn(`${displayPath} has a column ${name} already; for another name, write new_name=${name}`);
  let unwritten = `${preamble}${header?.raw}${delimiter}${formatCells(filters.map(({ name }) => name))}\n`;
  let row = 0;
  const rowsUpTo = async (line: number, digest: string | undefined): Promise<string> => {
    let text = unwritten;
    unwritten = '';
    for (; row < line; row += 1) {
      const found = await nextRow();
      if (!found) throw usageFailure(`${displayPath} has no row ${line}`, 'name the table that --rows sent');
      if (row < line - 1) missingRows += 1;
      else if (digest !== undefined && found.digest !== digest)
        throw new Failure(
          'safety_check',
          `row ${line} of ${displayPath} is not the row that was sent as line ${line}`,
          {
            hint: 'name the table as --rows sent it, with the same cells in the same order',
            applied: 'no',
          },
        );
      text += row < line - 1 ? `${found.raw}${emptyCells}\n` : `${found.raw}${delimiter}`;
    }
    return text;
  };
  return (sink) => ({
    ...mapResults(sink, async (results) => {
      const { text, failure } = await filter.applyToLines(results.map((result) => `${result}\n`));
      if (failure) throw failure;
      const added = text.split('\n');
      let whole = '';
      for (const [at, result] of results.entries()) {
        const root = rootOf(parseJson(result));
        const digest = firstStringMember(getMember(root, 'checkpoint'), 'row');
        const before = await rowsUpTo(numberMember(root, 'line') ?? 0, digest);
        const cells: Cell[] = JSON.parse(added[at] ?? '[]');
        for (const [index, cell] of cells.entries()) isFilled[index] ||= cell !== '';
        whole += `${before}${formatCells(cells)}\n`;
      }
      return whole;
    }),
    commit: async () => {
      await sink.writer.write(unwritten);
      for (let found = await nextRow(); found; found = await nextRow()) {
        [missingRows, row] = [missingRows + 1, row + 1];
        await sink.writer.write(`${found.raw}${emptyCells}\n`);
      }
      await sink.commit();
      await formulas.finish();
      if (missingRows === row)
        return report.warn(
          `no row of ${displayPath} has a result: join the table that --rows sent with the outputs of that batch`,
        );
      if (missingRows > 0)
        await report.warn(`${missingRows} of ${row} rows have no result; run their batch with --resume`);
      for (const [at, { name, filter }] of filters.entries())
        if (!isFilled[at] && filter !== resultColumns.get('error'))
          await report.warn(
            `--columns ${name}: ${filter} is empty in every row${filter === resultColumns.get('cost') ? '; svc chat computes a cost with --price-prompt and --price-completion' : ''}`,
          );
    },
  });
}

// Filters for the columns that most tables want.
const resultColumns = new Map([
  ['text', '.response.choices[0] | .message.content // .text'],
  ['latency_ms', 'select(.status) | .ms'],
  ['prompt_tokens', '.response.usage.prompt_tokens'],
  ['completion_tokens', '.response.usage.completion_tokens'],
  ['cost', '.cost'],
  ['cached_tokens', '.cached_tokens'],
  ['finish_reason', '.response.choices[0].finish_reason'],
  ['error', '.error.message'],
]);

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
  return parts.map((part) => part.trim());
}

/** A sink for results that writes them as the results of an OpenAI batch: `custom_id`, and `response` or `error`. */
export function openAiSink(sink: Sink): Sink {
  return mapResults(sink, async (results) => results.map((result) => `${openAiResult(result)}\n`).join(''));
}

function mapResults(sink: Sink, toText: (results: readonly string[]) => Promise<string>): Sink {
  const write: Sink['writer']['write'] = async (chunk) =>
    sink.writer.write(await toText(Buffer.from(chunk).toString().split('\n').slice(0, -1)));
  return { ...sink, writer: { ...sink.writer, write } };
}

function openAiResult(line: string): string {
  const root = rootOf(parseJson(line));
  const [id, response, error] = ['id', 'response', 'error'].map((name) => getMember(root, name));
  const number = numberMember(root, 'line') ?? 0;
  const hasId = id !== undefined && kindOf(id) !== 'null';
  const customId =
    hasId && kindOf(id) === 'string' ? rawText(id) : JSON.stringify(hasId ? rawText(id) : `line-${number}`);
  const status = numberMember(root, 'status');
  const failure = {
    code: firstStringMember(error, 'code') ?? null,
    message: firstStringMember(error, 'message') ?? null,
  };
  // That of the service, or else of svc.
  const received = response ?? getMember(error, 'body');
  const body = received ? rawText(received) : JSON.stringify({ error: failure });
  const requestId = JSON.stringify(
    firstStringMember(root, 'request_id') ??
      firstStringMember(error, 'request_id') ??
      firstStringMember(response, 'id') ??
      null,
  );
  const members = [
    `"id":"batch_req_${number}"`,
    `"custom_id":${customId}`,
    `"response":${status === undefined ? 'null' : `{"status_code":${status},"request_id":${requestId},"body":${body}}`}`,
    // The service refused the request in its response; any other failure is one of sending it.
    `"error":${error && status === undefined ? JSON.stringify(failure) : 'null'}`,
  ];
  return `{${members.join(',')}}`;
}
