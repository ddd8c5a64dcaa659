import { describe, expect, it } from 'vitest';
import { runOnFiles } from '../../support/real-files.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const base64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64');
const base64OfText = (text: string): string => Buffer.from(text).toString('base64');
const span = (members: object = {}): object => ({
  traceId: TRACE,
  spanId: SPAN,
  name: 'parcel',
  startTimeUnixNano: '1700000000000000001',
  endTimeUnixNano: '1700000000500000001',
  status: { code: 2, message: 'late' },
  ...members,
});
const traces = (...spans: readonly object[]): string =>
  JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const importFile = (text: string | Uint8Array) =>
  runOnFiles({ 'in.json': text }, ['call', 'import', 'in.json', '--concurrency', '1', '-o', 'out.jsonl']);
const jaeger = (members: object): string =>
  JSON.stringify({
    data: [
      {
        traceID: 'af7651916cd43dd8448eb211c80319c',
        spans: [{ traceID: 'af7651916cd43dd8448eb211c80319c', spanID: SPAN, processID: 'p1', ...members }],
        processes: { p1: { serviceName: 'shop', tags: [{ key: 'host', type: 'string', value: 'h1' }] } },
      },
    ],
  });

describe('spans of exporters', () => {
  it.for([
    ['a parent of zeros', traces(span({ parentSpanId: '0000000000000000' })), { parent_id: null }],
    ['a parent of zeros in base64', traces(span({ parentSpanId: base64('0000000000000000') })), { parent_id: null }],
    ['a parent of 0x0', traces(span({ parentSpanId: '0x0' })), { parent_id: null }],
    ['a parent of null', traces(span({ parentSpanId: null })), { parent_id: null }],
    [
      'ids in base64',
      traces(span({ traceId: base64(TRACE), spanId: base64(SPAN), parentSpanId: base64('00f067aa0ba902b7') })),
      { id: SPAN, trace_id: TRACE, parent_id: '00f067aa0ba902b7' },
    ],
    [
      'ids in base64 for URLs, without padding',
      traces(
        span({
          traceId: Buffer.from(TRACE, 'hex').toString('base64url'),
          spanId: Buffer.from('fbffffffffffffff', 'hex').toString('base64url'),
        }),
      ),
      { id: 'fbffffffffffffff', trace_id: TRACE },
    ],
    [
      'ids in base64 of their hex digits',
      traces(span({ traceId: base64OfText(TRACE), spanId: base64OfText(SPAN) })),
      { id: SPAN, trace_id: TRACE },
    ],
    [
      'ids with 0x, in capitals',
      traces(span({ traceId: `0x${TRACE.toUpperCase()}`, spanId: `0x${SPAN.toUpperCase()}` })),
      { id: SPAN, trace_id: TRACE },
    ],
    [
      'spans of instrumentation libraries',
      JSON.stringify({
        resourceSpans: [
          { instrumentationLibrarySpans: [{ instrumentationLibrary: { name: 'lib' }, spans: [span()] }] },
        ],
      }),
      { otel_dump: { scope: { name: 'lib' } } },
    ],
    [
      'end, status and error',
      traces(span()),
      { otel_dump: { endTimeUnixNano: '1700000000500000001', status: { code: 2, message: 'late' } } },
    ],
    ['a query of Jaeger', `{"result":${traces(span())}}`, { id: SPAN }],
    ['an array of documents', `[${traces(span())}]`, { id: SPAN }],
    ['a document after a byte order mark', `\ufeff${traces(span())}`, { id: SPAN }],
    [
      'model and tokens',
      traces(
        span({
          attributes: [
            { key: 'gen_ai.request.model', value: { stringValue: 'm-1' } },
            { key: 'gen_ai.usage.output_tokens', value: { intValue: '12' } },
          ],
        }),
      ),
      { attributes: { 'gen_ai.request.model': 'm-1', 'gen_ai.usage.output_tokens': 12 } },
    ],
    [
      'a trace of Jaeger',
      jaeger({
        operationName: 'buy',
        startTime: 1_700_000_000_000_001,
        duration: 250,
        tags: [
          { key: 'error', type: 'bool', value: true },
          { key: 'n', type: 'int64', value: 7 },
        ],
      }),
      {
        id: SPAN,
        trace_id: TRACE,
        op_name: 'buy',
        started_at: '2023-11-14T22:13:20.000001000Z',
        attributes: { error: true, n: 7 },
        otel_dump: { endTimeUnixNano: '1700000000000251000', status: { code: 2 }, jaeger: { duration: 250 } },
      },
    ],
    [
      'a child in Jaeger',
      jaeger({
        operationName: 'pay',
        startTime: 1,
        duration: 1,
        references: [
          { refType: 'FOLLOWS_FROM', spanID: 'aa' },
          { refType: 'CHILD_OF', spanID: 'bb' },
        ],
      }),
      { parent_id: '00000000000000bb' },
    ],
  ] as const)('reads %s', async ([, text, start]) => {
    const { code, stderr, bodies } = await importFile(text);
    expect(code, stderr).toBe(0);
    expect({ parent_id: null, ...JSON.parse(bodies[0] ?? '').start }).toMatchObject(start);
  });

  it('reads documents of three signals on one line or on several, and counts those without spans', async () => {
    const lines = [
      '{"resourceMetrics":[]}',
      traces(span({ spanId: '00f067aa0ba902b7', parentSpanId: SPAN })) + traces(span()),
      '{"resourceLogs":[]}{"resourceLogs":[]}',
      '{"resourceProfiles":[]}',
    ];
    const { code, stderr, bodies } = await importFile(lines.join('\n'));
    expect(code, stderr).toBe(0);
    expect(bodies.map((body) => JSON.parse(body).start.id)).toEqual(['00f067aa0ba902b7', SPAN]);
    expect(stderr).toContain('skipped 1 document of metrics, 2 documents of logs, 1 document of profiles');
  });

  it('shortens names of more than 128 characters, so that they stay apart', async () => {
    const names = ['a', 'b'].map((middle) => `GET /${'x'.repeat(100)}${middle}${'😀'.repeat(100)}`);
    const { code, stderr, bodies } = await importFile(
      traces(...names.map((name, at) => span({ name, spanId: `00f067aa0ba902b${at}` }))),
    );
    expect(code, stderr).toBe(0);
    const starts = bodies.map((body) => JSON.parse(body).start);
    expect(new Set(starts.map(({ op_name }) => op_name)).size).toBe(2);
    for (const [at, start] of starts.entries()) {
      expect([...start.op_name]).toHaveLength(128);
      expect(start.op_name).toMatch(/^GET \/x+.*….*😀 [0-9a-f]{8}$/u);
      expect(start).toMatchObject({ display_name: names[at], otel_dump: { name: names[at] } });
    }
  });

  it.for([
    ['another text as an id', traces(span({ spanId: 'Not An Id' })), 10, 'the spanId "Not An Id" is not 16 hex digits'],
    ['an id of another width', traces(span({ traceId: SPAN })), 10, `the traceId "${SPAN}" is not 32 hex digits`],
    ['a number as a parent', traces(span({ parentSpanId: 17 })), 10, 'the parentSpanId 17 is not'],
    ['an id of zeros', traces(span({ spanId: '0'.repeat(16) })), 10, 'is all zeros'],
    ['time 0', traces(span({ startTimeUnixNano: '0' })), 10, 'no startTimeUnixNano in nanoseconds, but "0"'],
    ['no time', traces(span({ startTimeUnixNano: undefined })), 10, 'the span has no startTimeUnixNano'],
    ['an empty file', '', 3, 'no spans in in.json'],
    ['no spans', '{"resourceSpans":null}', 3, 'no spans in in.json'],
    [
      'only other signals',
      '{"resourceLogs":[]}\n{"resourceLogs":[]}',
      3,
      'no spans in in.json: it has 2 documents of logs',
    ],
    ['another document', '{"spanz":[]}', 3, 'it has no "resourceSpans"'],
    ['a cut last line', `${traces(span())}\n{"resourceSpans":[{`, 10, 'line 2 of the file is not OTLP/JSON of traces'],
  ] as const)('names %s', async ([, text, exitCode, message]) => {
    const { code, stderr } = await importFile(text);
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(message) });
  });
});
