import { type Conversation, openConversation } from '../../body/chat/conversation.ts';
import { createInputReader } from '../../body/input-reader.ts';
import { openLastConversation } from '../../client/history/request-history.ts';
import type { Context } from '../../context.ts';
import { type FlagValues, getStringFlag } from '../../flag.ts';
import type { Deadline } from '../../http/deadline.ts';

/** The conversation of `--conversation` or `--continue`, if one is given. Throws as openConversation and openLastConversation do. */
export async function openChosenConversation(
  flags: FlagValues,
  outputPath: string | undefined,
  deadline: Deadline,
  context: Context,
): Promise<Conversation | undefined> {
  const file = getStringFlag(flags, 'conversation');
  if (file !== undefined)
    return openConversation(file, outputPath, context.runtime, createInputReader(context, deadline));
  return flags.has('continue') ? openLastConversation(context) : undefined;
}
