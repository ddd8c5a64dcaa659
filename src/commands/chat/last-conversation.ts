import { type Conversation, messagesAfterResponse } from '../../body/chat/conversation.ts';
import { isIssue, parseJsonSource } from '../../body/json-source.ts';
import { readRequestHistory, requestHistoryFile } from '../../client/request-history.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { firstStringMember, getMember } from '../../json/json-node.ts';

/** The conversation that the last chat in the history ended. Throws usage if the history has none with bodies. */
export async function openLastConversation({ runtime }: Pick<Context, 'runtime'>): Promise<Conversation> {
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
