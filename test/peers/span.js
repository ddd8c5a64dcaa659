// Makes a span with OpenTelemetry's SDK in the trace of the environment, and prints its ids as one JSON line.
import { defaultTextMapGetter, ROOT_CONTEXT } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const carrier = { traceparent: process.env.TRACEPARENT, tracestate: process.env.TRACESTATE };
const parent = new W3CTraceContextPropagator().extract(ROOT_CONTEXT, carrier, defaultTextMapGetter);
const span = new NodeTracerProvider().getTracer('test').startSpan('work', {}, parent);
const { traceId, spanId, traceState } = span.spanContext();
span.end();
process.stdout.write(
  `${JSON.stringify({ traceId, spanId, parentId: span.parentSpanContext.spanId, state: traceState.serialize() })}\n`,
);
