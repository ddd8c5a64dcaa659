// Makes spans with OpenTelemetry's SDK, and exports them by OTLP/HTTP as JSON: node spans.js <URL>
// Prints one JSON line for each span: what the SDK itself knows of it.
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const ended = [];
const note = { onStart() {}, onEnd: (span) => ended.push(span), forceFlush: async () => {}, shutdown: async () => {} };
const provider = new NodeTracerProvider({
  // Two spans in each request.
  spanProcessors: [
    new BatchSpanProcessor(new OTLPTraceExporter({ url: process.argv[2] }), { maxExportBatchSize: 2 }),
    note,
  ],
});
provider.register();
const tracer = trace.getTracer('parcels', '1.2.3');
const startTime = [1_700_000_000, 123_456_789];

const root = tracer.startSpan(
  'order "42"\nä😀',
  {
    kind: SpanKind.SERVER,
    startTime,
    attributes: {
      text: 'a "b"\n\u2028',
      count: 42,
      large: 9_007_199_254_740_991,
      share: 0.1,
      tiny: 1e-7,
      ok: true,
      tags: ['a', 'b"c'],
      numbers: [1, 2.5],
      empty: '',
    },
  },
  ROOT_CONTEXT,
);
const inRoot = trace.setSpan(ROOT_CONTEXT, root);
context.with(inRoot, () => {
  const child = tracer.startSpan('query', { startTime: [1_700_000_000, 1], links: [{ context: root.spanContext() }] });
  child.addEvent('retry', { attempt: 1 });
  child.recordException(new Error('timeout'));
  child.setStatus({ code: SpanStatusCode.ERROR, message: 'timeout' });
  child.end();
  tracer.startSpan('render').end();
});
root.end();
await provider.forceFlush();
await provider.shutdown();
for (const span of ended) {
  const { name, startTime: started, attributes, parentSpanContext } = span;
  const known = { ...span.spanContext(), parentId: parentSpanContext?.spanId, name, started, attributes };
  process.stdout.write(`${JSON.stringify(known)}\n`);
}
