import type { Reporter } from '../output/reporter.ts';
import type { Runtime } from '../runtime.ts';
import { readTraceParent, type TraceParent } from './trace-context.ts';

/** The parent that TRACEPARENT names. An invalid one is ignored, with a warning under `--verbose`. */
export async function readParent(env: Runtime['env'], report: Reporter): Promise<TraceParent | undefined> {
  const parent = readTraceParent(env);
  if (env.TRACEPARENT && !parent)
    await report.detail(`warning: TRACEPARENT is not valid and is ignored: ${JSON.stringify(env.TRACEPARENT)}`);
  return parent;
}
