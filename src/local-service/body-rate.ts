import type { IncomingMessage } from 'node:http';
import type { StartTimer } from '../http/time-limits.ts';
import { expectsContinue } from './incoming-request.ts';
import { serviceLimits } from './limits.ts';

/**
 * Closes the connection of a request whose body arrives more slowly than the minimum rate over a whole period. Periods
 * in which the service itself does not read the body do not count. The function it returns stops the watch.
 */
export function watchBodyRate(request: IncomingMessage, periodMs: number, after: StartTimer): () => void {
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
