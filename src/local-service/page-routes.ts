import { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import type { ExchangeSignal, HttpHeaders } from '../http/message.ts';
import { type JsonValue, RawJson, writeJson } from '../json/write-json.ts';
import { yieldToEventLoop } from './event-loop.ts';
import { inferPayloadPaths } from './handlers/feedback-schema.ts';
import { HttpError, jsonResponse, textResponse } from './responses.ts';
import { readRoute, type ServiceContext, type ServiceRoute } from './service-context.ts';
import { type PageTable, pageTables, readPage, readRewards, readTrace } from './store/page-queries.ts';
import type { StoredRow } from './store/service-store.ts';

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

const staticFiles = [
  ['/', 'page.html', 'text/html; charset=utf-8'],
  ['/page.js', 'page.js', 'text/javascript; charset=utf-8'],
  ['/page.css', 'page.css', 'text/css; charset=utf-8'],
] as const;

const ROWS_PER_PAGE = 50;
const ROWS_PER_EXPORT_CHUNK = 200;
const SAMPLED_PAYLOADS = 200;

/** The read-only routes of the web page: static files without credentials, and the stored data with Basic credentials. */
export function pageRoutes({ store, now }: ServiceContext): [string, ServiceRoute][] {
  const tables = Object.keys(pageTables).filter(isPageTable);
  const search = ({ searchParams }: URL): string => searchParams.get('q') ?? '';
  const data = (name: string, read: (url: URL) => Promise<JsonValue>): [string, ServiceRoute] => [
    `/page/${name}`,
    readRoute('basic', async ({ url }) => jsonResponse(200, await read(new URL(url)), pageHeaders)),
  ];
  return [
    ...staticFiles.map(([path, file, type]): [string, ServiceRoute] => [
      path,
      // Beside this file in the source, and beside the bundle in the package.
      readRoute('none', async () => {
        const text = await readFile(new URL(`./page/${file}`, import.meta.url));
        return textResponse(200, text, type, pageHeaders);
      }),
    ]),
    ...tables.map((table) =>
      data(table, async (url) => {
        const options = { before: url.searchParams.get('before'), search: search(url), limit: ROWS_PER_PAGE };
        const { rows, next } = await readPage(store, table, options);
        return { rows: rows.map((row) => rowToJson(row, false)), next: next ?? null };
      }),
    ),
    data('trace', async ({ searchParams }) => {
      const { rows, total } = await readTrace(store, searchParams.get('id') ?? '');
      return { rows: rows.map((row) => rowToJson(row, false)), total };
    }),
    data('rewards', async ({ searchParams }) => ({ ...(await readRewards(store, searchParams.get('job') ?? '')) })),
    data('schema', async ({ searchParams }) => {
      const project = searchParams.get('project') ?? '';
      const window = [0, now() + 1] as const;
      const query = { project, window, type: undefined, trigger: undefined, limit: SAMPLED_PAYLOADS };
      const payloads = await store.samplePayloads(query);
      return { paths: inferPayloadPaths(payloads).map((path) => ({ ...path })) };
    }),
    [
      '/page/export',
      readRoute('basic', async (request, { signal }) => {
        const url = new URL(request.url);
        const table = url.searchParams.get('table') ?? '';
        if (!isPageTable(table)) throw new HttpError(400, `table must be one of: ${tables.join(', ')}`);
        const disposition = ['Content-Disposition', `attachment; filename="svc-${table}.jsonl"`] as const;
        const headers: HttpHeaders = [['Content-Type', 'application/x-ndjson'], disposition, ...pageHeaders];
        return { status: 200, statusText: '', headers, body: exportedRows(table, search(url), signal) };
      }),
    ],
  ];

  async function* exportedRows(table: PageTable, text: string, signal: ExchangeSignal | undefined) {
    for (let before: string | null = null; ; ) {
      const page = await readPage(store, table, { before, search: text, limit: ROWS_PER_EXPORT_CHUNK });
      if (page.rows.length > 0)
        yield Buffer.from(page.rows.map((row) => `${writeJson(rowToJson(row, true))}\n`).join(''));
      if (page.next === undefined) return;
      before = page.next;
      await yieldToEventLoop(signal);
    }
  }
}

function isPageTable(name: string): name is PageTable {
  return Object.hasOwn(pageTables, name);
}

const JSON_COLUMNS = ['start', 'record', 'experimental_config'];

// An export has JSON as it is; the page gets its text, because a browser would round long numbers.
function rowToJson(row: StoredRow, isExport: boolean): { readonly [column: string]: JsonValue } {
  const entries = Object.entries(row).map(([name, value]): [string, JsonValue] => {
    if (name === 'created_at' || name === 'status') return [name, Number(value)];
    if (typeof value !== 'string') return [name, null];
    return [name, isExport && JSON_COLUMNS.includes(name) ? new RawJson(value.replaceAll('\n', ' ')) : value];
  });
  return Object.fromEntries(entries);
}
