import { type Conversation, messagesAfterResponse } from '../../body/chat/conversation.ts';
import { isIssue, type JsonSource, parseJsonSource } from '../../body/json-source.ts';
import { readAuthorization } from '../../client/connection.ts';
import { prepareRequest } from '../../client/request.ts';
import { missingBaseUrl } from '../../client/settings.ts';
import type { Context } from '../../context.ts';
import type { AppliedState } from '../../errors.ts';
import { type FlagValues, getArrayFlag } from '../../flag.ts';
import { createDeadline } from '../../http/time-limits.ts';
import { type JsonNode, rawText, rootOf } from '../../json/json-node.ts';
import { createStreamWriter } from '../../output/writer.ts';
import { chatStats, formatChatStats } from '../../results/chat-stats.ts';
import { createWordWrap } from '../../results/word-wrap.ts';
import type { RequestStart } from '../operation/request-command.ts';
import { readHooks } from '../operation/response-hooks.ts';
import { sendAndShow } from '../operation/send-and-show.ts';
import { buildChatBody } from './chat.ts';

/** The turns of an interactive chat. The conversation changes only with a complete response. */
export interface ChatTurns {
  /** Sends a prompt and prints the response. Throws the Failure of the request, and the reason of the signal. */
  readonly send: (prompt: string, signal: AbortSignal) => Promise<void>;
  /** There is a prompt that can be sent again. */
  readonly canRetry: () => boolean;
  /** As `send`, for the last prompt again; the response replaces the earlier one. */
  readonly retry: (signal: AbortSignal) => Promise<void>;
  /** Sets the system message or the model of the next turns. */
  readonly set: (flag: 'system' | 'model', text: string) => void;
  /** Attaches a file to the next prompt. */
  readonly attach: (path: string) => void;
  /** Starts a new conversation, which is not saved: the file of the earlier one keeps it. */
  readonly clear: () => void;
  /** The conversation, an array of messages. */
  readonly messages: () => JsonNode;
  /** Figures of the last response, in one line. */
  readonly statsLine: () => string;
  /** The turns sent so far; `applied` is `unknown` until one has a response. */
  readonly facts: () => { readonly attempts: number; readonly applied: AppliedState };
}

/** The start of a chat at a terminal. */
export interface ChatStart extends RequestStart {
  /** The conversation to continue; undefined for a new one. */
  readonly conversation: Conversation | undefined;
}

/** The turns that continue a conversation, or a new one. Throws Failure `usage` without a base URL, and as readAuthorization does. */
export async function createChatTurns(start: ChatStart, context: Context): Promise<ChatTurns> {
  const { settings, input, conversation } = start;
  const { destination } = settings;
  if (!destination) throw missingBaseUrl();
  // Before a prompt is typed for nothing; the first turn uses it.
  let authorization = await readAuthorization(settings, destination, context);
  const flags = new Map(start.flags);
  const noMessages = parseMessages('[]');
  let messages = conversation?.source ?? noMessages;
  let saved = conversation;
  let lastTurn: { readonly prompt: string; readonly before: JsonSource; readonly files: readonly string[] } | undefined;
  let attached: string[] = [];
  let statsLine = 'there is no response yet';
  let attempts = 0;
  let applied: AppliedState = 'no';
  const { stdout, env } = context.runtime;
  const canWrap = env.TERM !== 'dumb';
  let wrap = createWordWrap(stdout);
  const wrapped = createStreamWriter(stdout, 'stdout', context.stdout.hasColor, (text) => wrap(text));

  const sendAfter = async (
    before: JsonSource,
    prompt: string,
    files: readonly string[],
    signal: AbortSignal,
  ): Promise<void> => {
    lastTurn = { prompt, before, files };
    attached = [];
    wrap = createWordWrap(stdout);
    const turnContext = { ...context, signal, stdout: canWrap ? wrapped : context.stdout };
    // As a message: a prompt of one dash would be stdin.
    const message = [...getArrayFlag(flags, 'message'), `user:${prompt}`];
    const turnFlags: FlagValues = new Map([
      ...flags,
      ['message', message],
      ...(files.length > 0 ? [['attach', files] as const] : []),
    ]);
    const turn: Conversation = {
      source: before,
      save: async (body, completion) => {
        await saved?.save(body, completion);
        messages = parseMessages(messagesAfterResponse(body, completion) ?? rawText(rootOf(messages.doc)));
      },
      close: async () => {},
    };
    const deadline = createDeadline(settings.timeoutMs, context.runtime);
    const turnStart = { ...start, deadline, flags: turnFlags, input: { ...input, flags: turnFlags } };
    const draft = await buildChatBody(turnStart, turn, turnContext);
    const hooks = await readHooks(turnStart, turnContext);
    const options = { ...turnStart, filter: undefined, conversation: turn, authorization, hooks };
    authorization = undefined;
    attempts += 1;
    if (applied === 'no') applied = 'unknown';
    const { doc, timing } = await sendAndShow(prepareRequest(settings, draft), options, turnContext);
    applied = 'yes';
    statsLine = formatChatStats(chatStats(rootOf(doc), timing));
  };

  return {
    send: (prompt, signal) => sendAfter(messages, prompt, attached, signal),
    canRetry: () => lastTurn !== undefined,
    retry: async (signal) => lastTurn && sendAfter(lastTurn.before, lastTurn.prompt, lastTurn.files, signal),
    set: (flag, text) => void flags.set(flag, text),
    attach: (path) => void attached.push(path),
    clear: () => {
      messages = noMessages;
      saved = undefined;
      lastTurn = undefined;
    },
    messages: () => rootOf(messages.doc),
    statsLine: () => statsLine,
    facts: () => ({ attempts, applied }),
  };
}

function parseMessages(text: string): JsonSource {
  const source = parseJsonSource('the conversation', text);
  if (isIssue(source)) throw new Error(source.message);
  return source;
}
