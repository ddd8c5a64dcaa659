import { enforceChecks } from '../../body/body-check.ts';
import { buildBody } from '../../body/build-body.ts';
import { withStreamEnabled } from '../../body/chat/chat-edits.ts';
import type { Conversation } from '../../body/chat/conversation.ts';
import { createBodyInputs } from '../../body/input-reader.ts';
import { isMessageListAsText } from '../../body/likely-mistakes.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { rootOf } from '../../json/json-node.ts';
import { chatOperation } from '../../operations/chat.ts';
import { requestedChoiceCount } from '../../operations/chat-text.ts';
import { defaultFormat } from '../../output/output-format.ts';
import type { RequestStart } from '../operation/response-hooks.ts';

/** The checked body of a chat, or of a turn of a session, whose prompt was typed. Throws its Failure. */
export async function buildChatBody(
  start: RequestStart,
  conversation: Conversation | undefined,
  context: Context,
  typedPrompt?: string,
) {
  const { settings, input, options, deadline } = start;
  const streamMode =
    options.extract || settings.isExact ? undefined : chooseStreamMode(settings, context.stdout.isTerminal);
  const fill = settings.isExact ? undefined : settings.defaults;
  const inputs = createBodyInputs(context, deadline);
  // Typed, one dash is a prompt and not stdin.
  const base = typedPrompt === undefined ? undefined : { prompt: typedPrompt };
  const built = await buildBody(input, { settings: fill, conversation: conversation?.source, base }, inputs);
  if (isMessageListAsText(built))
    await context.report.note(
      'the prompt is a JSON array of messages, sent as text; to send messages, write --messages @file, or @- for stdin',
    );
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
