import { rejectReplacedInputs, stdinClaim } from '../../body/body-base.ts';
import { buildBody } from '../../body/build-body.ts';
import { requestedChoiceCount, withStreamEnabled } from '../../body/chat/chat-edits.ts';
import { type Conversation, openConversation } from '../../body/chat/conversation.ts';
import type { Draft } from '../../body/draft.ts';
import { createBodyInputs } from '../../body/input-reader.ts';
import { enforceChecks } from '../../client/enforce-checks.ts';
import { openLastConversation } from '../../client/history/request-history.ts';
import { prepareRequest } from '../../client/request.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { type FlagValues, getStringFlag } from '../../flag.ts';
import { rootOf } from '../../json/json-node.ts';
import { chatOperation } from '../../operations/chat.ts';
import { defaultFormat } from '../../results/output-format.ts';
import { type RequestStart, requestCommand, requireInputs } from '../operation/request-command.ts';
import { expectFlags, readHooks } from '../operation/response-hooks.ts';
import { sendAndShow } from '../operation/send-and-show.ts';
import { showRequest } from '../operation/show-request.ts';

/** Runs a chat: an interactive session at a terminal, else settings, conversation, body, checks, send, show. */
export const runChat = requestCommand(chatOperation, async (start, context) => {
  const isInteractive = isSession(start, context);
  if (isInteractive && context.noInput)
    throw usageFailure(`cannot start an interactive chat ${context.noInput}`, 'give a prompt: svc chat <prompt>');
  if (isInteractive) await rejectReplacedInputs(start.input, context.runtime.cwd);
  else await requireInputs(start, context);
  const hooks = await readHooks(start, context);
  const conversation = await openChosenConversation(start, context);
  try {
    if (isInteractive) {
      const { runChatSession } = await import('./chat-session.ts');
      return await runChatSession({ ...start, conversation }, context);
    }
    const request = prepareRequest(start.settings, await buildChatBody(start, conversation, context));
    if (start.settings.previewFormat) return await showRequest(request, start.settings, context);
    await sendAndShow(request, { ...start, conversation, hooks }, context);
  } finally {
    await conversation?.close();
  }
});

// Flags that give messages, or that are about one response.
const singleChatFlags = [
  ...expectFlags,
  'file',
  'messages',
  'message',
  'prefill',
  'attach',
  'set',
  'output',
  'extract',
];

function isSession({ input, flags, settings: { previewFormat, format = 'text' } }: RequestStart, context: Context) {
  const { args } = input;
  const isAtTerminal = input.isStdinTerminal && context.stdout.isTerminal;
  return (
    isAtTerminal &&
    !previewFormat &&
    format === 'text' &&
    args.length === 0 &&
    flags.get('stdin') !== false &&
    !singleChatFlags.some((name) => flags.has(name)) &&
    stdinClaim(input) === undefined
  );
}

// The conversation of `--conversation` or `--continue`.
async function openChosenConversation(
  { flags, settings, deadline }: RequestStart,
  context: Context,
): Promise<Conversation | undefined> {
  const file = getStringFlag(flags, 'conversation');
  if (file !== undefined)
    return openConversation(file, settings.output, context.runtime, createBodyInputs(context, deadline));
  return flags.has('continue') ? openLastConversation(context) : undefined;
}

/** The checked body of a chat that continues a conversation. Throws what building and checking throw. */
export async function buildChatBody(
  { settings, input, flags, deadline }: Pick<RequestStart, 'settings' | 'input' | 'flags' | 'deadline'>,
  conversation: Conversation | undefined,
  context: Context,
): Promise<Draft> {
  const fill = settings.isExact ? undefined : settings.defaults;
  const inputs = createBodyInputs(context, deadline);
  const built = await buildBody(input, { settings: fill, conversation: conversation?.source }, inputs);
  const streamMode =
    flags.has('extract') || settings.isExact ? undefined : chooseStreamMode(settings, context.stdout.isTerminal);
  const draft = streamMode ? withStreamEnabled(built, streamMode, flags.has('stats')) : built;
  await enforceChecks(draft, chatOperation, settings, context.report);
  if (conversation) rejectSeveralChoices(draft, flags);
  if (!flags.has('attach')) return draft;
  const { insertAttachments } = await import('../../body/chat/attachment.ts');
  return insertAttachments(draft);
}

function chooseStreamMode(
  { format, output }: RequestStart['settings'],
  isStdoutTerminal: boolean,
): 'live' | 'chunks' | undefined {
  if (format === 'jsonl') return 'chunks';
  const isTerminal = isStdoutTerminal && (output === undefined || output === '-');
  return isTerminal && (format ?? defaultFormat('chat', isTerminal)) === 'text' ? 'live' : undefined;
}

function rejectSeveralChoices({ doc }: Draft, flags: FlagValues): void {
  if (requestedChoiceCount(rootOf(doc)) <= 1) return;
  const flag = ['conversation', 'continue'].find((name) => flags.has(name));
  const keeper = flag ? `--${flag}` : 'an interactive chat';
  throw usageFailure(`${keeper} keeps one response, but the body asks for several`, 'remove n, or set it to 1');
}
