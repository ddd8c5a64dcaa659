import { buildBody } from '../../body/build-body.ts';
import type { Conversation } from '../../body/chat/conversation.ts';
import { requestedChoiceCount, withStreamEnabled } from '../../body/chat/streaming.ts';
import type { Draft } from '../../body/draft.ts';
import { createBodyDependencies } from '../../body/input-reader.ts';
import { enforceChecks } from '../../client/enforce-checks.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import type { FlagValues } from '../../flag.ts';
import { rootOf } from '../../json/json-node.ts';
import { chatOperation } from '../../operations/chat.ts';
import { defaultFormat } from '../../results/output-format.ts';
import type { RequestStart } from '../operation/start-request.ts';

/** The checked body of a chat that continues a conversation. Throws what building and checking throw. */
export async function buildChatBody(
  { settings, input, flags, deadline }: Pick<RequestStart, 'settings' | 'input' | 'flags' | 'deadline'>,
  conversation: Conversation | undefined,
  context: Context,
): Promise<Draft> {
  const fill = settings.isExact ? undefined : settings.defaults;
  const dependencies = createBodyDependencies(context, deadline);
  const built = await buildBody(input, { settings: fill, conversation: conversation?.source }, dependencies);
  const streamMode =
    flags.has('extract') || settings.isExact ? undefined : chooseStreamMode(settings, context.stdout.isTerminal);
  const draft = streamMode
    ? withStreamEnabled(built.draft, chatOperation, streamMode, flags.has('stats'))
    : built.draft;
  await enforceChecks(draft, chatOperation, built.inputIssues, settings, context.report);
  if (conversation) rejectSeveralChoices(draft, flags);
  if (!flags.has('attach')) return draft;
  const { insertAttachments } = await import('../../body/chat/attachment.ts');
  return {
    ...draft,
    doc: insertAttachments(
      draft.doc,
      draft.edits.flatMap(({ attachments = [] }) => attachments),
    ),
  };
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
