import { uuidV7 } from '../fields/uuid.ts';
import type { Request } from '../http/message.ts';
import { bodyChunks } from '../http/request-progress.ts';
import { createBodyCopy, tapChunks } from './body-copy.ts';
import { redactBody } from './redact-body.ts';
import type { ServiceContext, ServiceRoute } from './service-context.ts';

const MAX_STORED_CHAT_BYTES = 4 * 1024 * 1024;

/**
 * Stores the chats of a route for the page, up to 4 MiB in each direction, before the last byte of the response. A chat
 * that cannot be stored gets its response all the same.
 */
export function withStoredChats(
  route: ServiceRoute,
  path: string,
  { store, now, randomBytes }: Pick<ServiceContext, 'store' | 'now' | 'randomBytes'>,
): ServiceRoute {
  return {
    ...route,
    respond: async (request, caller) => {
      const createdAt = now();
      const [sent, received] = [createBodyCopy(MAX_STORED_CHAT_BYTES), createBodyCopy(MAX_STORED_CHAT_BYTES)];
      const { body } = request;
      const copied: Request['body'] = { length: body.length, chunks: () => tapChunks(bodyChunks(body), sent.add) };
      const { completeBody: _, ...response } = await route.respond({ ...request, body: copied }, caller);
      const save = async (): Promise<void> => {
        const id = uuidV7(createdAt, randomBytes(10));
        // PostgreSQL cannot store U+0000, which JSON text does not contain either.
        const bodies = [redactBody(path, sent.bytes()), received.bytes()];
        const [question = '', answer = ''] = bodies.map((bytes) => bytes.toString().replaceAll('\0', '\ufffd'));
        await store
          .saveChat({ id, request: question, response: answer, status: response.status, createdAt })
          .catch(() => {});
      };
      return { ...response, body: tapChunks(response.body, received.add, save) };
    },
  };
}
