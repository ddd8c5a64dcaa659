import type { Buffer } from 'node:buffer';

/** In the order they are sent; names as written. */
export type HttpHeaders = readonly (readonly [name: string, value: string])[];

export type RequestBody = Uint8Array | StreamedBody;

/** Chunks of a body with their total length, if it is known. It can be read once. */
interface StreamedBody {
  readonly length: number | undefined;
  readonly chunks: () => AsyncIterable<Uint8Array>;
  /** Reads a small body at once, which is faster than chunk by chunk. */
  readonly whole?: () => Promise<Uint8Array>;
}

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HttpHeaders;
  readonly body: RequestBody;
  /** Called when a body of bytes is handed over at once; a streamed body sees its chunks taken. */
  readonly onBodySent?: (() => void) | undefined;
  readonly onInterimResponse?: (() => void) | undefined;
  readonly signal?: ExchangeSignal;
}

/** A response. Its body can be read once; reading a body that was cut throws. */
export interface HttpResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HttpHeaders;
  readonly body: AsyncIterable<Uint8Array>;
  /** All of the body if it has already arrived; it need not be read chunk by chunk then. */
  readonly completeBody?: Buffer | undefined;
  /** Settles when data that no request asked for follows this or a later response: this response may be for another request. */
  readonly strayData?: Promise<void> | undefined;
  /** Gets the bytes that decompression adds, which the connection must not carry for long. */
  readonly countInflated?: (bytes: number) => void;
  /** Ends the exchange early: then reading the body throws. */
  readonly stop?: () => void;
}

/** One exchange, over the network or with the local service. Throws if no response comes; every status is a response. */
export type Send = (request: HttpRequest) => Promise<HttpResponse>;

export type Middleware = (next: Send) => Send;

export function pairHeaders(values: readonly string[]): HttpHeaders {
  const pairs: [string, string][] = [];
  for (let at = 0; at < values.length; at += 2) pairs.push([values[at] ?? '', values[at + 1] ?? '']);
  return pairs;
}

/** The value of a header, ignoring case; of several, the first. */
export function getHeader(headers: HttpHeaders, name: string): string | undefined {
  const lowerCaseName = name.toLowerCase();
  for (const [candidate, value] of headers)
    if (candidate.length === name.length && candidate.toLowerCase() === lowerCaseName) return value;
  return undefined;
}

/** Headers, and those of `defaults` whose names they do not have. */
export function mergeHeaders(defaults: HttpHeaders, headers: HttpHeaders): HttpHeaders {
  if (headers.length === 0) return defaults;
  return [...defaults.filter(([name]) => getHeader(headers, name) === undefined), ...headers];
}

/** The part of an AbortSignal that exchanges use. */
export interface ExchangeSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  readonly throwIfAborted: () => void;
  readonly addEventListener: (type: 'abort', listener: () => void, options?: { readonly once: true }) => void;
  readonly removeEventListener: (type: 'abort', listener: () => void) => void;
}

/** A new signal that `outer` aborts with its reason. For each exchange of a batch, an AbortController would take too long. */
export function linkSignal(outer: ExchangeSignal | undefined) {
  const listeners = new Set<() => void>();
  const signal = {
    aborted: false,
    reason: undefined as unknown,
    throwIfAborted: () => {
      if (signal.aborted) throw signal.reason;
    },
    addEventListener: (_: 'abort', listener: () => void) => void listeners.add(listener),
    removeEventListener: (_: 'abort', listener: () => void) => void listeners.delete(listener),
  };
  const abort = (reason: unknown): void => {
    if (signal.aborted) return;
    signal.aborted = true;
    signal.reason = reason;
    for (const listener of listeners) listener();
  };
  const onOuterAbort = (): void => abort(outer?.reason);
  if (outer?.aborted) onOuterAbort();
  else outer?.addEventListener('abort', onOuterAbort, { once: true });
  // The other signal may live much longer.
  const release = (): void => outer?.removeEventListener('abort', onOuterAbort);
  return { signal, abort, release };
}

/**
 * How long a response asks to wait, in milliseconds: the largest of all forms of `retry-after-ms` and `Retry-After`
 * (seconds or a date, RFC 9110; several headers and lists count too). A date counts from the `Date` of the response if it
 * has one, because clocks differ. Undefined if no form can be read; never negative.
 */
export function retryAfterMs(headers: HttpHeaders, now: number): number | undefined {
  const sentAt = parseHttpDate(getHeader(headers, 'date')?.trim() ?? '') ?? now;
  const waits = headers.flatMap(([name, value]) => {
    const unitMs = retryAfterUnitsMs.get(name.toLowerCase());
    // The comma of a date is followed by a day and a month.
    const items = unitMs === undefined ? [] : value.split(/,(?!\s*\d\d?[ -][A-Z])/).map((item) => item.trim());
    return items.flatMap((item) => {
      if (/^\d+(?:\.\d+)?$/.test(item)) return Math.ceil(Number(item) * (unitMs ?? 0));
      const until = parseHttpDate(item);
      return until === undefined ? [] : Math.max(0, until - sentAt);
    });
  });
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/** True for a response that asks to wait, even if the time cannot be read. */
export function hasRetryAfter(headers: HttpHeaders): boolean {
  return headers.some(([name]) => retryAfterUnitsMs.has(name.toLowerCase()));
}

const retryAfterUnitsMs: ReadonlyMap<string, number> = new Map([
  ['retry-after-ms', 1],
  ['retry-after', 1000],
]);

function parseHttpDate(text: string): number | undefined {
  // Date.parse accepts almost anything; dates of HTTP begin with a day of the week.
  const date = /^[A-Z][a-z]+,? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}
