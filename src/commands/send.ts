import type { Conversation } from '../body/conversation.ts';
import { choicesAsked } from '../body/streaming.ts';
import { factsOfSuccess } from '../call/answer.ts';
import { choicesIn } from '../call/chat-text.ts';
import type { Authorization } from '../call/destination.ts';
import { factsSoFar } from '../call/failures.ts';
import { type Prepared, secretsIn } from '../call/prepared.ts';
import { repeated } from '../call/repeated.ts';
import { type Sent, toBeSent } from '../call/sent.ts';
import type { Context } from '../cli/context.ts';
import { Failure, failureOf } from '../errors.ts';
import { deadlineIn } from '../http/deadline.ts';
import type { Reply, Request } from '../http/message.ts';
import type { Line } from '../http/network.ts';
import type { JsonDocument } from '../json/document.ts';
import { member, rootOf } from '../json/node.ts';
import type { Outcome } from '../ledger/job.ts';
import { openSink } from '../output/sink.ts';
import { ClosedPipe } from '../output/writer.ts';
import { type Answered, attempt } from './attempt.ts';
import { authorize } from './authorize.ts';
import type { Call } from './call.ts';
import { openLine, withLayers } from './line.ts';
import { outcomeOfAnswer, outcomeOfFailure } from './outcome.ts';
import { repeatsFor } from './repeats.ts';
import { showAnswer, usualFormat, type View } from './show-answer.ts';

/** Is told of a request besides the user. */
export interface Watch {
  /** It is about to leave; what this throws keeps it here. */
  readonly begin: () => Promise<void>;
  /** What became of it. */
  readonly end: (outcome: Outcome) => Promise<void>;
}

/** A request and what is to become of its answer. */
export interface Sending extends Call {
  readonly prepared: Prepared;
  readonly url: URL;
  readonly conversation: Conversation | undefined;
  readonly watch: Watch | undefined;
}

/** Sends a request, shows the answer and returns it; a conversation keeps what was said. Throws the Failure it is otherwise. */
export async function send(sending: Sending, context: Context): Promise<JsonDocument> {
  const { prepared, options, limit, conversation, watch } = sending;
  const { operation, draft } = prepared;
  const { runtime, stdout, report } = context;
  const authorization = await authorize(operation, sending.url, sending, context);
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
    await watch?.begin();
    line = await openLine(sending.way, context);
    const over = withLayers(line.send, sent.progress, deadline, context);
    const signal = AbortSignal.any([context.signal, stop.signal]);
    const request = requestOf(sending, authorization, signal);
    const repeats = repeatsFor(sending.retries, deadline, context);
    const answered = await repeated(() => attempt(over, request, sent, context), sent, repeats);
    reply = answered.reply;
    await watch?.end(outcomeOfAnswer(answered, sent));
    const said = await show(answered, sent, view, stop, conversation !== undefined);
    await conversation?.save(rootOf(draft.doc), member(choicesIn(rootOf(said))[0], 'message'));
    return said;
  } catch (error) {
    if (!reply) await watch?.end(outcomeOfFailure(error, sent));
    await sink.abandon().catch((lost: unknown) => report.warn(failureOf(lost).message));
    throw reply ? afterSuccess(error, reply, sent) : error;
  } finally {
    await line?.close();
  }
}

function requestOf({ prepared, url }: Sending, authorization: Authorization | undefined, signal: AbortSignal): Request {
  const headers = authorization
    ? [...prepared.headers, ['Authorization', authorization.value.reveal()] as const]
    : prepared.headers;
  return { method: 'POST', url: url.href, headers, body: prepared.body, signal };
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
