import { Buffer } from 'node:buffer';
import { appendFile } from 'node:fs/promises';
import type { Context } from '../context.ts';
import { Failure } from '../errors.ts';
import { withFileFailure } from '../files/file-errors.ts';
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
const MAX_SHOWN_CHARS = 80;
const TRACE_PARENT_FORM = 'its form is 00-<32 hex digits>-<16 hex digits>-01, or unset it';

/** The parent that TRACEPARENT names (W3C Trace Context); undefined if it is unset, invalid or all zero. */
export function readTraceParent({ TRACEPARENT: text = '' }: Runtime['env']): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text) ?? [];
  const isKnownShape = version === '00' ? rest === undefined : version !== undefined && version !== 'ff';
  if (!isKnownShape || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, flags };
}

/** The parent that TRACEPARENT names, unless `--no-parent` is given. An invalid one is ignored, with a note. */
export async function readParent(
  isIgnored: true | undefined,
  { runtime, report }: Context,
): Promise<TraceParent | undefined> {
  if (isIgnored) return undefined;
  const { env } = runtime;
  const parent = readTraceParent(env);
  const text = JSON.stringify(env.TRACEPARENT?.slice(0, MAX_SHOWN_CHARS));
  if (env.TRACEPARENT && !parent)
    await report.note(`TRACEPARENT is not valid and is ignored: ${text}; ${TRACE_PARENT_FORM}`);
  return parent;
}

export function createTraceContext(parent: TraceParent | undefined, { randomBytes }: Pick<Runtime, 'randomBytes'>) {
  const randomHex = (bytes: number): string => Buffer.from(randomBytes(bytes)).toString('hex');
  return {
    traceId: parent?.traceId ?? randomHex(16),
    callId: randomHex(8),
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

/** What a call start sent: ids, and the project. */
interface SentCall {
  readonly ids: { readonly call?: string; readonly trace?: string };
  readonly projectId: string | undefined;
}

/**
 * The variables with which child processes continue the trace of a call start. Ids come from the request, or else from its
 * response; throws Failure `invalid_response` if neither has one. If the ids do not have the shape of TRACEPARENT, it is
 * undefined: the one of the environment names another call.
 */
function exportedVariables(env: Runtime['env'], { ids, projectId }: SentCall, doc: JsonDocument) {
  const callId = ids.call || receivedId(doc, 'id');
  const traceId = ids.trace || receivedId(doc, 'trace_id');
  const parent = readTraceParent(env);
  // The parent's flags are about its own trace.
  const flags = parent?.traceId === traceId ? parent.flags : SAMPLED_FLAGS;
  const isW3c = /^[0-9a-f]{32}$/.test(traceId) && /^[0-9a-f]{16}$/.test(callId);
  const variables = traceEnvironment({ traceId, callId, flags }, projectId);
  return Object.entries(isW3c ? variables : { ...variables, TRACEPARENT: undefined });
}

/** Converts the response to a call start into lines for `eval` in a shell. */
export function traceExports(env: Runtime['env'], sent: SentCall) {
  return (doc: JsonDocument): string =>
    exportedVariables(env, sent, doc)
      .map(([name, value]) =>
        // An id may come from a server: quoted, so that the shell runs nothing in it.
        value === undefined ? `unset ${name}\n` : `export ${name}=${shellQuote(value)}\n`,
      )
      .join('');
}

/** Appends the variables to the file with which a step of GitHub Actions sets them for later steps. Throws Failure. */
export async function appendGithubVariables(file: string, env: Runtime['env'], sent: SentCall, doc: JsonDocument) {
  const variables = exportedVariables(env, sent, doc);
  // A line break in an id of a server would set another variable.
  const broken = variables.find(([, value = '']) => /[\r\n]/.test(value));
  if (broken) throw new Failure('invalid_response', `--export: ${broken[0]} would have several lines`);
  const text = variables.map(([name, value = '']) => `${name}=${value}\n`).join('');
  await withFileFailure('write', file, () => appendFile(file, text));
}

function receivedId(doc: JsonDocument, name: string): string {
  const id = firstStringMember(rootOf(doc), name);
  if (id) return id;
  throw new Failure('invalid_response', `--export: neither the request nor the response has ${name}`, {
    hint: 'send the ids with --id and --trace-id',
  });
}
