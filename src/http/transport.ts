import { notifyBodyEnd } from './body-chunks.ts';
import { createConnection, type HttpConnection } from './http-connection.ts';
import type { Send } from './message.ts';
import type { ConnectOptions } from './open-socket.ts';
import type { StartTimer } from './time-limits.ts';

/** A way to send requests, open until it is closed; closing ends all exchanges at once. */
export interface Transport {
  readonly send: Send;
  /** Ends the kept connections that are idle in order, which shows data that no request asked for. */
  readonly finishIdle?: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Exchanges over HTTP/1.1 without any of undici's own policies: no redirects, retries, time limits or decoding. Throws
 * what the connection throws. A body is read only once the connection, TLS included, is open.
 *
 * Each exchange has its own connection: a server may close a reused one just as the next request is sent, and then it is
 * unknown whether that request was applied. With `keepAlive`, for many exchanges in a row, a connection whose response was read to
 * its end serves the next one within a second (docs/decisions/0019), until a request gets no response on such a connection.
 */
export function openHttpTransport(options: ConnectOptions, keepAlive?: { readonly after: StartTimer }): Transport {
  const openConnections = new Set<HttpConnection>();
  const idleConnections: HttpConnection[] = [];
  let lastUrl: URL | undefined;
  // Some servers close each connection after a response without announcing it: they would lose every second request.
  let isReuseSafe = keepAlive !== undefined;
  const discard = async (connection: HttpConnection): Promise<void> => {
    openConnections.delete(connection);
    await connection.destroy();
  };
  const finish = async (connection: HttpConnection): Promise<void> => {
    if (keepAlive) await connection.finish(keepAlive.after);
    openConnections.delete(connection);
  };
  return {
    send: async (request) => {
      const { signal } = request;
      signal?.throwIfAborted();
      // Many exchanges in a row have the same URL.
      const url = lastUrl?.href === request.url ? lastUrl : new URL(request.url);
      lastUrl = url;
      const canReuse = isReuseSafe && idleConnections.at(-1)?.origin === url.origin;
      const idle = canReuse ? idleConnections.pop() : undefined;
      const connection = idle ?? createConnection(url, options, isReuseSafe);
      openConnections.add(connection);
      const stop = (): void => void connection.destroy(signal?.reason);
      signal?.addEventListener('abort', stop, { once: true });
      const onEnd = (isComplete: boolean): Promise<void> | undefined => {
        signal?.removeEventListener('abort', stop);
        if (!isComplete || !keepAlive) return discard(connection);
        if (isReuseSafe && connection.isReusable()) idleConnections.push(connection);
        else void finish(connection);
        return undefined;
      };
      try {
        return await notifyBodyEnd(await connection.exchange(request, url), onEnd);
      } catch (error) {
        if (idle && !signal?.aborted) isReuseSafe = false;
        await onEnd(false);
        throw error;
      }
    },
    finishIdle: async () => {
      await Promise.all(idleConnections.splice(0).map(finish));
    },
    close: async () => {
      await Promise.all(Array.from(openConnections, discard));
    },
  };
}
