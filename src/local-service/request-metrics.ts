import { notifyBodyEnd } from '../http/body-chunks.ts';
import type { Middleware } from '../http/message.ts';
import { writeJson } from '../json/write-json.ts';
import { responseRequestId } from '../operations/received-facts.ts';
import { requestPath } from './responses.ts';
import { routeAt } from './routes.ts';

export interface RequestSummary {
  readonly method: string;
  readonly path: string;
  /** 0 if the caller disconnected before there was a response. */
  readonly status: number;
  /** Until the last byte of the response was handed over; a response of at most 16 KiB is handed over at once. */
  readonly durationMs: number;
  readonly requestId: string | undefined;
}

const BUCKET_LIMITS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, Infinity];

/** Counts requests and reports each at its end. Paths without a route share the label `other`: the number of time series is bounded. */
export function createRequestMetrics(
  onRequestEnd: ((summary: RequestSummary) => void) | undefined,
  elapsed: () => number,
): { readonly observe: Middleware; readonly text: () => string } {
  const totals = new Map<string, number>();
  const durations = new Map<string, number>();
  let inFlight = 0;
  const add = (series: Map<string, number>, key: string, value: number): void =>
    void series.set(key, (series.get(key) ?? 0) + value);
  const count = ({ method, path, status, durationMs }: RequestSummary): void => {
    const label = `path="${routeAt(path)?.name ?? 'other'}"`;
    const isStandard = ['GET', 'HEAD', 'POST'].includes(method);
    add(totals, `method="${isStandard ? method : 'other'}",${label},status="${status}"`, 1);
    for (const limit of BUCKET_LIMITS_SECONDS)
      add(
        durations,
        `bucket{${label},le="${limit === Infinity ? '+Inf' : limit}"}`,
        durationMs / 1000 <= limit ? 1 : 0,
      );
    add(durations, `sum{${label}}`, durationMs / 1000);
    add(durations, `count{${label}}`, 1);
  };
  return {
    observe: (next) => async (request) => {
      const startedAt = elapsed();
      inFlight += 1;
      const end = (status: number, requestId?: string): void => {
        const { method } = request;
        const summary = { method, path: requestPath(request), status, durationMs: elapsed() - startedAt, requestId };
        inFlight -= 1;
        count(summary);
        onRequestEnd?.(summary);
      };
      try {
        const response = await next(request);
        const requestId = responseRequestId(response.headers);
        return await notifyBodyEnd(response, async () => end(response.status, requestId));
      } catch (error) {
        end(0);
        throw error;
      }
    },
    text: () =>
      [
        '# HELP svc_requests_total Requests by method, path and status; status 0 is a caller that disconnected.',
        '# TYPE svc_requests_total counter',
        ...Array.from(totals, ([key, value]) => `svc_requests_total{${key}} ${value}`),
        '# HELP svc_request_duration_seconds Time until the response was written.',
        '# TYPE svc_request_duration_seconds histogram',
        ...Array.from(durations, ([key, value]) => `svc_request_duration_seconds_${key} ${value}`),
        '# HELP svc_requests_in_flight Requests being processed.',
        '# TYPE svc_requests_in_flight gauge',
        `svc_requests_in_flight ${inFlight}`,
        '',
      ].join('\n'),
  };
}

/** One line of the request log, without bodies and credentials. */
export function requestLogLine(
  { method, path, status, durationMs, requestId }: RequestSummary,
  format: 'text' | 'json',
  now: number,
): string {
  const time = new Date(now).toISOString();
  const duration = Math.round(durationMs * 10) / 10;
  if (format === 'json')
    return writeJson({ time, method, path, status, duration_ms: duration, request_id: requestId ?? null });
  return `${time} ${method} ${path} ${status || 'disconnected'} ${duration} ms ${requestId ?? '-'}`;
}
