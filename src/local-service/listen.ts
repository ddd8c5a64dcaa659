import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Failure } from '../errors.ts';
import { errorCode } from '../files/file-errors.ts';
import type { Send } from '../http/message.ts';
import type { StartTimer } from '../http/time-limits.ts';
import { forbiddenReason, receiveRequest } from './incoming-request.ts';
import { writeResponse } from './outgoing-response.ts';
import { jsonResponse } from './responses.ts';

/** A service that listens on a port of 127.0.0.1. */
export interface ServiceListener {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** Takes no more connections, lets the answers under way finish for a moment and ends what is still open then. */
  readonly close: () => Promise<void>;
}

/** How long the service waits for clients, in milliseconds; answers may take as long as they like. */
export interface ListenTimeouts {
  /** For the whole head of a request. */
  readonly headMs: number;
  /** For the next piece of a body. */
  readonly bodyMs: number;
  /** For answers under way when it is closed. */
  readonly closeMs: number;
}

// To be closed in less time than main gives a command for its last words.
const defaultListenTimeouts: ListenTimeouts = { headMs: 60_000, bodyMs: 120_000, closeMs: 1000 };

/**
 * Binds a service to a port of 127.0.0.1; 0 takes a free one. Requests for another host or from another origin are
 * refused, because any web page can send to loopback. Throws Failure `local` where the port is taken.
 */
export async function listenOnLoopback(
  send: Send,
  port: number,
  after: StartTimer,
  timeouts = defaultListenTimeouts,
): Promise<ServiceListener> {
  // A request may take long, a gigabyte does; a client that sends nothing may not.
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: timeouts.headMs,
    connectionsCheckingInterval: Math.min(timeouts.headMs, 10_000),
  });
  const inFlight = new Set<Promise<void>>();
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const closed = new Promise<void>((resolve) => void response.once('close', resolve));
    inFlight.add(closed);
    closed.then(() => inFlight.delete(closed));
    request.setTimeout(timeouts.bodyMs);
    request.once('end', () => request.setTimeout(0));
    handleConnection(send, request, response).catch(() => response.destroy());
  };
  // Who asks whether to go on with a body is told when somebody wants to read it.
  server.on('request', onRequest).on('checkContinue', onRequest);
  await bindPort(server, port);
  const address = server.address();
  const boundPort = typeof address === 'object' && address ? address.port : port;
  return {
    url: `http://127.0.0.1:${boundPort}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      await Promise.race([Promise.all(inFlight), new Promise<void>((resolve) => after(timeouts.closeMs, resolve))]);
      server.closeAllConnections();
      await closed;
    },
  };
}

async function bindPort(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const reason = errorCode(error) === 'EADDRINUSE' ? 'it is in use' : error.message;
      reject(new Failure('local', `cannot listen on port ${port}: ${reason}`, { hint: '--port 0 takes a free one' }));
    });
    server.listen(port, '127.0.0.1', resolve);
  });
}

async function handleConnection(send: Send, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const received = receiveRequest(request, response);
  const forbidden = received && forbiddenReason(received);
  if (!received)
    return writeResponse(jsonResponse(400, { detail: 'the target of the request is no address' }), request, response);
  if (forbidden) return writeResponse(jsonResponse(403, { detail: forbidden }), request, response);
  await writeResponse(await send(received), request, response);
}
