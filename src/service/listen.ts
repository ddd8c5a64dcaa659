import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Failure } from '../errors.ts';
import { errorCode } from '../files/reason.ts';
import { type Headers, header, type Reply, type Send } from '../http/message.ts';
import { isLoopback } from '../http/proxies.ts';

const MOST_DISCARDED = 256 * 1024 * 1024;

/** A service that listens on a port of 127.0.0.1. */
export interface Listener {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** Takes no more connections and ends those that are open. */
  readonly close: () => Promise<void>;
}

/**
 * Binds a service to a port of 127.0.0.1; 0 takes a free one. Requests for another host or from another origin are
 * refused, because any web page can send to loopback. Throws Failure `local` where the port is taken.
 */
export async function listen(send: Send, port: number): Promise<Listener> {
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    answer(send, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const reason = errorCode(error) === 'EADDRINUSE' ? 'it is in use' : error.message;
      reject(new Failure('local', `cannot listen on port ${port}: ${reason}`, { hint: '--port 0 takes a free one' }));
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address ? address.port : port;
  return {
    url: `http://127.0.0.1:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(send: Send, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const headers = headersOf(request);
  const forbidden = forbiddenReason(headers);
  if (forbidden) {
    response
      .writeHead(403, { 'Content-Type': 'application/json', Connection: 'close' })
      .end(JSON.stringify({ detail: forbidden }));
    return;
  }
  const length = header(headers, 'content-length');
  const url = new URL(request.url ?? '/', 'http://localhost');
  const body = { length: length === undefined ? undefined : Number(length), pieces: () => unread(request) };
  await write(await send({ method: request.method ?? 'GET', url: url.href, headers, body }), request, response);
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  return Array.from(
    { length: rawHeaders.length / 2 },
    (_, at) => [rawHeaders[at * 2] ?? '', rawHeaders[at * 2 + 1] ?? ''] as const,
  );
}

function forbiddenReason(headers: Headers): string | undefined {
  const own = `http://${header(headers, 'host') ?? ''}`;
  if (!URL.canParse(own) || !isLoopback(new URL(own))) return 'the Host header must be loopback';
  const origin = header(headers, 'origin');
  return origin === undefined || origin === own ? undefined : 'requests from other origins are refused';
}

async function write(
  { status, headers, body }: Reply,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A body that was refused unread would be taken for the next request.
  if (!request.complete) response.setHeader('Connection', 'close');
  response.writeHead(status, headers.flat());
  for await (const piece of body) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
  }
  await discardRest(request);
  response.end();
}

// Closing while a client still sends would reset the connection and lose the answer, so the rest is read, up to a bound.
async function discardRest(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return;
  let rest = MOST_DISCARDED;
  try {
    for await (const piece of unread(request)) {
      rest -= piece.length;
      if (rest <= 0) return;
    }
  } catch {
    // A client that is gone waits for no answer.
  }
}

// Leaving off does not close the connection, on which the answer is still to go.
function unread(request: IncomingMessage): AsyncIterable<Uint8Array> {
  return request.iterator({ destroyOnReturn: false });
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
