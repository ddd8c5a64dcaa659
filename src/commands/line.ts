import type { Context } from '../cli/context.ts';
import type { Way } from '../http/connection.ts';
import { withDecoding } from '../http/decode.ts';
import { usualLimits, withLimits } from '../http/limits.ts';
import { compileParserQuickly } from '../http/parser.ts';
import { type Progress, withProgress } from '../http/progress.ts';
import { proxySecrets } from '../http/proxies.ts';
import { withTrace } from '../http/trace.ts';
import type { Line } from '../http/undici.ts';
import { dataFolder } from '../profiles/folders.ts';
import type { Runtime } from '../runtime.ts';

/** Opens the line to a service, over the network or, without a way, the embedded one, with the limits of an exchange. */
export async function openLine(way: Way | undefined, progress: Progress, context: Context): Promise<Line> {
  const { runtime, report } = context;
  if (way?.proxy) report.conceal(proxySecrets(way.proxy));
  const { send, close } = await rawLine(way, runtime);
  const layers = [
    withProgress(progress),
    withTrace(report.detail),
    withDecoding,
    withLimits(usualLimits, progress, runtime.after),
  ];
  return { send: layers.reduceRight((next, layer) => layer(next), send), close };
}

async function rawLine(way: Way | undefined, runtime: Runtime): Promise<Line> {
  if (!way) {
    const { dataFile, openService } = await import('../service/open.ts');
    return openService({ data: dataFile(dataFolder(runtime)) }, runtime);
  }
  if (runtime.send) return { send: runtime.send, close: async () => {} };
  compileParserQuickly();
  const { overUndici } = await import('../http/undici.ts');
  return overUndici(way);
}
