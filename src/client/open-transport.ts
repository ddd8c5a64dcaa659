import { setFlagsFromString } from 'node:v8';
import { dataDirectory } from '../config/directories.ts';
import type { Context } from '../context.ts';
import type { Deadline } from '../http/deadline.ts';
import type { Send } from '../http/message.ts';
import type { Route } from '../http/open-socket.ts';
import { type RequestProgress, withRequestProgress } from '../http/request-progress.ts';
import { stopUploadOnRefusal } from '../http/stop-upload-on-refusal.ts';
import { withTimeLimits } from '../http/time-limits.ts';
import type { Transport } from '../http/transport.ts';
import { withVerboseLog } from '../http/verbose-log.ts';
import type { Runtime } from '../runtime.ts';
import type { RequestObserver } from './request-observer.ts';

/**
 * Opens a connection to a service: over the network, or without a route to the local service. `isReused`: for many
 * exchanges in a row.
 */
export async function openTransport(
  route: Route | undefined,
  { runtime, report }: Pick<Context, 'runtime' | 'report'>,
  isReused = false,
): Promise<Transport> {
  if (!route) {
    const { databaseFileIn, openInProcessService } = await import('../local-service/open-local-service.ts');
    return openInProcessService(databaseFileIn(dataDirectory(runtime)), runtime, report.warn);
  }
  if (runtime.send) return { send: runtime.send, close: async () => {} };
  // The HTTP parser is WebAssembly. To optimize it takes 30 MiB and, on Node 20, half of the time of a process with a single
  // exchange, which waits for it at its end.
  if (!isReused && runtime.node.startsWith('20.')) setFlagsFromString('--liftoff-only');
  const { openHttpTransport } = await import('../http/transport.ts');
  return openHttpTransport(route, isReused ? runtime : undefined);
}

/** A Send that keeps `progress`, enforces the time limits, and traces each line if asked to. */
export function withMiddleware(
  send: Send,
  progress: RequestProgress,
  deadline: Deadline,
  { after }: Pick<Runtime, 'after'>,
  onTrace: RequestObserver['onTrace'],
): Send {
  const limitedSend = withTimeLimits(deadline, progress, after)(stopUploadOnRefusal(send));
  return withRequestProgress(progress)(onTrace ? withVerboseLog(onTrace)(limitedSend) : limitedSend);
}
