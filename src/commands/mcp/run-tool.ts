import { Buffer } from 'node:buffer';
import { buildBody } from '../../body/build-body.ts';
import type { InputReader } from '../../body/input-reader.ts';
import { enforceChecks } from '../../client/enforce-checks.ts';
import { prepareRequest } from '../../client/request.ts';
import { type Outcome, sendAlone } from '../../client/send.ts';
import { resolveSettings } from '../../client/settings.ts';
import type { Context } from '../../context.ts';
import { Failure, toFailure } from '../../errors.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import type { FlagValues } from '../../flag.ts';
import { rootOf } from '../../json/json-node.ts';
import { compactJson, RawJson } from '../../json/write-json.ts';
import type { Operation } from '../../operations/operation.ts';
import { failureJson } from '../../output/failure-text.ts';
import { mergeStream } from '../../results/chunk-merger.ts';
import { createTraceContext, readTraceParent } from '../../trace/trace-context.ts';
import { createJobGuard, isHarmless, jobOfBody } from '../train/job-guard.ts';
import type { RunTool, ToolCall } from './mcp-methods.ts';

// A larger response would fill the context of a model.
const MAX_RESULT_BYTES = 64 * 1024;

type ToolResult = Awaited<ReturnType<RunTool>>;

interface ToolResponse {
  /** The response as the service sent it; a stream as one JSON text. */
  readonly text: string;
  /** Its JSON on one line. */
  readonly json: string;
  readonly failure: Failure | undefined;
}

/** Creates the function that runs a tool: it checks, sends and returns as the command of the operation does. */
export function createToolRunner(flags: FlagValues, context: Context): RunTool {
  return async ({ operation }, call, signal) => {
    try {
      const bothSignals = AbortSignal.any([signal, context.signal]);
      const { text, json, failure, warnings } = await runOperationTool(operation, call, flags, context, bothSignals);
      if (!failure) return successResult(text, json, warnings);
      return errorResult(failureJson(failure, context.report.redact), firstBytes(text));
    } catch (error) {
      return errorResult(failureJson(toFailure(error), context.report.redact));
    }
  };
}

async function runOperationTool(
  operation: Operation,
  { args, traceParent }: ToolCall,
  flags: FlagValues,
  context: Context,
  signal: AbortSignal,
): Promise<ToolResponse & Pick<Outcome, 'warnings'>> {
  const { runtime, report } = context;
  const settings = await resolveSettings(operation, flags, context);
  const parent = operation.continuesTrace ? readTraceParent({ TRACEPARENT: traceParent }) : undefined;
  const trace = parent && createTraceContext(parent, runtime);
  const { draft, inputIssues } = await buildBody(
    { operation, args: [], flags: new Map([['file', 'arguments']]), isStdinTerminal: true },
    { settings: settings.isExact ? undefined : { ...settings.defaults, trace }, conversation: undefined },
    { inputs: readerOf(Buffer.from(args)), now: runtime.now, randomBytes: runtime.randomBytes },
  );
  const bodyWarnings: string[] = [];
  const warn = async (text: string): Promise<void> => {
    bodyWarnings.push(text);
    await report.warn(text);
  };
  await enforceChecks(draft, operation, inputIssues, { ...settings, origin: 'tool' }, { ...report, warn });
  const observer =
    typeof operation.arguments?.as === 'object'
      ? createJobGuard(jobOfBody(draft, 'mcp', settings), isHarmless(settings), context)
      : {};
  const request = prepareRequest(settings, draft);
  const outcome = await sendAlone(request, settings, { ...context, signal }, observer);
  return { ...(await readOutcome(outcome, operation)), warnings: [...bodyWarnings, ...outcome.warnings] };
}

// The arguments of the call are the only input; nothing else of the machine can be read through it.
function readerOf(bytes: Buffer): InputReader {
  const refuse = async (): Promise<never> => {
    throw new Failure('usage', 'a tool call cannot read files');
  };
  return {
    read: refuse,
    readStdin: refuse,
    hasUnreadStdin: async () => false,
    whole: async () => ({ label: 'arguments', bytes }),
  };
}

// A request that was applied is paid for: so the partial output of an incomplete or invalid response is returned, too.
async function readOutcome({ parsedResponse, chunks }: Outcome, { reply }: Operation): Promise<ToolResponse> {
  if (!parsedResponse) {
    const merged = await mergeStream(
      chunks,
      reply,
      (message) => new Failure('invalid_response', message, { applied: 'yes' }),
    );
    return { ...merged, text: merged.json };
  }
  const { bytes, doc, failure } = parsedResponse;
  return doc ? { text: bytes.toString(), json: compactJson(rootOf(doc)), failure } : { text: '', json: '', failure };
}

function successResult(text: string, json: string, warnings: readonly string[]): ToolResult {
  const warningTexts = warnings.map((warning) => `Warning: ${warning}`);
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_RESULT_BYTES)
    return { content: textContent(text, ...warningTexts), structuredContent: new RawJson(json) };
  const note = `The response has ${formatByteSize(bytes)}; these are the first ${formatByteSize(MAX_RESULT_BYTES)}. The request was applied.`;
  return errorResult(note, ...warningTexts, firstBytes(text));
}

function errorResult(...texts: readonly string[]): ToolResult {
  return { content: textContent(...texts.filter((text) => text !== '')), isError: true };
}

function textContent(...texts: readonly string[]): { readonly type: 'text'; readonly text: string }[] {
  return texts.map((text) => ({ type: 'text', text }));
}

// Without half a character at the end.
function firstBytes(text: string): string {
  return Buffer.from(text)
    .subarray(0, MAX_RESULT_BYTES)
    .toString()
    .replace(/\ufffd+$/, '');
}
