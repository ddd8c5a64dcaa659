import { createConnection, type HttpConnection } from './http-connection.ts';
import type { Send } from './message.ts';
import { notifyBodyEnd } from './notify-body-end.ts';
import type { Route } from './open-socket.ts';
import type { StartTimer } from './time-limits.ts';

/** A way to send requests, open until it is closed; closing ends all exchanges at once. */
export interface Transport {
  readonly send: Send;
  /** Ends the kept connections that are idle in order, which shows data that no request asked for. */
  readonly finishIdle?: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Exchanges over HTTP/1.1 without any of undici's own policies: no redirects, no repeats, no time limits, no decoding.
 * Throws what the connection throws. A body is asked for when the connection, TLS included, is there.
 *
 * Each exchange has a connection of its own: one that was used before can be closed by the server as the next request
 * leaves, and then nobody knows whether that was applied. With `keepAlive`, for many exchanges in a row, a connection whose
 * answer was read to its end serves the next one, unless that comes later than a second (docs/decisions/0019).
 */
export function openHttpTransport(route: Route, keepAlive?: { readonly after: StartTimer }): Transport {
  const openConnections = new Set<HttpConnection>();
  const idleConnections: HttpConnection[] = [];
  let lastUrl: URL | undefined;
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
      // Many exchanges in a row go to the same address.
      const url = lastUrl?.href === request.url ? lastUrl : new URL(request.url);
      lastUrl = url;
      const at = idleConnections.findLastIndex(({ origin }) => origin === url.origin);
      const [connection = createConnection(url, route, keepAlive !== undefined)] =
        at === -1 ? [] : idleConnections.splice(at, 1);
      openConnections.add(connection);
      try {
        const response = await connection.exchange(request, url);
        const onEnd = async (isComplete: boolean): Promise<void> => {
          if (!isComplete || !keepAlive) await discard(connection);
          else if (connection.isReusable()) idleConnections.push(connection);
          else void finish(connection);
        };
        return await notifyBodyEnd(response, onEnd);
      } catch (error) {
        await discard(connection);
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
