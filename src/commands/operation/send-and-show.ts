import { requestedChoiceCount } from '../../body/chat/chat-edits.ts';
import type { Conversation } from '../../body/chat/conversation.ts';
import type { Authorization } from '../../client/authorization.ts';
import { openRunReport } from '../../client/expectations/run-report.ts';
import { factsWithoutResponse, responseFacts } from '../../client/failure.ts';
import { createRequestContext, type PreparedRequest, requestSecrets, type SendHooks } from '../../client/request.ts';
import { connect, type Outcome, send } from '../../client/send.ts';
import type { Context } from '../../context.ts';
import { Failure, type FailureFacts, toFailure } from '../../errors.ts';
import { observeChunks } from '../../http/body-chunks.ts';
import { type JsonDocument, type JsonNode, rootOf } from '../../json/json-node.ts';
import type { Reporter } from '../../output/reporter.ts';
import { openSink, type Sink } from '../../output/sink.ts';
import { ClosedPipeError } from '../../output/writer.ts';
import type { ExchangeTiming } from '../../results/chat-stats.ts';
import { hasOutput } from '../../results/chat-text.ts';
import { defaultFormat } from '../../results/output-format.ts';
import { type ResultView, showResponse } from '../../results/show-response.ts';
import type { StreamUse } from '../../results/show-stream.ts';
import type { RequestStart } from './request-command.ts';
import { type ResponseHooks, recordRequest } from './response-hooks.ts';

interface ShowOptions extends Pick<RequestStart, 'settings' | 'flags' | 'deadline' | 'filter'> {
  readonly conversation?: Conversation | undefined;
  /** Records the request before it is sent, and its outcome. */
  readonly guard?: Pick<SendHooks, 'onSend' | 'onOutcome'> | undefined;
  /** A credential that was read before; without it, it is read for the request. */
  readonly authorization?: Authorization | undefined;
  readonly hooks: ResponseHooks | undefined;
}

interface ShownResponse {
  readonly doc: JsonDocument;
  readonly timing: ExchangeTiming;
}

/**
 * Sends a request, prints the response and returns it. A conversation is saved with it, even if it cannot be printed.
 * Throws the Failure otherwise. The outcome is in the reports of `--junit` and `--summary`, and in the history.
 */
export async function sendAndShow(
  request: PreparedRequest,
  options: ShowOptions,
  context: Context,
): Promise<ShownResponse> {
  const { runtime, report } = context;
  const { settings, flags, hooks } = options;
  if (!hooks) return sendAndPrint(request, options, undefined, context);
  const title = `svc ${request.operation.command.join(' ')}`;
  const runReport = await openRunReport(flags, title, context);
  const [time, startedAt] = [new Date(runtime.now()).toISOString(), runtime.elapsed()];
  let response: JsonDocument | undefined;
  let timing: ExchangeTiming | undefined;
  let isReported = false;
  const duration = (): number => timing?.totalMs ?? runtime.elapsed() - startedAt;
  const saveReport = async (failure?: Failure): Promise<void> => {
    if (isReported) return;
    isReported = true;
    runReport?.add(1, title, duration(), failure);
    await runReport?.save();
  };
  const actions: ResponseActions = {
    isReadToEnd: (hooks.expectations ?? runReport) !== undefined,
    onDocument: (doc) => {
      response = doc;
    },
    onResponse: async (doc, responseTiming) => {
      timing = responseTiming;
      await hooks.onResponse(doc, timing);
      await saveReport();
    },
  };
  const end = async (failure: Failure | undefined, isPipeClosed: boolean): Promise<void> => {
    await saveReport(failure).catch((reportError: unknown) => report.warn(toFailure(reportError).message));
    const isSent = response !== undefined || isPipeClosed || (failure?.facts.attempts ?? 0) > 0;
    const outcome = { time, ms: duration(), status: timing?.status, response, failure };
    if (isSent) await recordRequest(request, settings, outcome, context);
  };
  const shown = await sendAndPrint(request, options, actions, context).catch(async (error: unknown) => {
    const isPipeClosed = error instanceof ClosedPipeError;
    await end(isPipeClosed ? undefined : toFailure(error), isPipeClosed);
    throw error;
  });
  await end(undefined, false);
  return shown;
}

interface ResponseActions extends Pick<ResponseHooks, 'onResponse'> {
  /** The response is checked or reported, so that a stream is read to its end. */
  readonly isReadToEnd: boolean;
  /** Called with a complete response before it is printed. */
  readonly onDocument: (doc: JsonDocument) => void;
}

async function sendAndPrint(
  request: PreparedRequest,
  { settings, deadline, filter, conversation, guard, authorization, hooks }: ShowOptions,
  actions: ResponseActions | undefined,
  context: Context,
): Promise<ShownResponse> {
  const { operation, draft } = request;
  const { runtime, stdout, report, signal, startSpinner } = context;
  const connection = await connect(settings, context, { authorization });
  report.addSecrets(requestSecrets(request));
  const requestContext = createRequestContext(request, connection);
  const startedAt = runtime.elapsed();
  const times: { totalMs: number; firstTokenMs: number | undefined } = { totalMs: 0, firstTokenMs: undefined };
  // The end of a stream may come late, or not at all (docs/servers.md): its last chunk completes the response.
  const onChunk = (chunk: JsonNode): void => {
    times.totalMs = runtime.elapsed() - startedAt;
    if (times.firstTokenMs === undefined && hasOutput(chunk)) times.firstTokenMs = times.totalMs;
  };
  let sink: Sink | undefined;
  let received: JsonDocument | undefined;
  let outcome: Outcome | undefined;
  const onDocument = (doc: JsonDocument): void => {
    received = doc;
    actions?.onDocument(doc);
  };
  const save = async (doc: JsonDocument): Promise<void> => conversation?.save(rootOf(draft.doc), rootOf(doc));
  const facts = (): FailureFacts =>
    outcome ? responseFacts(outcome.response, requestContext) : factsWithoutResponse(requestContext);
  context.onProgressFacts(facts);
  try {
    // Before anything is sent: a result that cannot be written is better not requested.
    sink = await openSink(settings.output, stdout, runtime.cwd, runtime.stdout);
    const textOf = hooks?.textOf(request);
    const format = settings.format ?? (textOf ? 'text' : defaultFormat(operation.result.as, sink.writer.isTerminal));
    const requestedChoices = requestedChoiceCount(rootOf(draft.doc));
    const view: ResultView = { operation, format, filter, sink, context, requestedChoices, textOf, onDocument };
    const startDeadline = () => deadline;
    const sendHooks = { signal, startDeadline, onAttempt: startSpinner, onRetry: report.note, ...guard };
    outcome = await send(requestContext, sendHooks, runtime);
    times.totalMs = runtime.elapsed() - startedAt;
    const streamUse = {
      isDocumentNeeded: (conversation ?? actions) !== undefined,
      isReadToEnd: conversation !== undefined || actions?.isReadToEnd === true,
    };
    const doc = await showOutcome(outcome, view, streamUse, onChunk).catch(async (error: unknown) => {
      // The failure to print is the one to report.
      if (received) await save(received).catch((saveError: unknown) => report.warn(toFailure(saveError).message));
      throw error;
    });
    for (const warning of outcome.warnings) {
      if (settings.isStrict) throw new Failure('invalid_response', warning, facts());
      await report.warn(warning);
    }
    await save(doc);
    const { attempts } = requestContext.progress;
    const timing = { ...times, attempts, status: outcome.response.status };
    await actions?.onResponse(doc, timing);
    return { doc, timing };
  } catch (error) {
    const located = sink ? await locateOutput(error, sink, report) : error;
    throw outcome ? markAsApplied(located, facts()) : located;
  } finally {
    await connection.transport.close();
  }
}

async function showOutcome(
  { parsedResponse, chunks }: Outcome,
  view: ResultView,
  streamUse: StreamUse,
  onChunk: (chunk: JsonNode) => void,
): Promise<JsonDocument> {
  if (parsedResponse) return showResponse(parsedResponse, view);
  const { showStream } = await import('../../results/show-stream.ts');
  return showStream(observeChunks(chunks, onChunk), streamUse, view);
}

// Reports where the output is: with the failure to write it, or in a note beside another error.
async function locateOutput(error: unknown, sink: Sink, report: Reporter): Promise<unknown> {
  const abandoned = await sink.abandon().catch((abandonError: unknown) => {
    const { message, facts } = toFailure(abandonError);
    return report.warn([message, facts.hint ?? []].flat().join('; '));
  });
  if (!abandoned) return error;
  const { location, cause } = abandoned;
  if (error === cause) {
    const failure = toFailure(error);
    return failure.with({ hint: [failure.facts.hint ?? [], location].flat().join('; ') });
  }
  await report.note(cause === undefined ? location : `${toFailure(cause).message}; ${location}`);
  return error;
}

// Even if the result cannot be written, for example to a full disk, the request was applied.
function markAsApplied(error: unknown, sentFacts: FailureFacts): unknown {
  if (error instanceof ClosedPipeError) return error;
  const { code, message, facts } = toFailure(error);
  const isMarked = facts.applied && facts.attempts !== undefined;
  return isMarked ? error : new Failure(code, message, { ...sentFacts, ...facts });
}
