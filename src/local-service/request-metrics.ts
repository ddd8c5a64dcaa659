import type { RequestSummary } from './request-summary.ts';

/** Counters of requests, in the text format of Prometheus. */
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
      addDuration(histogram, durationMs / 1000);
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

function addDuration(histogram: DurationHistogram, seconds: number): void {
  histogram.sumSeconds += seconds;
  for (const [at, limit] of BUCKET_LIMITS_SECONDS.entries())
    if (seconds <= limit) histogram.counts[at] = (histogram.counts[at] ?? 0) + 1;
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
