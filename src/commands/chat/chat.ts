import { requireBodySource, stdinClaim } from '../../body/body-base.ts';
import { givenText } from '../../body/body-flags.ts';
import { type Conversation, messagesAfterResponse, openConversation } from '../../body/chat/conversation.ts';
import { createBodyInputs } from '../../body/input-reader.ts';
import { isIssue, parseJsonSource } from '../../body/json-source.ts';
import { prepareRequest } from '../../client/request.ts';
import { readRequestHistory, requestHistoryFile } from '../../client/request-history.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { firstStringMember, getMember } from '../../json/json-node.ts';
import { chatOperation } from '../../operations/chat.ts';
import { requestCommand } from '../operation/request-command.ts';
import { isExpecting, type RequestStart, readHooks } from '../operation/response-hooks.ts';
import { sendOrShow } from '../operation/send-and-show.ts';
import { buildChatBody } from './chat-body.ts';

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
        ? await readLastConversation(context)
        : undefined;
  try {
    if (isInteractive) {
      const { runChatSession } = await import('./chat-session.ts');
      return await runChatSession(start, conversation, context);
    }
    const request = prepareRequest(start.settings, await buildChatBody(start, conversation, context));
    await sendOrShow(request, { ...start, conversation, hooks }, context);
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

// What the last chat in the history ended. Throws usage if the history has none with bodies.
async function readLastConversation({ runtime }: Context): Promise<Conversation> {
  const records = await readRequestHistory(requestHistoryFile(runtime));
  for (const record of records.reverse()) {
    const [request, response] = [getMember(record, 'request'), getMember(record, 'response')];
    if (firstStringMember(record, 'command') !== 'chat' || !request || !response) continue;
    const messages = messagesAfterResponse(request, response);
    const source = messages === undefined ? undefined : parseJsonSource('the last conversation', messages);
    // The history keeps the next response.
    if (source && !isIssue(source)) return { source, save: async () => {}, close: async () => {} };
  }
  throw usageFailure(
    '--continue found no conversation in the history',
    'the history keeps conversations with SVC_HISTORY=bodies, or after: svc profile set <name> --history bodies',
  );
}
