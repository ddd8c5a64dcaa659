import type { Conversation } from '../body/conversation.ts';
import { choicesAsked } from '../body/streaming.ts';
import { factsOfSuccess } from '../call/answer.ts';
import { choicesIn } from '../call/chat-text.ts';
import { type Authorization, authorizationFor } from '../call/destination.ts';
import { factsSoFar } from '../call/failures.ts';
import { type Prepared, secretsIn } from '../call/prepared.ts';
import { repeated } from '../call/repeated.ts';
import { type Sent, toBeSent } from '../call/sent.ts';
import type { Context } from '../cli/context.ts';
import { Failure, failureOf } from '../errors.ts';
import type { Way } from '../http/connection.ts';
import { deadlineIn } from '../http/deadline.ts';
import type { Reply, Request } from '../http/message.ts';
import { isLoopback } from '../http/proxies.ts';
import type { Line } from '../http/undici.ts';
import type { JsonDocument } from '../json/document.ts';
import { member, rootOf } from '../json/node.ts';
import { openSink } from '../output/sink.ts';
import { ClosedPipe } from '../output/writer.ts';
import type { Chosen } from '../profiles/resolve.ts';
import { type Answered, attempt } from './attempt.ts';
import { openLine } from './line.ts';
import type { Options } from './options.ts';
import { repeatsFor } from './repeats.ts';
import { showAnswer, usualFormat, type View } from './show-answer.ts';

/** A request and what is to become of its answer. */
export interface Sending {
  readonly prepared: Prepared;
  readonly url: URL;
  readonly options: Options;
  readonly chosen: Chosen;
  /** How the service is reached; the embedded one answers without it. */
  readonly way: Way | undefined;
  /** Milliseconds for the whole: attempts, waits and answer. */
  readonly limit: number | undefined;
  /** The most repeats. */
  readonly retries: number;
  readonly conversation: Conversation | undefined;
}

/** Sends a request and shows the answer; a conversation keeps what was said. Throws the Failure it is otherwise. */
export async function send(sending: Sending, context: Context): Promise<void> {
  const { prepared, options, limit, conversation } = sending;
  const { operation, draft } = prepared;
  const { runtime, stdout, report } = context;
  const authorization = await authorize(sending, context);
  report.conceal(secretsIn(prepared));
  // Before anything is sent: a result that cannot be written is better not asked for.
  const sink = await openSink(options.output, stdout, runtime.cwd);
  const format = options.format ?? usualFormat(operation, sink.writer.isTerminal);
  const view: View = { operation, format, sink, context };
  const sent = toBeSent(operation, draft);
  const stop = new AbortController();
  const deadline = deadlineIn(limit, runtime);
  let line: Line | undefined;
  let reply: Reply | undefined;
  context.underway(() => (reply ? factsOfSuccess(reply, sent) : factsSoFar(sent)));
  try {
    line = await openLine(sending.way, sent.progress, context);
    const { send: over } = line;
    const signal = AbortSignal.any([context.signal, stop.signal, deadline.signal]);
    const request = requestOf(sending, authorization, signal);
    const repeats = repeatsFor(sending.retries, deadline, context);
    const answered = await repeated(() => attempt(over, request, sent, context), sent, repeats);
    reply = answered.reply;
    const said = await show(answered, sent, view, stop, conversation !== undefined);
    await conversation?.save(rootOf(draft.doc), member(choicesIn(rootOf(said))[0], 'message'));
  } catch (error) {
    await sink.abandon().catch((lost: unknown) => report.warn(failureOf(lost).message));
    throw reply ? afterSuccess(error, reply, sent) : error;
  } finally {
    deadline.end();
    await line?.close();
  }
}

async function authorize(
  { prepared, url, options, chosen }: Sending,
  { runtime, report, signal }: Context,
): Promise<Authorization | undefined> {
  if (chosen.isLocal) return undefined;
  const authorization = await authorizationFor(url, prepared.operation, chosen, options.allowHttp, runtime, signal);
  report.conceal(authorization.secrets);
  if (url.protocol === 'http:' && !isLoopback(url))
    await report.warn(`the credential goes to ${url.origin} over plain http`);
  return authorization;
}

function requestOf({ prepared, url }: Sending, authorization: Authorization | undefined, signal: AbortSignal): Request {
  const headers = authorization
    ? [...prepared.headers, ['Authorization', authorization.value.reveal()] as const]
    : prepared.headers;
  return { method: 'POST', url: url.href, headers, body: prepared.draft.doc.bytes, signal };
}

async function show(
  { reply, answer }: Answered,
  sent: Sent,
  view: View,
  stop: AbortController,
  isWholeNeeded: boolean,
): Promise<JsonDocument> {
  if (answer) return showAnswer(answer, view);
  const choices = choicesAsked(rootOf(sent.draft.doc));
  const { after } = view.context.runtime;
  const [{ chunksOf }, { showStream }] = await Promise.all([import('../call/chunks.ts'), import('./show-stream.ts')]);
  return showStream(
    chunksOf(reply, sent, { choices, after, stop: () => stop.abort() }),
    { choices, isWholeNeeded },
    view,
  );
}

// Whatever goes wrong with the result, such as a full disk, the request was applied.
function afterSuccess(error: unknown, reply: Reply, sent: Sent): unknown {
  if (error instanceof ClosedPipe) return error;
  const { code, message, facts } = failureOf(error);
  return facts.applied ? error : new Failure(code, message, { ...factsOfSuccess(reply, sent), ...facts });
}
