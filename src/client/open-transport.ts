import { dataDirectory } from '../config/directories.ts';
import type { Context } from '../context.ts';
import { useBaselineCompiler } from '../http/baseline-compiler.ts';
import type { Deadline } from '../http/deadline.ts';
import { withDecompression } from '../http/decompress.ts';
import type { Send } from '../http/message.ts';
import type { Route } from '../http/open-socket.ts';
import { proxySecrets } from '../http/proxy.ts';
import { type RequestProgress, withRequestProgress } from '../http/request-progress.ts';
import { stopUploadOnRefusal } from '../http/stop-upload-on-refusal.ts';
import { defaultTimeLimits, withTimeLimits } from '../http/time-limits.ts';
import type { Transport } from '../http/transport.ts';
import { withVerboseLog } from '../http/verbose-log.ts';
import type { Runtime } from '../runtime.ts';

/** Opens the line to a service, over the network or, without a way, the embedded one; `isKept`: for many exchanges in a row. */
export async function openTransport(route: Route | undefined, context: Context, isReused = false): Promise<Transport> {
  if (route?.proxy) context.report.addSecrets(proxySecrets(route.proxy));
  return createTransport(route, context.runtime, isReused);
}

/** What every exchange passes through: what is known of it, what is told of it, decoding, and its limits. */
export function withMiddleware(
  send: Send,
  progress: RequestProgress,
  deadline: Deadline,
  { runtime, report }: Context,
): Send {
  const middleware = [
    withRequestProgress(progress),
    ...(report.isVerbose ? [withVerboseLog(report.detail)] : []),
    withDecompression,
    withTimeLimits(defaultTimeLimits, deadline, progress, runtime.after),
    stopUploadOnRefusal,
  ];
  return middleware.reduceRight((next, wrap) => wrap(next), send);
}

async function createTransport(route: Route | undefined, runtime: Runtime, isReused: boolean): Promise<Transport> {
  if (!route) {
    const { databaseFileIn, openLocalService } = await import('../local-service/open-local-service.ts');
    return openLocalService({ databaseFile: databaseFileIn(dataDirectory(runtime)) }, runtime);
  }
  if (runtime.send) return { send: runtime.send, close: async () => {} };
  // Of many exchanges each one would be slower, and the end of the process is a small part of it all.
  if (!isReused && runtime.node.startsWith('20.')) useBaselineCompiler();
  const { openTransport } = await import('../http/transport.ts');
  return openTransport(route, isReused);
}
