import { uuidV7 } from '../fields/uuid.ts';
import { sendWithCopies } from './body-copy.ts';
import type { ServiceContext, ServiceRoute } from './service-context.ts';

const MAX_STORED_CHAT_BYTES = 4 * 1024 * 1024;

/**
 * Stores the chats of a route for the page, up to 4 MiB in each direction, before the last byte of the response. A chat
 * that cannot be stored gets its response all the same.
 */
export function withStoredChats(
  route: ServiceRoute,
  { store, now, elapsed, randomBytes }: Pick<ServiceContext, 'store' | 'now' | 'elapsed' | 'randomBytes'>,
): ServiceRoute {
  return {
    ...route,
    respond: (request, caller) => {
      const [createdAt, startedMs] = [now(), elapsed()];
      const respond = (copied: typeof request) => route.respond(copied, caller);
      return sendWithCopies(request, respond, MAX_STORED_CHAT_BYTES, async (sent, response, received) => {
        if (!response) return;
        const id = uuidV7(createdAt, randomBytes(10));
        // PostgreSQL cannot store U+0000, which JSON text does not contain either.
        const [question = '', answer = ''] = [sent, received].map((body) => body.toString().replaceAll('\0', '\ufffd'));
        const durationMs = Math.round(elapsed() - startedMs);
        const chat = { id, request: question, response: answer, status: response.status, createdAt, durationMs };
        await store.saveChat(chat).catch(() => {});
      });
    },
  };
}
