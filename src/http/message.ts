import type { Buffer } from 'node:buffer';
import type { ExchangeSignal } from './exchange-signal.ts';

/** Header names and values in the order they are sent; names as written. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** A body: bytes, or a stream of them. */
export type RequestBody = Uint8Array | StreamedBody;

/** Chunks of a body with their total length, if it is known. It can be read once. */
export interface StreamedBody {
  readonly length: number | undefined;
  readonly chunks: () => AsyncIterable<Uint8Array>;
  /** Reads a small body at once, which is faster than chunk by chunk. */
  readonly whole?: () => Promise<Uint8Array>;
}

/** A request of one HTTP exchange. `url` is absolute. */
export interface Request {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: RequestBody;
  /** Called when a body of bytes is handed over at once; a streamed body sees its chunks taken. */
  readonly onBodySent?: (() => void) | undefined;
  /**
   * Called when data that no request asked for follows on a kept connection, after the response to this request or to one
   * of the next: this response may be for another request.
   */
  readonly onStrayData?: (() => void) | undefined;
  /** Called for each interim response (1xx). */
  readonly onInterimResponse?: (() => void) | undefined;
  /** Ends the exchange early, with its reason as the error. */
  readonly signal?: ExchangeSignal;
}

/** A response. Its body can be read once; reading a body that was cut throws. */
export interface Response {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;
  /** All of the body if it has already arrived; it need not be read chunk by chunk then. */
  readonly completeBody?: Buffer | undefined;
  /** Ends the exchange early: then reading the body throws. */
  readonly stop?: () => void;
}

/** One exchange, over the network or with the local service. Throws if no response comes; every status is a response. */
export type Send = (request: Request) => Promise<Response>;

/** Wraps every exchange. */
export type Middleware = (next: Send) => Send;

/** The value of a header, ignoring case; of several, the first. */
export function getHeader(headers: Headers, name: string): string | undefined {
  const lowerCaseName = name.toLowerCase();
  for (const [candidate, value] of headers)
    if (candidate.length === name.length && candidate.toLowerCase() === lowerCaseName) return value;
  return undefined;
}
