import { Buffer } from 'node:buffer';
import { fileField } from '../../body/body-base.ts';
import type { Conversation } from '../../body/chat/conversation.ts';
import { type Authorization, connect, credentialState } from '../../client/connection.ts';
import { factsWithoutResponse, requestFailure, responseFacts } from '../../client/exchange-failure.ts';
import type { JobGuard } from '../../client/job-guard.ts';
import type { ReadOutcome } from '../../client/read-response.ts';
import { createRequestContext, isStreamRequested, type PreparedRequest, requestSecrets } from '../../client/request.ts';
import { appendToHistory, requestHistoryFile } from '../../client/request-history.ts';
import type { Settings } from '../../client/resolve-settings.ts';
import { send } from '../../client/send.ts';
import { recordedUrl } from '../../config/destination.ts';
import { authScheme } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import { Failure, type FailureFacts, toFailure } from '../../errors.ts';
import { commitOrAbandon } from '../../files/file-replacement.ts';
import type { HttpHeaders } from '../../http/message.ts';
import { firstStringMember, type JsonDocument, rawText, rootOf } from '../../json/json-node.ts';
import { RawJson, writeJson } from '../../json/write-json.ts';
import { promptText, requestedChoiceCount } from '../../operations/chat-text.ts';
import { factsFor } from '../../operations/received-facts.ts';
import { factText } from '../../output/failure-text.ts';
import { defaultFormat } from '../../output/output-format.ts';
import { isSecretHeader, REDACTED, redactHeaders, redactSecretFields } from '../../output/redaction.ts';
import type { Reporter } from '../../output/reporter.ts';
import { shellQuote, shellWord } from '../../output/shell-quote.ts';
import { openSink, type Sink } from '../../output/sink.ts';
import { ClosedPipeError, type Writer } from '../../output/writer.ts';
import { type ResultView, showResponse, showStream } from '../../results/show-response.ts';
import type { Runtime } from '../../runtime.ts';
import type { PrintedResponse, RequestStart, ResponseHooks } from './response-hooks.ts';

interface ShowOptions extends Omit<RequestStart, 'input'> {
  readonly conversation?: Conversation | undefined;
  readonly guard?: JobGuard | undefined;
  readonly authorization?: Authorization | undefined;
  readonly hooks: ResponseHooks | undefined;
}

// A part that tells prompts apart in a list of tests.
const MAX_TITLE_CHARS = 80;

interface ShownResponse extends Omit<PrintedResponse, 'doc'> {
  readonly doc: JsonDocument | undefined;
  readonly error: unknown;
  /** The facts about a request with this outcome, for failures after it. */
  readonly sent: () => FailureFacts;
}

/** Sends a request and prints its response or, for a preview, prints the request. Throws its Failure. */
export async function sendOrShow(request: PreparedRequest, start: ShowOptions, context: Context): Promise<void> {
  if (start.settings.previewFormat) await showRequest(request, start.settings, context);
  else await sendAndShow(request, start, context);
}

/** Sends a request, prints, records and returns the response, or throws its Failure. A conversation has it even if it is not printed. */
export async function sendAndShow(request: PreparedRequest, start: ShowOptions, context: Context) {
  const { runtime, report } = context;
  const { settings, hooks, runReport } = start;
  const title = `svc ${request.operation.command.join(' ')}`;
  const time = new Date(runtime.now()).toISOString();
  const shown = await sendAndPrint(request, start, context);
  const { doc, timing, facts } = shown;
  let { error } = shown;
  // A reader closes the pipe only after the request was sent.
  const failureOf = (): Failure | undefined =>
    error === undefined || error instanceof ClosedPipeError ? undefined : toFailure(error);
  if (error === undefined && doc)
    error = await hooks?.onResponse({ doc, timing, facts }, request).catch((thrown) => markAsApplied(thrown, shown));
  const prompt = promptText(rootOf(request.draft.doc))?.replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE_CHARS);
  runReport?.add(1, prompt || title, timing.totalMs, { failure: failureOf(), received: facts });
  const reportError: unknown = await runReport?.save().catch((thrown) => markAsApplied(thrown, shown));
  if (reportError !== undefined && error !== undefined) await report.warn(toFailure(reportError).message);
  error ??= reportError;
  const failure = failureOf();
  if (hooks && settings.history !== 'off' && (!failure || doc || failure.facts.attempts)) {
    const { status = timing.status ?? null, applied = 'yes' } = failure?.facts ?? {};
    const record = {
      time,
      command: request.operation.command.join(' '),
      url: recordedUrl(settings.destination),
      ms: Math.round(timing.totalMs),
      status,
      exit_code: failure?.exitCode ?? 0,
      applied,
      ...historyContent(request, shown, settings.history === 'bodies'),
      ...factsFor('history', facts),
    };
    await appendToHistory(requestHistoryFile(runtime), record, context).catch((historyError: unknown) =>
      report.warn(`the history: ${toFailure(historyError).message}`),
    );
  }
  if (error !== undefined || !doc) throw error;
  return { doc, timing, facts };
}

// What the history records of a request and its response; with `hasBodies` both of them, too.
function historyContent(request: PreparedRequest, { doc, facts }: ShownResponse, hasBodies: boolean) {
  const { operation, draft, ids, body: sent } = request;
  const body = rootOf(draft.doc);
  // The groups of a large job were streamed from files.
  const shown = redactSecretFields(body, operation, (name) => `[${name}]`).toString();
  const streamed = new RegExp(`("${fileField(operation)}"\\s*:\\s*)\\[\\s*\\]`);
  const recorded =
    sent instanceof Uint8Array
      ? shown
      : shown.replace(streamed, `$1"[${sent.length} bytes sent in all, groups not recorded]"`);
  const response = doc && rootOf(doc);
  const { response_id: id } = facts;
  const model = firstStringMember(body, 'model') ?? firstStringMember(response, 'model');
  return {
    ...(model === undefined ? {} : { model }),
    ids: { ...ids, ...(id === undefined || Object.values(ids).some((known) => known === id) ? {} : { response: id }) },
    ...(hasBodies ? { request: singleLine(recorded) } : {}),
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

async function sendAndPrint(request: PreparedRequest, options: ShowOptions, context: Context): Promise<ShownResponse> {
  const { settings, deadline, filter, conversation, guard, authorization, hooks, runReport } = options;
  const { operation, draft } = request;
  const { runtime, stdout, report, signal, startSpinner } = context;
  const connection = await connect(settings, context, authorization);
  report.addSecrets(requestSecrets(request));
  const requestContext = createRequestContext(request, connection);
  const startedAt = runtime.elapsed();
  let sink: Sink | undefined;
  let isReceived = false;
  let read: ReadOutcome | undefined;
  const sentFacts = (): FailureFacts =>
    isReceived ? responseFacts(requestContext) : factsWithoutResponse(requestContext);
  context.onProgressFacts(sentFacts);
  const shown = (error?: unknown): ShownResponse => {
    const { endedAt = runtime.elapsed(), firstOutputAt, status, facts = {}, doc, failure } = read ?? {};
    const firstTokenMs = firstOutputAt === undefined ? undefined : firstOutputAt - startedAt;
    const { attempts } = requestContext.progress;
    const timing = { totalMs: endedAt - startedAt, firstTokenMs, attempts, status };
    return { doc: failure ? undefined : doc, timing, facts, error, sent: sentFacts };
  };
  try {
    // Before anything is sent: a result that cannot be written is better not requested.
    sink = await openSink(settings.output, stdout, runtime.cwd, runtime.stdout);
    const textOf = hooks?.textOf(request);
    const format = settings.format ?? (textOf ? 'text' : defaultFormat(operation.result.as, sink.writer.isTerminal));
    const requestedChoices = requestedChoiceCount(rootOf(draft.doc));
    const isSpreadsheetSafe = options.options.spreadsheetSafe;
    const view: ResultView = { operation, format, filter, sink, context, requestedChoices, textOf, isSpreadsheetSafe };
    const { onSend, recordOutcome: onOutcome } = guard ?? {};
    const sendHooks = { signal, deadline, onAttempt: startSpinner, onRetry: report.note, onSend, onOutcome };
    const isRead = conversation ?? hooks?.expectations ?? runReport;
    const need = isRead !== undefined ? 'end' : hooks ? 'response' : 'output';
    read = await send(requestContext, sendHooks, runtime, async (chunks, failureOf) => {
      isReceived = true;
      return showStream(chunks, { need, failureOf }, view);
    });
    isReceived = read.kind !== 'none';
    const printError: unknown =
      read.kind === 'whole'
        ? await showResponse(read, view).catch((error: unknown) => error)
        : (read.printError ?? read.failure);
    const { doc, failure } = read;
    // A conversation has the response even if it cannot be printed: that failure is the one to report.
    const saving = failure || !doc ? undefined : conversation?.save(rootOf(draft.doc), rootOf(doc));
    if (printError !== undefined) {
      await saving?.catch((saveError: unknown) => report.warn(toFailure(saveError).message));
      throw printError;
    }
    await saving;
    await reportResponse(read, settings.isStrict ? { request, facts: sentFacts() } : undefined, report);
    if (operation.replaces && !(settings.isExact || settings.format || filter)) await reportNewId(request, doc, view);
    return shown();
  } catch (error) {
    const located = sink ? await locateOutput(error, sink, report) : error;
    return shown(isReceived ? markAsApplied(located, shown()) : located);
  } finally {
    await connection.transport.close();
  }
}

// Throws the first warning, of a request that is strict.
async function reportResponse(
  { facts, warnings }: ReadOutcome,
  strict: { readonly request: PreparedRequest; readonly facts: FailureFacts } | undefined,
  report: Reporter,
): Promise<void> {
  for (const [name, value] of Object.entries(facts)) await report.detail(factText(name, value));
  for (const warning of warnings) {
    if (strict) throw requestFailure('invalid_response', warning, strict.facts, strict.request);
    await report.warn(warning);
  }
}

// Without an id of its own, a record that replaces another has a new id, and a second run finds nothing to replace.
// For a person: a program, or who asked for a format or a value, reads the id in the result.
async function reportNewId(
  { ids }: PreparedRequest,
  doc: JsonDocument | undefined,
  { sink, context }: ResultView,
): Promise<void> {
  if (!sink.writer.isTerminal) return;
  const id = doc && firstStringMember(rootOf(doc), 'id');
  const { feedback, feedback_to_replace: replaced } = ids;
  if (id && replaced && feedback === undefined && id !== replaced)
    await context.report.note(`the record has a new id, ${id}; to keep ${replaced}, add --keep-id`);
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
function markAsApplied(error: unknown, { sent }: Pick<ShownResponse, 'sent'>): unknown {
  if (error instanceof ClosedPipeError) return error;
  const { code, message, facts } = toFailure(error);
  const isMarked = facts.applied && facts.attempts !== undefined;
  return isMarked ? error : new Failure(code, message, { ...sent(), ...facts });
}

// In the place of a result: on stdout, or in the file of `-o`.
async function showRequest(prepared: PreparedRequest, settings: Settings, context: Context): Promise<void> {
  const { runtime, stdout } = context;
  const sink = await openSink(settings.output, stdout, runtime.cwd);
  const show = settings.previewFormat === 'curl' ? showCurl : showDryRun;
  await commitOrAbandon(sink, () => show(prepared, settings, sink.writer, context));
}

// The body byte for byte, the rest on stderr; as JSON all in one object.
async function showDryRun(prepared: PreparedRequest, settings: Settings, writer: Writer, context: Context) {
  const { operation, headers, body, draft } = prepared;
  const { runtime, report } = context;
  const { destination, format, profile } = settings;
  const scheme = authScheme(operation.host, profile.profile) === 'basic' ? 'Basic ' : 'Bearer ';
  // None where the request would fail for lack of a credential for its URL.
  const credential: HttpHeaders = credentialState(settings, runtime) === 'set' ? [['Authorization', scheme]] : [];
  const lines = redactHeaders([...headers, ...credential]);
  const displayUrl = destination?.url.href ?? `{base_url}${operation.path}`;
  const isJson = format === 'json';
  if (isJson) {
    const pairs = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const);
    const request = { method: 'POST', url: displayUrl, headers: Object.fromEntries(pairs) };
    await writer.write(`${writeJson(request).slice(0, -1)},"body":`);
  } else for (const line of [`POST ${displayUrl}`, ...lines]) await report.line(line);
  if (body instanceof Uint8Array) {
    const redacted = redactSecretFields(rootOf(draft.doc), operation, () => REDACTED);
    await writer.write(isJson ? redacted.toString().trim() : redacted);
  } else for await (const chunk of body.chunks()) await writer.write(chunk);
  if (isJson) await writer.write('}\n');
}

// A single argument of a command may have 128 KiB on Linux; longer bodies come from the shell's own printf.
const MAX_ARGUMENT_BYTES = 100_000;

// As a curl command; secrets are variables of the shell. A body that is not in memory comes from svc with the same arguments.
async function showCurl(prepared: PreparedRequest, settings: Settings, writer: Writer, { runtime }: Context) {
  const { destination, certificateFiles, profile } = settings;
  const { operation, headers, draft } = prepared;
  const trustFiles = { ...certificateFiles, cacert: certificateFiles.cacert || profile.profile.cacert };
  const isBodyInMemory = prepared.body instanceof Uint8Array;
  const body = isBodyInMemory ? shellQuoteBody(prepared) : '';
  const isTooLongForArgument = Buffer.byteLength(body) > MAX_ARGUMENT_BYTES;
  const words = runtime.argv.filter((word) => word !== '--curl').map(shellWord);
  const bodySource = isBodyInMemory ? `printf %s ${body}` : `svc ${words.join(' ')} --dry-run --quiet --output -`;
  const lines = [
    `curl -sS${isStreamRequested(draft) ? ' -N' : ''} ${destination ? shellQuote(destination.url.href) : `"$SVC_BASE_URL"${shellQuote(operation.path)}`}`,
    ...(credentialState(settings, runtime) === 'unneeded' ? [] : [credentialWord(settings, runtime)]),
    ...Object.entries(trustFiles).flatMap(([name, file]) => (file ? [`--${name} ${shellQuote(file)}`] : [])),
    ...headers.map(([name, value]) => `-H ${shellQuoteHeader(name, value)}`),
    isBodyInMemory ? `--data-binary ${isTooLongForArgument ? '@-' : body}` : '-X POST -T -',
  ];
  await writer.write(`${isTooLongForArgument || !isBodyInMemory ? `${bodySource} |\n` : ''}${lines.join(' \\\n  ')}\n`);
}

function credentialWord({ operation, profile }: Settings, { env, credentials = [] }: Runtime): string {
  const scheme = authScheme(operation.host, profile.profile);
  const ofScheme = credentials.filter((one) => one.scheme === scheme);
  const { username, secret } = ofScheme.find((one) => env[one.secret]) ?? ofScheme[0] ?? { secret: '' };
  return username ? `-u "$${username}:$${secret}"` : `-H "Authorization: Bearer $${secret}"`;
}

function shellQuoteHeader(name: string, value: string): string {
  if (isSecretHeader(name)) return `${shellQuote(`${name}: `)}"$${name.toUpperCase().replace(/\W/g, '_')}"`;
  // With a colon and no value curl would leave the header out.
  return shellQuote(value === '' ? `${name};` : `${name}: ${value}`);
}

function shellQuoteBody({ draft, operation }: PreparedRequest): string {
  const marker = findUnusedMarker(draft.doc.bytes);
  const names: string[] = [];
  const markedBody = redactSecretFields(rootOf(draft.doc), operation, (name) => {
    names.push(name);
    return marker + name;
  });
  return names.reduce(
    (body, name) => body.replaceAll(`"${marker}${name}"`, () => `"'"$SVC_${name.toUpperCase()}"'"`),
    shellQuote(markedBody.toString()),
  );
}

// A text that does not occur in the body, as the marker of places where the shell inserts a variable.
function findUnusedMarker(body: Buffer): string {
  let marker = 'secret-';
  while (body.includes(marker)) marker += '-';
  return marker;
}
