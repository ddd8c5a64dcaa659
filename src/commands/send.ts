import type { Conversation } from '../body/conversation.ts';
import { choicesAsked } from '../body/streaming.ts';
import { readAnswer } from '../call/answer.ts';
import { choicesIn } from '../call/chat-text.ts';
import { type Authorization, authorizationFor } from '../call/destination.ts';
import { exchange } from '../call/exchange.ts';
import type { Prepared } from '../call/prepared.ts';
import { type Sent, toBeSent } from '../call/sent.ts';
import type { Context } from '../cli/context.ts';
import { header, type Reply, type Request } from '../http/message.ts';
import { isLoopback } from '../http/proxies.ts';
import type { JsonDocument } from '../json/document.ts';
import { member, rootOf } from '../json/node.ts';
import { openSink } from '../output/sink.ts';
import type { Chosen } from '../profiles/resolve.ts';
import { openLine } from './line.ts';
import type { Options } from './options.ts';
import { showAnswer, usualFormat, type View } from './show-answer.ts';

/** A request and what is to become of its answer. */
export interface Sending {
  readonly prepared: Prepared;
  readonly url: URL;
  readonly options: Options;
  readonly chosen: Chosen;
  /** Milliseconds for the whole exchange. */
  readonly limit: number | undefined;
  readonly conversation: Conversation | undefined;
}

/** Sends a request and shows the answer; a conversation keeps what was said. Throws the Failure it is otherwise. */
export async function send(sending: Sending, context: Context): Promise<void> {
  const { prepared, url, options, chosen, limit, conversation } = sending;
  const { operation, draft } = prepared;
  const { runtime, stdout } = context;
  const authorization = await authorize(sending, context);
  // Before anything is sent: a result that cannot be written is better not asked for.
  const sink = await openSink(options.output, stdout, runtime.cwd);
  const view: View = {
    operation,
    format: options.format ?? usualFormat(operation, sink.writer.isTerminal),
    sink,
    context,
  };
  const sent = toBeSent(operation, draft);
  const stop = new AbortController();
  const line = await openLine(url, chosen.isLocal, limit, sent.progress, context);
  const stopSpinner = context.spin('waiting for the answer');
  try {
    const request = requestOf(sending, authorization, AbortSignal.any([context.signal, stop.signal]));
    const reply = await exchange(line.send, request, sent);
    stopSpinner();
    const said = isEventStream(reply) ? await showEvents(reply, sent, view, stop) : await showWhole(reply, sent, view);
    const [choice] = choicesIn(rootOf(said));
    await conversation?.save(rootOf(draft.doc), member(choice, 'message'));
  } catch (error) {
    await sink.abandon();
    throw error;
  } finally {
    stopSpinner();
    await line.close();
  }
}

async function authorize(
  { prepared, url, options, chosen }: Sending,
  { runtime, report }: Context,
): Promise<Authorization | undefined> {
  if (chosen.isLocal) return undefined;
  const authorization = authorizationFor(url, prepared.operation, chosen, runtime.env, options.allowHttp);
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

// A server may stream unasked, or answer plainly in spite of `stream: true` (SERVERS.md): what it says it sends decides.
function isEventStream({ headers }: Reply): boolean {
  return header(headers, 'content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
}

async function showEvents(reply: Reply, sent: Sent, view: View, stop: AbortController): Promise<JsonDocument> {
  const choices = choicesAsked(rootOf(sent.draft.doc));
  const { after } = view.context.runtime;
  const [{ chunksOf }, { showStream }] = await Promise.all([import('../call/chunks.ts'), import('./show-stream.ts')]);
  return showStream(chunksOf(reply, sent, { choices, after, stop: () => stop.abort() }), choices, view);
}

async function showWhole(reply: Reply, sent: Sent, view: View): Promise<JsonDocument> {
  return showAnswer(await readAnswer(reply, sent), view);
}
