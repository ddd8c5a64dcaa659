import type { Context } from '../cli/context.ts';
import type { Way } from '../http/connection.ts';
import type { Deadline } from '../http/deadline.ts';
import { withDecoding } from '../http/decode.ts';
import { untilRefused } from '../http/early-answer.ts';
import { usualLimits, withLimits } from '../http/limits.ts';
import type { Send } from '../http/message.ts';
import type { Line } from '../http/network.ts';
import { compileParserQuickly } from '../http/parser.ts';
import { type Progress, withProgress } from '../http/progress.ts';
import { proxySecrets } from '../http/proxies.ts';
import { withTrace } from '../http/trace.ts';
import { dataFolder } from '../profiles/folders.ts';
import type { Runtime } from '../runtime.ts';

/** Opens the line to a service, over the network or, without a way, the embedded one; `isKept`: for many exchanges in a row. */
export async function openLine(way: Way | undefined, context: Context, isKept = false): Promise<Line> {
  if (way?.proxy) context.report.conceal(proxySecrets(way.proxy));
  return rawLine(way, context.runtime, isKept);
}

/** What every exchange passes through: what is known of it, what is told of it, decoding, and its limits. */
export function withLayers(send: Send, progress: Progress, deadline: Deadline, { runtime, report }: Context): Send {
  const layers = [
    withProgress(progress),
    ...(report.isVerbose ? [withTrace(report.detail)] : []),
    withDecoding,
    withLimits(usualLimits, deadline, progress, runtime.after),
    untilRefused,
  ];
  return layers.reduceRight((next, layer) => layer(next), send);
}

async function rawLine(way: Way | undefined, runtime: Runtime, isKept: boolean): Promise<Line> {
  if (!way) {
    const { dataFile, openService } = await import('../service/open.ts');
    return openService({ data: dataFile(dataFolder(runtime)) }, runtime);
  }
  if (runtime.send) return { send: runtime.send, close: async () => {} };
  // Of many exchanges each one would be slower, and the end of the process is a small part of it all.
  if (!isKept && runtime.node.startsWith('20.')) compileParserQuickly();
  const { overNetwork } = await import('../http/network.ts');
  return overNetwork(way, isKept);
}
