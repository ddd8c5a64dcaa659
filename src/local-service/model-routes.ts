import { collectBody } from '../http/body-chunks.ts';
import type { Operation } from '../operations/operation.ts';
import { localModelName } from './model/chat-completion.ts';
import { requireJson } from './operation-route.ts';
import { declaredBodyBytes, limitedChunks } from './request-body.ts';
import { jsonResponse } from './responses.ts';
import { readRoute, type ServiceContext, type ServiceRoute } from './service-context.ts';
import type { Upstream } from './upstream.ts';

/** Forwards chats to an upstream server byte for byte; only the upstream validates them. */
export function upstreamChatRoute(operation: Operation, upstream: Upstream, context: ServiceContext): ServiceRoute {
  return {
    method: 'POST',
    auth: operation.auth,
    errors: operation.errors,
    respond: async (request) => {
      requireJson(request);
      const maxBytes = Math.min(operation.largestBody, context.maxBodyBytes);
      const body = await collectBody(limitedChunks(request, maxBytes), maxBytes, declaredBodyBytes(request));
      return upstream(operation.path, { ...request, body });
    },
  };
}

/** `GET /v1/models`: the models of the upstream server, else the built-in one. */
export function modelsRoute({ upstream, now }: ServiceContext): ServiceRoute {
  const created = Math.floor(now() / 1000);
  const model = { id: localModelName, object: 'model', created, owned_by: 'svc' };
  const respond: ServiceRoute['respond'] = async (request) =>
    upstream
      ? upstream('/v1/models', { ...request, method: 'GET', body: new Uint8Array() })
      : jsonResponse(200, { object: 'list', data: [model] });
  return readRoute('bearer', respond, 'error');
}
