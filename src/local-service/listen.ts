import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Failure } from '../errors.ts';
import { describeFileError, errorCode } from '../files/file-errors.ts';
import type { StartTimer } from '../http/time-limits.ts';
import type { ObservedService } from './create-local-service.ts';
import { expectsContinue, type OnShutdown, receiveRequest, refuseForeignRequest } from './incoming-request.ts';
import { ConnectionResetError } from './inject-faults.ts';
import { serviceLimits } from './limits.ts';
import { writeResponse } from './outgoing-response.ts';
import { jsonResponse } from './responses.ts';

/** A service that listens on a port of 127.0.0.1. */
export interface ServiceListener {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /**
   * Accepts no further connections and lets requests in flight finish. After the limit an event stream that is still open
   * ends with an error event and every other response is cut; clients have the same time again to read what is left.
   */
  readonly close: () => Promise<void>;
}

// For the error events of streams that are still open after the limit, if that is shorter.
const MIN_LAST_WRITES_MS = 250;

/**
 * Binds a service to a port of 127.0.0.1; 0 takes a free one. Requests for another host or from another origin are
 * refused, because any web page can send to loopback; the service only observes them. `timeouts` are those
 * of serviceLimits. Throws Failure `local_file` if the port is taken.
 */
export async function listenOnLoopback(
  service: ObservedService,
  port: number,
  after: StartTimer,
  timeouts: { readonly [limit in 'headMs' | 'bodyMs' | 'drainMs']: number },
): Promise<ServiceListener> {
  // A request may take long, as a gigabyte does; the rate of its body is what has a limit.
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: timeouts.headMs,
    connectionsCheckingInterval: Math.min(timeouts.headMs, 5000),
  });
  server.maxConnections = serviceLimits.connections;
  // Every request in flight adds some.
  const shutdownCallbacks = new Set<() => void>();
  const onShutdown: OnShutdown = (callback) => {
    shutdownCallbacks.add(callback);
    return () => shutdownCallbacks.delete(callback);
  };
  const inFlight = new Set<ServerResponse>();
  const exchanges = new Set<Promise<void>>();
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    inFlight.add(response);
    const stopWatching = watchBodyRate(request, timeouts.bodyMs, after);
    response.once('close', () => {
      inFlight.delete(response);
      stopWatching();
    });
    const exchange = handleConnection(service, request, response, onShutdown)
      .catch((error) => {
        if (error instanceof ConnectionResetError) request.socket.resetAndDestroy();
        else if (!response.writableEnded) response.destroy();
      })
      .finally(() => exchanges.delete(exchange));
    exchanges.add(exchange);
  };
  // A client that expects 100 Continue gets it when its body is read.
  server.on('request', onRequest).on('checkContinue', onRequest);
  // Node does not close responses that wait for their turn on a connection that ends.
  server.on('connection', (socket) =>
    socket.once('close', () => {
      for (const response of inFlight)
        if (!response.socket && response.req.socket === socket) response.destroy().emit('close');
    }),
  );
  await bindPort(server, port);
  const address = server.address();
  const boundPort = typeof address === 'object' && address ? address.port : port;
  const within = (limitMs: number, ends: Iterable<Promise<void>>): Promise<unknown> =>
    Promise.race([Promise.all(ends), new Promise<void>((resolve) => after(limitMs, resolve))]);
  const settleWithin = (limitMs: number): Promise<unknown> =>
    within(
      limitMs,
      Array.from(inFlight, (response) => new Promise<void>((resolve) => void response.once('close', resolve))),
    );
  return {
    url: `http://127.0.0.1:${boundPort}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      await settleWithin(timeouts.drainMs);
      for (const callback of shutdownCallbacks) callback();
      await settleWithin(Math.max(timeouts.drainMs, MIN_LAST_WRITES_MS));
      server.closeAllConnections();
      await closed;
      // The log and the recording of what was cut.
      await within(MIN_LAST_WRITES_MS, exchanges);
    },
  };
}

async function bindPort(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const reason = errorCode(error) === 'EADDRINUSE' ? 'it is in use' : describeFileError(error);
      reject(
        new Failure('local_file', `cannot listen on port ${port}: ${reason}`, {
          hint: 'use --port 0 for any free port',
        }),
      );
    });
    server.listen(port, '127.0.0.1', resolve);
  });
}

async function handleConnection(
  { send, observe }: ObservedService,
  request: IncomingMessage,
  response: ServerResponse,
  onShutdown: OnShutdown,
): Promise<void> {
  const received = receiveRequest(request, response, onShutdown);
  if (!received) {
    const invalid = jsonResponse(400, { detail: 'the request target is not a valid URL' });
    return writeResponse(invalid, request, response, onShutdown);
  }
  const refusal = refuseForeignRequest(received);
  const respond = refusal ? observe(async () => refusal) : send;
  await writeResponse(await respond(received), request, response, onShutdown);
}

/**
 * Closes the connection of a request whose body arrives more slowly than the minimum rate over a whole period. Periods
 * in which the service itself does not read the body do not count. The function it returns stops the watch.
 */
function watchBodyRate(request: IncomingMessage, periodMs: number, after: StartTimer): () => void {
  const minBytes = (serviceLimits.minBodyBytesPerSecond * periodMs) / 1000;
  let lastBytes = request.socket.bytesRead;
  const check = (): void => {
    if (request.complete || request.destroyed) return;
    const { bytesRead } = request.socket;
    const isUnread = request.readableLength >= request.readableHighWaterMark || expectsContinue(request);
    if (!isUnread && bytesRead - lastBytes < minBytes) {
      request.destroy();
      return;
    }
    lastBytes = bytesRead;
    cancel = after(periodMs, check);
  };
  let cancel = after(periodMs, check);
  return () => cancel();
}
