import { Buffer } from 'node:buffer';
import type { Context } from '../context.ts';
import { Failure } from '../errors.ts';
import { firstStringMember, type JsonDocument, rootOf } from '../json/json-node.ts';
import { shellQuote } from '../output/shell-quote.ts';
import type { Runtime } from '../runtime.ts';

/** The parent of a call, with ids as OpenTelemetry writes them: 32 and 16 hexadecimal digits. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: string;
}

const SAMPLED_FLAGS = '01';

/** The parent that TRACEPARENT names (W3C Trace Context); undefined if it is unset, invalid or all zero. */
export function readTraceParent({ TRACEPARENT: text = '' }: Runtime['env']): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text) ?? [];
  const isKnownShape = version === '00' ? rest === undefined : version !== undefined && version !== 'ff';
  if (!isKnownShape || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, flags };
}

/** The parent that TRACEPARENT names, unless `--no-parent` is given. An invalid one is ignored, with a warning under `--verbose`. */
export async function readParent(
  isIgnored: true | undefined,
  { runtime, report }: Context,
): Promise<TraceParent | undefined> {
  if (isIgnored) return undefined;
  const { env } = runtime;
  const parent = readTraceParent(env);
  if (env.TRACEPARENT && !parent && report.isVerbose)
    await report.warn(`TRACEPARENT is not valid and is ignored: ${JSON.stringify(env.TRACEPARENT)}`);
  return parent;
}

export function createTraceContext(parent: TraceParent | undefined, { randomBytes }: Pick<Runtime, 'randomBytes'>) {
  return {
    traceId: parent?.traceId ?? randomHex(16, randomBytes),
    callId: randomHex(8, randomBytes),
    parentId: parent?.spanId,
    flags: parent?.flags ?? SAMPLED_FLAGS,
  };
}

/** The variables by which a child process finds its parent call (OpenTelemetry's environment carriers, and our own). */
export function traceEnvironment(
  { traceId, callId, flags }: Record<'traceId' | 'callId' | 'flags', string>,
  projectId: string | undefined,
): { readonly [name: string]: string } {
  return {
    TRACEPARENT: `00-${traceId}-${callId}-${flags}`,
    SVC_TRACE_ID: traceId,
    SVC_CALL_ID: callId,
    ...(projectId ? { SVC_PROJECT_ID: projectId } : {}),
  };
}

/**
 * Converts the response to a call start into `export` lines for `eval` in a shell, with which child processes continue the
 * trace. Ids come from the request, or else from the response; throws Failure `invalid_response` if neither has one. If the ids do not
 * have the shape of TRACEPARENT, the lines unset it, because the one of the shell names another call.
 */
export function traceExports(env: Runtime['env'], sentIds: { readonly call?: string; readonly trace?: string }) {
  return (doc: JsonDocument): string => {
    const callId = sentIds.call || receivedId(doc, 'id');
    const traceId = sentIds.trace || receivedId(doc, 'trace_id');
    const parent = readTraceParent(env);
    // The parent's flags are about its own trace.
    const flags = parent?.traceId === traceId ? parent.flags : SAMPLED_FLAGS;
    const { TRACEPARENT, ...ids } = traceEnvironment({ traceId, callId, flags }, undefined);
    const isW3c = /^[0-9a-f]{32}$/.test(traceId) && /^[0-9a-f]{16}$/.test(callId);
    // An id may come from a server: quoted, so that the shell runs nothing in it.
    const lines = Object.entries({ ...(isW3c ? { TRACEPARENT } : {}), ...ids }).map(
      ([name, value = '']) => `export ${name}=${shellQuote(value)}\n`,
    );
    return [...(isW3c ? [] : ['unset TRACEPARENT\n']), ...lines].join('');
  };
}

function receivedId(doc: JsonDocument, name: string): string {
  const id = firstStringMember(rootOf(doc), name);
  if (id) return id;
  throw new Failure('invalid_response', `--export: neither the request nor the response has ${name}`, {
    hint: 'send the ids with --id and --trace-id',
  });
}

// Zero means "no id" in both formats.
function randomHex(bytes: number, randomBytes: Runtime['randomBytes']): string {
  const text = Buffer.from(randomBytes(bytes)).toString('hex');
  return /^0+$/.test(text) ? randomHex(bytes, randomBytes) : text;
}
