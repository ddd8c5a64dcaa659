import { type Conversation, messagesAfterResponse } from '../../body/chat/conversation.ts';
import { isIssue, parseJsonSource } from '../../body/json-source.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { firstStringMember, getMember } from '../../json/json-node.ts';
import { completionChoices } from '../../results/chat-text.ts';
import { readRequestHistory, requestHistoryFile } from './request-history.ts';

/** The conversation that the last chat in the history ended. Throws usage where the history has none with bodies. */
export async function openLastConversation({ runtime, report }: Context): Promise<Conversation> {
  const records = await readRequestHistory(requestHistoryFile(runtime), report);
  for (const record of records.reverse()) {
    const [request, response] = [getMember(record, 'request'), getMember(record, 'response')];
    if (firstStringMember(record, 'command') !== 'chat' || !request || !response) continue;
    const messages = messagesAfterResponse(request, getMember(completionChoices(response)[0], 'message'));
    const source = messages === undefined ? undefined : parseJsonSource('the last conversation', messages);
    // The history keeps the next response.
    if (source && !isIssue(source)) return { source, save: async () => {}, close: async () => {} };
  }
  throw usageFailure(
    '--continue found no conversation in the history',
    'the history keeps conversations with SVC_HISTORY=bodies, or after: svc profile set <name> --history bodies',
  );
}
