import { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { collectBody } from '../http/body-chunks.ts';
import type { ExchangeSignal, HttpHeaders } from '../http/message.ts';
import { getMember, rawText, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { type JsonValue, RawJson, writeJson } from '../json/write-json.ts';
import { yieldToEventLoop } from './event-loop.ts';
import { inferPayloadPaths } from './handlers/records.ts';
import { limitedChunks } from './operation-route.ts';
import { HttpError, jsonResponse, textResponse } from './responses.ts';
import type { OtherPath } from './routes.ts';
import type { Respond, ServiceContext } from './service-context.ts';
import {
  filterNames,
  PAGE_TABLES,
  type PageRow,
  type PageTable,
  type Parameters,
  readFeedbackOf,
  readPage,
  readRecord,
  readTotals,
  readTraceCalls,
} from './store/page-queries.ts';
import type { ServiceStore } from './store/service-store.ts';
import { makeTraces } from './store/traces.ts';

type PageResponders = { readonly [path in Exclude<OtherPath, `/v1/${string}` | '/healthz' | '/metrics'>]: Respond };

// Everything stored is hostile text: no inline scripts, no foreign hosts, no frames, no forms.
const pageHeaders: HttpHeaders = [
  [
    'Content-Security-Policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cache-Control', 'no-store'],
];

const ROWS_PER_PAGE = 50;
const ROWS_PER_EXPORT_CHUNK = 200;
const MAX_SEARCHED_PAGES = 10;
const MAX_TRACE_CALLS = 10_000;
const MAX_CODE_BYTES = 256;

/** Responds to the read-only paths of the web page: static files, and the stored data. */
export function pageResponders({ store, login }: ServiceContext): PageResponders {
  const data =
    (
      names: readonly string[],
      read: (parameters: Parameters, signal: ExchangeSignal | undefined) => Promise<JsonValue>,
    ): Respond =>
    async ({ url }, { signal }) =>
      jsonResponse(200, await read(checkParameters(parametersOf(url), names), signal), pageHeaders);
  const list = <Table extends PageTable>(table: Table, toJson: ToJson<Table>): Respond =>
    data(listParameters(table), (parameters) => listRows(store, table, parameters, toJson));
  const row = (each: object): JsonValue => rowToJson(each, false);
  // Most services are never looked at.
  const summaries = () => import('./page-summaries.ts');
  return {
    '/': staticFile('page.html', 'html'),
    '/page.js': staticFile('page.js', 'javascript'),
    '/page.css': staticFile('page.css', 'css'),
    '/report.css': async () => {
      const { REPORT_STYLE } = await import('../reports/report-page.ts');
      return textResponse(200, Buffer.from(REPORT_STYLE), 'text/css; charset=utf-8', pageHeaders);
    },
    '/page/calls': list('calls', async (rows, parameters) =>
      (await summaries()).summarizeTraces(store, rows, parameters),
    ),
    '/page/feedback': list('feedback', (rows) => rows.map(row)),
    '/page/jobs': list('jobs', (rows) => rows.map(row)),
    '/page/chats': list('chats', async (rows) => rows.map((await summaries()).summarizeChat)),
    '/page/trace': data(['id', ...listParameters('calls')], async (parameters) =>
      (await summaries()).readTrace(store, parameters, MAX_TRACE_CALLS),
    ),
    '/page/lint': data(['job', 'with'], async ({ job = '', with: other }, signal) =>
      (await summaries()).lintJobs(store, other ? [job, other] : [job], signal),
    ),
    '/page/record': data(['table', 'project', 'id'], async ({ project = '', id = '', ...parameters }) => {
      const table = tableOf(parameters);
      const record = await readRecord(store, table, project, id);
      const feedback = record && table === 'calls' ? await readFeedbackOf(store, project, id) : [];
      return { row: record ? row(record) : null, feedback: feedback.map(row) };
    }),
    '/page/login': async (request) => {
      const code = await collectBody(limitedChunks(request, MAX_CODE_BYTES), MAX_CODE_BYTES);
      const token = login?.exchange(code.toString());
      if (token === undefined) throw new HttpError(403, 'the code was used, or is older than 60 s');
      return jsonResponse(200, { token }, pageHeaders);
    },
    '/page/export': async ({ url }, { signal }) => {
      const parameters = parametersOf(url);
      const table = tableOf(parameters);
      checkParameters(parameters, ['table', ...listParameters(table)]);
      const disposition = ['Content-Disposition', `attachment; filename="svc-${table}.jsonl"`] as const;
      const headers: HttpHeaders = [['Content-Type', 'application/x-ndjson'], disposition, ...pageHeaders];
      return { status: 200, statusText: '', headers, body: exportedRows(store, table, parameters, signal) };
    },
  };
}

type ToJson<Table extends PageTable> = (
  rows: readonly PageRow<Table>[],
  parameters: Parameters,
) => readonly JsonValue[] | Promise<readonly JsonValue[]>;

async function listRows<Table extends PageTable>(
  store: ServiceStore,
  table: Table,
  parameters: Parameters,
  toJson: ToJson<Table>,
): Promise<JsonValue> {
  if (table === 'calls') await makeTraces(store);
  const { rows, next, keys, isAscending } = await readSearchedPage(store, table, parameters);
  const paths = payloadPaths(rows.flatMap((each) => ('record' in each ? String(each.record) : [])));
  const order = { key: keys, isAscending };
  return { rows: await toJson(rows, parameters), next: next ?? null, paths, order, totals: await readTotals(store) };
}

async function* exportedRows(
  store: ServiceStore,
  table: PageTable,
  parameters: Parameters,
  signal: ExchangeSignal | undefined,
) {
  const lines = (rows: readonly object[]): Buffer =>
    Buffer.from(rows.map((each) => `${writeJson(rowToJson(each, true))}\n`).join(''));
  if (table === 'calls') await makeTraces(store);
  for (let query = parameters; ; ) {
    const { rows, next } = await readPage(store, table, query, ROWS_PER_EXPORT_CHUNK);
    if (table !== 'calls') yield lines(rows);
    else
      for (const row of rows)
        for await (const calls of readTraceCalls(store, String('trace_id' in row && row.trace_id), parameters))
          yield lines(calls);
    if (next === undefined) return;
    query = { ...query, before: next };
    await yieldToEventLoop(signal);
  }
}

// Beside this file in the source, and beside the bundle in the package.
function staticFile(name: string, type: string): Respond {
  return async () => {
    const text = await readFile(new URL(`./page/${name}`, import.meta.url));
    return textResponse(200, text, `text/${type}; charset=utf-8`, pageHeaders);
  };
}

// The columns for the payloads of some records: numbers first, then booleans.
function payloadPaths(records: readonly string[]): JsonValue {
  const payloads = records.flatMap((record) => getMember(rootOf(parseJson(record)), 'payload') ?? []);
  const paths = inferPayloadPaths(payloads.map(rawText));
  const ranked = ['numeric', 'boolean', 'categorical'].flatMap((type) => paths.filter((path) => path.type === type));
  return ranked.map((path) => ({ ...path }));
}

// Of a search, a page may be empty although later rows match: the next ones are searched as well.
async function readSearchedPage<Table extends PageTable>(store: ServiceStore, table: Table, query: Parameters) {
  let page = await readPage(store, table, query, ROWS_PER_PAGE);
  for (let pages = 1; page.rows.length === 0 && page.next !== undefined && pages < MAX_SEARCHED_PAGES; pages += 1)
    page = await readPage(store, table, { ...query, before: page.next }, ROWS_PER_PAGE);
  return page;
}

function parametersOf(url: string): Parameters {
  return Object.fromEntries(new URL(url).searchParams);
}

function listParameters(table: PageTable): readonly string[] {
  return [...filterNames(table), 'from', 'until', 'before', 'sort', 'order'];
}

// Without a filter that was mistyped, a list or an export would have other rows than were asked for.
function checkParameters(parameters: Parameters, names: readonly string[]): Parameters {
  const unknown = Object.keys(parameters).filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw new HttpError(400, `unknown ${unknown.join(', ')}; the parameters are: ${names.join(', ')}`);
  for (const name of ['from', 'until'])
    if (!/^(?:-?\d{1,15})?$/.test(parameters[name] ?? ''))
      throw new HttpError(400, `${name} must be a number of milliseconds since 1970`);
  return parameters;
}

function tableOf(parameters: Parameters): PageTable {
  const table = PAGE_TABLES.find((name) => name === parameters.table);
  if (table) return table;
  throw new HttpError(400, `table must be one of: ${PAGE_TABLES.join(', ')}`);
}

const NUMBER_COLUMNS = ['created_at', 'status', 'duration_ms', 'failed'];
const JSON_COLUMNS = ['start', 'record', 'experimental_config', 'rewards'];

// An export has JSON as it is; the page gets its text, because a browser would round long numbers.
function rowToJson(row: object, isExport: boolean): { readonly [column: string]: JsonValue } {
  const entries = Object.entries(row).map(([name, value]): [string, JsonValue] => {
    if (NUMBER_COLUMNS.includes(name)) return [name, value === null ? null : Number(value)];
    if (typeof value !== 'string') return [name, null];
    return [name, isExport && JSON_COLUMNS.includes(name) ? new RawJson(value.replaceAll('\n', ' ')) : value];
  });
  return Object.fromEntries(entries);
}
