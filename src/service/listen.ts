import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Failure } from '../errors.ts';
import { errorCode } from '../files/reason.ts';
import type { After } from '../http/limits.ts';
import type { Send } from '../http/message.ts';
import { forbiddenReason, incoming } from './incoming.ts';
import { outgoing } from './outgoing.ts';
import { jsonReply } from './replies.ts';

/** A service that listens on a port of 127.0.0.1. */
export interface Listener {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** Takes no more connections, lets the answers under way finish for a moment and ends what is still open then. */
  readonly close: () => Promise<void>;
}

/** How long the service waits for clients, in milliseconds; answers may take as long as they like. */
export interface Patience {
  /** For the whole head of a request. */
  readonly head: number;
  /** For the next piece of a body. */
  readonly body: number;
  /** For answers under way when it is closed. */
  readonly close: number;
}

// To be closed in less time than main gives a command for its last words.
const usualPatience: Patience = { head: 60_000, body: 120_000, close: 1000 };

/**
 * Binds a service to a port of 127.0.0.1; 0 takes a free one. Requests for another host or from another origin are
 * refused, because any web page can send to loopback. Throws Failure `local` where the port is taken.
 */
export async function listen(send: Send, port: number, after: After, patience = usualPatience): Promise<Listener> {
  // A request may take long, a gigabyte does; a client that sends nothing may not.
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: patience.head,
    connectionsCheckingInterval: Math.min(patience.head, 10_000),
  });
  const underWay = new Set<Promise<void>>();
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const closed = new Promise<void>((resolve) => void response.once('close', resolve));
    underWay.add(closed);
    closed.then(() => underWay.delete(closed));
    request.setTimeout(patience.body);
    request.once('end', () => request.setTimeout(0));
    answer(send, request, response).catch(() => response.destroy());
  };
  // Who asks whether to go on with a body is told when somebody wants to read it.
  server.on('request', take).on('checkContinue', take);
  await bound(server, port);
  const address = server.address();
  const taken = typeof address === 'object' && address ? address.port : port;
  return {
    url: `http://127.0.0.1:${taken}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      await Promise.race([Promise.all(underWay), new Promise<void>((resolve) => after(patience.close, resolve))]);
      server.closeAllConnections();
      await closed;
    },
  };
}

async function bound(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const reason = errorCode(error) === 'EADDRINUSE' ? 'it is in use' : error.message;
      reject(new Failure('local', `cannot listen on port ${port}: ${reason}`, { hint: '--port 0 takes a free one' }));
    });
    server.listen(port, '127.0.0.1', resolve);
  });
}

async function answer(send: Send, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const taken = incoming(request, response);
  const forbidden = taken && forbiddenReason(taken);
  if (!taken) return outgoing(jsonReply(400, { detail: 'the target of the request is no address' }), request, response);
  if (forbidden) return outgoing(jsonReply(403, { detail: forbidden }), request, response);
  await outgoing(await send(taken), request, response);
}
