import { requireBodySource, stdinClaim } from '../../body/body-base.ts';
import { enforceChecks } from '../../body/body-check.ts';
import { givenText } from '../../body/body-flags.ts';
import { buildBody } from '../../body/build-body.ts';
import { withStreamEnabled } from '../../body/chat/chat-edits.ts';
import { type Conversation, openConversation } from '../../body/chat/conversation.ts';
import { createBodyInputs } from '../../body/input-reader.ts';
import { isMessageListAsText } from '../../body/likely-mistakes.ts';
import { prepareRequest } from '../../client/request.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { rootOf } from '../../json/json-node.ts';
import { chatOperation } from '../../operations/chat.ts';
import { requestedChoiceCount } from '../../operations/chat-text.ts';
import { defaultFormat } from '../../output/output-format.ts';
import { type RequestStart, requestCommand } from '../operation/request-command.ts';
import { isExpecting, readHooks } from '../operation/response-hooks.ts';
import { sendAndShow } from '../operation/send-and-show.ts';
import { showRequest } from '../operation/show-request.ts';
import { openLastConversation } from './last-conversation.ts';

/** Runs a chat: an interactive session at a terminal, else settings, conversation, body, checks, send, show. */
export const runChat = requestCommand(chatOperation, async (start, context) => {
  const isInteractive = isSession(start, context);
  if (isInteractive && context.noInput)
    throw usageFailure(`cannot start an interactive chat ${context.noInput}`, 'give a prompt: svc chat <prompt>');
  if (!isInteractive) requireBodySource(start.input);
  const hooks = await readHooks(start, context);
  const file = givenText(start.input.given, 'conversation');
  const conversation =
    file !== undefined
      ? await openConversation(file, start.settings.output, context.runtime, createBodyInputs(context, start.deadline))
      : start.options.continue
        ? await openLastConversation(context)
        : undefined;
  try {
    if (isInteractive) {
      const { runChatSession } = await import('./chat-session.ts');
      return await runChatSession(start, conversation, context);
    }
    const request = prepareRequest(start.settings, await buildChatBody(start, conversation, context));
    if (start.settings.previewFormat) return await showRequest(request, start.settings, context);
    await sendAndShow(request, { ...start, conversation, hooks }, context);
  } finally {
    await conversation?.close();
  }
});

const singleChatFlags = ['messages', 'message', 'prefill', 'attach', 'set'];

function isSession({ input, options, settings: { previewFormat, format = 'text' } }: RequestStart, context: Context) {
  const { args, given } = input;
  const { stdin, file, output, extract } = options;
  const isAtTerminal = input.isStdinTerminal && context.stdout.isTerminal;
  return (
    isAtTerminal &&
    !previewFormat &&
    format === 'text' &&
    args.length === 0 &&
    stdin !== false &&
    [file, output, extract].every((value) => value === undefined) &&
    !singleChatFlags.some((name) => given.has(name)) &&
    !isExpecting(options) &&
    stdinClaim(input) === undefined
  );
}

export async function buildChatBody(start: RequestStart, conversation: Conversation | undefined, context: Context) {
  const { settings, input, options, deadline } = start;
  const fill = settings.isExact ? undefined : settings.defaults;
  const inputs = createBodyInputs(context, deadline);
  const built = await buildBody(input, { settings: fill, conversation: conversation?.source }, inputs);
  if (isMessageListAsText(built))
    await context.report.note(
      'the prompt is a JSON array of messages, sent as text; to send messages, write --messages @file, or @- for stdin',
    );
  const streamMode =
    options.extract || settings.isExact ? undefined : chooseStreamMode(settings, context.stdout.isTerminal);
  const draft = streamMode ? withStreamEnabled(built, streamMode, options.stats === true) : built;
  await enforceChecks(draft, chatOperation, settings, context.report);
  if (conversation && requestedChoiceCount(rootOf(draft.doc)) > 1) {
    const isContinued = options.continue ? '--continue' : 'an interactive chat';
    const keeper = input.given.has('conversation') ? '--conversation' : isContinued;
    throw usageFailure(`${keeper} keeps one response, but the body asks for several`, 'remove n, or set it to 1');
  }
  if (!input.given.has('attach')) return draft;
  const { insertAttachments } = await import('../../body/chat/attachment.ts');
  return insertAttachments(draft);
}

function chooseStreamMode({ format, output }: RequestStart['settings'], isStdoutTerminal: boolean) {
  if (format === 'jsonl') return 'chunks';
  const isTerminal = isStdoutTerminal && (output === undefined || output === '-');
  return isTerminal && (format ?? defaultFormat('chat', isTerminal)) === 'text' ? 'live' : undefined;
}
