import { writeJson } from '../json/write-json.ts';
import type { RequestSummary } from './request-summary.ts';

/** How requests are logged. */
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
