import { firstStringMember, rootOf } from '../json/json-node.ts';
import type { JsonDocument } from '../json/parse-json.ts';
import type { Runtime } from '../runtime.ts';
import { readTraceParent, SAMPLED_FLAGS, traceEnvironment } from './trace-context.ts';

/**
 * Turns the response to a call start into `export` lines for `eval` in a shell: what a child process needs to continue
 * the trace. TRACEPARENT is left out if the ids do not have its shape.
 */
export function traceExports(env: Runtime['env']): (doc: JsonDocument) => string {
  return (doc) => {
    const [callId = '', traceId = ''] = ['id', 'trace_id'].map((name) => firstStringMember(rootOf(doc), name));
    const flags = readTraceParent(env)?.flags ?? SAMPLED_FLAGS;
    const { TRACEPARENT, ...ids } = traceEnvironment({ traceId, callId, flags }, undefined);
    const isW3c = /^[0-9a-f]{32}$/.test(traceId) && /^[0-9a-f]{16}$/.test(callId);
    return Object.entries({ ...(isW3c ? { TRACEPARENT } : {}), ...ids })
      .map(([name, value]) => `export ${name}=${quoteForShell(value)}\n`)
      .join('');
  };
}

// The ids come from a server, and the shell would run what stands in them.
function quoteForShell(text = ''): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
