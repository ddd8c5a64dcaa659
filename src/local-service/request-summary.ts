import { notifyBodyEnd } from '../http/body-chunks.ts';
import { getHeader, type Middleware } from '../http/message.ts';
import { writeJson } from '../json/write-json.ts';
import { requestPath } from './responses.ts';

/** The end of a request. */
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
export type OnRequest = () => (summary: RequestSummary) => void;

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

/** The format of the request log. */
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
