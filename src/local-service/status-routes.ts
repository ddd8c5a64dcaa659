import { Buffer } from 'node:buffer';
import type { RequestMetrics } from './request-metrics.ts';
import { jsonResponse, textResponse } from './responses.ts';
import type { ServiceContext, ServiceRoute } from './service-context.ts';

const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** `GET /healthz`: 200 while the store can be used, else 503. It needs no credentials. */
export function healthRoute({ store }: ServiceContext): ServiceRoute {
  return {
    method: 'GET',
    auth: 'none',
    errors: 'detail',
    respond: async () => {
      await store.checkHealth();
      return jsonResponse(200, { status: 'ok' });
    },
  };
}

/** `GET /metrics`: counters of requests in the text format of Prometheus. */
export function metricsRoute(metrics: RequestMetrics): ServiceRoute {
  return {
    method: 'GET',
    auth: 'basic',
    errors: 'detail',
    respond: async () => textResponse(200, Buffer.from(metrics.text()), PROMETHEUS_CONTENT_TYPE),
  };
}
