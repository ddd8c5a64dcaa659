import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run, serve } from '../../support/process.ts';
import { exportSpans, isSdkMissing } from '../../support/sdk-spans.ts';
import { temporaryDirectory } from '../../support/svc.ts';

const TRACE = 'c0ffee00c0ffee00c0ffee00c0ffee01';
const [ROOT, CHILD] = ['00000000000000a1', '00000000000000b2'];
const START_NS = 1_700_000_000_000_000_000n;

type Row = readonly [name: string, durationMs: number | null, failed: number, calls: number];

// A root of 1.5 s, and a child of 0.25 s that failed; `id` writes an id as an exporter does.
function otlp(id: (hex: string) => string): object {
  const span = (spanId: string, parentSpanId: string, name: string, milliseconds: bigint, status: object): object => ({
    ...{ traceId: id(TRACE), spanId: id(spanId), parentSpanId: parentSpanId && id(parentSpanId), name, status },
    ...{ startTimeUnixNano: `${START_NS}`, endTimeUnixNano: `${START_NS + milliseconds * 1_000_000n}` },
  });
  const spans = [
    span(CHILD, ROOT, 'select', 250n, { code: 2, message: 'no rows' }),
    span(ROOT, '', 'GET /items', 1500n, {}),
  ];
  return { resourceSpans: [{ scopeSpans: [{ spans }] }] };
}

const jaeger = {
  data: [
    {
      traceID: TRACE,
      spans: [
        {
          ...{ traceID: TRACE, spanID: CHILD, operationName: 'select', processID: 'p1' },
          ...{ startTime: 1_700_000_000_000_000, duration: 250_000 },
          references: [{ refType: 'CHILD_OF', traceID: TRACE, spanID: ROOT }],
          tags: [{ key: 'error', type: 'bool', value: true }],
        },
        {
          ...{ traceID: TRACE, spanID: ROOT, operationName: 'GET /items', processID: 'p1' },
          ...{ startTime: 1_700_000_000_000_000, duration: 1_500_000 },
        },
      ],
      processes: { p1: { serviceName: 'shop' } },
    },
  ],
};

async function rowsAfterImport(text: string): Promise<Row[]> {
  const cwd = temporaryDirectory();
  const { url, env } = await serve([], { cwd });
  writeFileSync(join(cwd, 'in.json'), text);
  const args = ['call', 'import', 'in.json', '--project-id', 'a/b', '-o', 'out.jsonl'];
  const { code, stderr } = await run(args, { cwd, env });
  expect(code, stderr).toBe(0);
  const Authorization = `Basic ${Buffer.from(`${env.SVC_USERNAME}:${env.SVC_PASSWORD}`).toString('base64')}`;
  const response = await fetch(`${url}/page/calls`, { headers: { Authorization } });
  const { rows } = (await response.json()) as {
    rows: { name: string; durationMs: number | null; failed: number; calls: number }[];
  };
  return rows.map(({ name, durationMs, failed, calls }) => [name, durationMs, failed, calls]);
}

const lines = (...documents: readonly object[]): string => documents.map((one) => `${JSON.stringify(one)}\n`).join('');

it.for([
  ['a file of a collector with three signals', lines({ resourceMetrics: [] }, otlp(String), { resourceLogs: [] })],
  ['ids in base64', JSON.stringify(otlp((hex) => Buffer.from(hex, 'hex').toString('base64')))],
  ['an export of Jaeger', JSON.stringify(jaeger)],
] as const)('the page shows durations and failures of %s', { timeout: 120_000 }, async ([, text]) => {
  expect(await rowsAfterImport(text)).toEqual([['GET /items', 1500, 1, 2]]);
});

it.skipIf(isSdkMissing)(
  'the page shows durations of what the JavaScript SDK exports',
  { timeout: 120_000 },
  async () => {
    const { bodies } = await exportSpans();
    const rows = await rowsAfterImport(bodies.map((body) => `${body}\n`).join(''));
    expect(rows.reduce((sum, [, , , calls]) => sum + calls, 0)).toBe(3);
    for (const [, durationMs] of rows) expect(durationMs).toEqual(expect.any(Number));
  },
);
