import { notifyBodyEnd } from '../http/body-chunks.ts';
import { getHeader, type Middleware } from '../http/message.ts';
import { writeJson } from '../json/write-json.ts';
import { requestPath } from './responses.ts';

export interface RequestMetrics {
  readonly begin: () => void;
  readonly end: (summary: RequestSummary) => void;
  readonly text: () => string;
}

const BUCKET_LIMITS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, Infinity];

/** The number of requests with a duration up to each limit, and the sum of all durations. */
interface DurationHistogram {
  readonly counts: number[];
  sumSeconds: number;
}

/** Counts requests of some paths; all others share the path `other`, so that the number of time series is bounded. */
export function createRequestMetrics(paths: readonly string[]): RequestMetrics {
  const known = new Set(paths);
  const totals = new Map<string, number>();
  const durations = new Map<string, DurationHistogram>();
  let inFlight = 0;
  return {
    begin: () => {
      inFlight += 1;
    },
    end: ({ method, path, status, durationMs }) => {
      inFlight -= 1;
      const label = known.has(path) ? path : 'other';
      const isStandard = ['GET', 'HEAD', 'POST'].includes(method);
      const key = `method="${isStandard ? method : 'other'}",path="${label}",status="${status}"`;
      totals.set(key, (totals.get(key) ?? 0) + 1);
      const histogram = durations.get(label) ?? { counts: BUCKET_LIMITS_SECONDS.map(() => 0), sumSeconds: 0 };
      durations.set(label, histogram);
      histogram.sumSeconds += durationMs / 1000;
      for (const [at, limit] of BUCKET_LIMITS_SECONDS.entries())
        if (durationMs / 1000 <= limit) histogram.counts[at] = (histogram.counts[at] ?? 0) + 1;
    },
    text: () =>
      [
        '# HELP svc_requests_total Requests by method, path and status; status 0 is a caller that disconnected.',
        '# TYPE svc_requests_total counter',
        ...Array.from(totals, ([key, count]) => `svc_requests_total{${key}} ${count}`),
        '# HELP svc_request_duration_seconds Time until the response was written.',
        '# TYPE svc_request_duration_seconds histogram',
        ...Array.from(durations, ([path, histogram]) => histogramLines(path, histogram)).flat(),
        '# HELP svc_requests_in_flight Requests being processed.',
        '# TYPE svc_requests_in_flight gauge',
        `svc_requests_in_flight ${inFlight}`,
        '',
      ].join('\n'),
  };
}

function histogramLines(path: string, { counts, sumSeconds }: DurationHistogram): string[] {
  const name = 'svc_request_duration_seconds';
  const limits = BUCKET_LIMITS_SECONDS.map((limit) => (limit === Infinity ? '+Inf' : limit));
  return [
    ...limits.map((limit, at) => `${name}_bucket{path="${path}",le="${limit}"} ${counts[at]}`),
    `${name}_sum{path="${path}"} ${sumSeconds}`,
    `${name}_count{path="${path}"} ${counts.at(-1)}`,
  ];
}

export interface RequestSummary {
  readonly method: string;
  readonly path: string;
  /** 0 if the caller disconnected before there was a response. */
  readonly status: number;
  /** Until the last byte of the response was handed over; a response of at most 16 KiB is handed over at once. */
  readonly durationMs: number;
  readonly requestId: string | undefined;
}

/** Is called when a request begins; the function it returns when it has ended. */
type OnRequest = () => (summary: RequestSummary) => void;

/** Reports every request, with a duration that includes the body of its response. */
export function withRequestSummaries(onRequest: OnRequest, elapsed: () => number): Middleware {
  return (next) => async (request) => {
    const startedAt = elapsed();
    const onEnd = onRequest();
    const { method } = request;
    const path = requestPath(request);
    const end = (status: number, requestId?: string): void =>
      onEnd({ method, path, status, durationMs: elapsed() - startedAt, requestId });
    try {
      const response = await next(request);
      const requestId = getHeader(response.headers, 'x-request-id');
      return await notifyBodyEnd(response, async () => end(response.status, requestId));
    } catch (error) {
      end(0);
      throw error;
    }
  };
}

export type RequestLogFormat = 'text' | 'json' | 'off';

/** One line of the request log: time, method, path, status, duration and request id; no bodies and no credentials. */
export function requestLogLine(
  { method, path, status, durationMs, requestId }: RequestSummary,
  format: Exclude<RequestLogFormat, 'off'>,
  now: number,
): string {
  const time = new Date(now).toISOString();
  const duration = Math.round(durationMs * 10) / 10;
  if (format === 'json')
    return writeJson({ time, method, path, status, duration_ms: duration, request_id: requestId ?? null });
  return `${time} ${method} ${path} ${status || 'disconnected'} ${duration} ms ${requestId ?? '-'}`;
}
