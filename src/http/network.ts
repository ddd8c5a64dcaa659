import type { Way } from './connection.ts';
import { endedWith } from './ended.ts';
import type { Send } from './message.ts';
import { type Link, linkTo } from './undici.ts';

/** A way to send requests, open until it is closed; closing ends all exchanges at once. */
export interface Line {
  readonly send: Send;
  readonly close: () => Promise<void>;
}

/**
 * Exchanges over HTTP/1.1 without any of undici's own policies: no redirects, no repeats, no time limits, no decoding.
 * Throws what the connection throws. A body is asked for when the connection, TLS included, is there.
 *
 * Each exchange has a connection of its own: one that was used before can be closed by the server as the next request
 * leaves, and then nobody knows whether that was applied. Where `isKept`, for many exchanges in a row, a connection whose
 * answer was read to its end serves the next one, unless that comes later than a second (docs/decisions/0019).
 */
export function overNetwork(way: Way, isKept = false): Line {
  const open = new Set<Link>();
  const idle: Link[] = [];
  let last: URL | undefined;
  const discard = async (link: Link): Promise<void> => {
    open.delete(link);
    await link.destroy();
  };
  return {
    send: async (request) => {
      // Many exchanges in a row go to the same address.
      const url = last?.href === request.url ? last : new URL(request.url);
      last = url;
      const at = idle.findLastIndex(({ origin }) => origin === url.origin);
      const [link = linkTo(url, way, isKept)] = at === -1 ? [] : idle.splice(at, 1);
      open.add(link);
      try {
        const reply = await link.exchange(request, url);
        const end = async (isWhole: boolean): Promise<void> => {
          if (isWhole && isKept) idle.push(link);
          else await discard(link);
        };
        return await endedWith(reply, end);
      } catch (error) {
        await discard(link);
        throw error;
      }
    },
    close: async () => {
      await Promise.all(Array.from(open, discard));
    },
  };
}
