import { requestedChoiceCount } from '../../body/chat/chat-edits.ts';
import type { Conversation } from '../../body/chat/conversation.ts';
import { type Authorization, connect } from '../../client/connection.ts';
import { factsWithoutResponse, responseFacts } from '../../client/exchange-failure.ts';
import { createRequestContext, type PreparedRequest, requestSecrets, type SendHooks } from '../../client/request.ts';
import { appendToHistory, requestHistoryFile } from '../../client/request-history.ts';
import { type Outcome, send } from '../../client/send.ts';
import { recordedUrl } from '../../config/destination.ts';
import type { Context } from '../../context.ts';
import { Failure, type FailureFacts, toFailure } from '../../errors.ts';
import { observeChunks } from '../../http/body-chunks.ts';
import { firstStringMember, type JsonDocument, type JsonNode, rawText, rootOf } from '../../json/json-node.ts';
import { RawJson } from '../../json/write-json.ts';
import { redactSecretFields } from '../../output/redaction.ts';
import type { Reporter } from '../../output/reporter.ts';
import { openSink, type Sink } from '../../output/sink.ts';
import { ClosedPipeError } from '../../output/writer.ts';
import { openRunReport } from '../../reports/run-report.ts';
import { type ExchangeTiming, tokenCount } from '../../results/chat-stats.ts';
import { hasOutput } from '../../results/chat-text.ts';
import { defaultFormat } from '../../results/output-format.ts';
import { type ResultView, showResponse } from '../../results/show-response.ts';
import type { RequestStart } from './request-command.ts';
import type { ResponseHooks } from './response-hooks.ts';

interface ShowOptions extends Omit<RequestStart, 'input'> {
  readonly conversation?: Conversation | undefined;
  readonly guard?: Pick<SendHooks, 'onSend' | 'onOutcome'> | undefined;
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
export async function sendAndShow(request: PreparedRequest, start: ShowOptions, context: Context) {
  const { runtime, report } = context;
  const { settings, options, hooks } = start;
  const seen: Partial<ShownResponse> = {};
  if (!hooks) return sendAndPrint(request, start, seen, undefined, context);
  const title = `svc ${request.operation.command.join(' ')}`;
  const runReport = await openRunReport(options, title, context);
  const [time, startedAt] = [new Date(runtime.now()).toISOString(), runtime.elapsed()];
  const duration = (): number => seen.timing?.totalMs ?? runtime.elapsed() - startedAt;
  let isReported = false;
  const saveReport = async (failure?: Failure): Promise<void> => {
    if (isReported) return;
    isReported = true;
    runReport?.add(1, title, duration(), failure);
    await runReport?.save();
  };
  const end = async (failure?: Failure): Promise<void> => {
    await saveReport(failure).catch((reportError: unknown) => report.warn(toFailure(reportError).message));
    // A reader closes the pipe only after the request was sent.
    if (settings.history === 'off' || (failure && !seen.doc && !failure.facts.attempts)) return;
    const { status = seen.timing?.status ?? null, applied = 'yes' } = failure?.facts ?? {};
    const record = {
      time,
      command: request.operation.command.join(' '),
      url: recordedUrl(settings.destination),
      ms: Math.round(duration()),
      status,
      exit_code: failure?.exitCode ?? 0,
      applied,
      ...historyContent(request, seen.doc, settings.history === 'bodies'),
    };
    await appendToHistory(requestHistoryFile(runtime), record, context).catch((error: unknown) =>
      report.warn(`the history: ${toFailure(error).message}`),
    );
  };
  const actions: ResponseActions = {
    isReadToEnd: (hooks.expectations ?? runReport) !== undefined,
    onResponse: async (doc, timing) => {
      await hooks.onResponse(doc, timing);
      await saveReport();
    },
  };
  const shown = await sendAndPrint(request, start, seen, actions, context).catch(async (error: unknown) => {
    await end(error instanceof ClosedPipeError ? undefined : toFailure(error));
    throw error;
  });
  await end();
  return shown;
}

// What the history records of a request and its response; with `hasBodies` both of them, too.
function historyContent(request: PreparedRequest, doc: JsonDocument | undefined, hasBodies: boolean) {
  const { operation, draft, ids } = request;
  const body = rootOf(draft.doc);
  const response = doc && rootOf(doc);
  const id = firstStringMember(response, 'id');
  const model = firstStringMember(body, 'model') ?? firstStringMember(response, 'model');
  return {
    ...(model === undefined ? {} : { model }),
    ids: { ...ids, ...(id === undefined || Object.values(ids).includes(id) ? {} : { response: id }) },
    prompt_tokens: tokenCount(response, 'prompt_tokens'),
    completion_tokens: tokenCount(response, 'completion_tokens'),
    ...(hasBodies ? { request: singleLine(redactSecretFields(body, operation, (name) => `[${name}]`)) } : {}),
    ...(hasBodies && response ? { response: singleLine(rawText(response)) } : {}),
  };
}

// In JSON, line breaks are only between values.
function singleLine(json: { toString(): string }): RawJson {
  return new RawJson(
    json
      .toString()
      .replace(/[\r\n]+\s*/g, ' ')
      .trim(),
  );
}

interface ResponseActions extends Pick<ResponseHooks, 'onResponse'> {
  /** The response is checked or reported, so that a stream is read to its end. */
  readonly isReadToEnd: boolean;
}

// What the response is, as far as it is known, is in `seen`, also if this throws.
async function sendAndPrint(
  request: PreparedRequest,
  { settings, deadline, filter, conversation, guard, authorization, hooks }: ShowOptions,
  seen: { -readonly [name in keyof ShownResponse]?: ShownResponse[name] },
  actions: ResponseActions | undefined,
  context: Context,
): Promise<ShownResponse> {
  const { operation, draft } = request;
  const { runtime, stdout, report, signal, startSpinner } = context;
  const connection = await connect(settings, context, authorization);
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
  let outcome: Outcome | undefined;
  const onDocument = (doc: JsonDocument): void => {
    seen.doc = doc;
  };
  const facts = (): FailureFacts => (outcome ? responseFacts(requestContext) : factsWithoutResponse(requestContext));
  context.onProgressFacts(facts);
  try {
    // Before anything is sent: a result that cannot be written is better not requested.
    sink = await openSink(settings.output, stdout, runtime.cwd, runtime.stdout);
    const textOf = hooks?.textOf(request);
    const format = settings.format ?? (textOf ? 'text' : defaultFormat(operation.result.as, sink.writer.isTerminal));
    const requestedChoices = requestedChoiceCount(rootOf(draft.doc));
    const view: ResultView = { operation, format, filter, sink, context, requestedChoices, textOf, onDocument };
    const sendHooks = { signal, deadline, onAttempt: startSpinner, onRetry: report.note, ...guard };
    outcome = await send(requestContext, sendHooks, runtime);
    times.totalMs = runtime.elapsed() - startedAt;
    const { parsedResponse, chunks, response, warnings } = outcome;
    if (parsedResponse?.doc && !parsedResponse.failure) seen.doc = parsedResponse.doc;
    const streamUse = {
      isDocumentNeeded: (conversation ?? actions) !== undefined,
      isReadToEnd: conversation !== undefined || actions?.isReadToEnd === true,
    };
    const printing = parsedResponse
      ? showResponse(parsedResponse, view)
      : (await import('../../results/show-stream.ts')).showStream(observeChunks(chunks, onChunk), streamUse, view);
    const doc = await printing.catch(async (error: unknown) => {
      // The failure to print is the one to report.
      if (seen.doc)
        await conversation
          ?.save(rootOf(draft.doc), rootOf(seen.doc))
          .catch((saveError: unknown) => report.warn(toFailure(saveError).message));
      throw error;
    });
    for (const warning of warnings) {
      if (settings.isStrict) throw new Failure('invalid_response', warning, facts());
      await report.warn(warning);
    }
    await conversation?.save(rootOf(draft.doc), rootOf(doc));
    const { attempts } = requestContext.progress;
    seen.timing = { ...times, attempts, status: response.status };
    await actions?.onResponse(doc, seen.timing);
    return { doc, timing: seen.timing };
  } catch (error) {
    const located = sink ? await locateOutput(error, sink, report) : error;
    throw outcome ? markAsApplied(located, facts()) : located;
  } finally {
    await connection.transport.close();
  }
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
