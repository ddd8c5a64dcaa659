import { unescape as decodeUrlText } from 'node:querystring';
import { collectBody } from '../http/body-chunks.ts';
import type { JsonValue } from '../json/write-json.ts';
import type { Operation } from '../operations/operation.ts';
import { localModelName } from './model/chat-completion.ts';
import { requireJson } from './operation-route.ts';
import { declaredBodyBytes, limitedChunks } from './request-body.ts';
import { HttpError, jsonResponse, requestPath } from './responses.ts';
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

/** The path of the list of models; below it, each model has its own. */
export const modelsPath = '/v1/models';

/** True for the path of the models or of one model. A path with `..`, which would lead elsewhere on an upstream server, is none. */
export function isModelsPath(path: string): boolean {
  if (path === modelsPath) return true;
  return path.startsWith(`${modelsPath}/`) && new URL(path, 'http://localhost').pathname === path;
}

/** `GET /v1/models` and `GET /v1/models/{id}`: the models of the upstream server, else of the built-in model. */
export function modelsRoute({ upstream, models, now }: ServiceContext): ServiceRoute {
  const created = Math.floor(now() / 1000);
  const toModel = (id: string): JsonValue => ({ id, object: 'model', created, owned_by: 'svc' });
  const respond: ServiceRoute['respond'] = async (request) => {
    const path = requestPath(request);
    if (upstream) return upstream(`/${path.slice(1)}`, { ...request, method: 'GET', body: new Uint8Array() });
    const data = (models ?? [localModelName]).map(toModel);
    if (path === modelsPath) return jsonResponse(200, { object: 'list', data });
    const id = decodeUrlText(path.slice(modelsPath.length + 1));
    requireServedModel(id, models);
    return jsonResponse(200, toModel(id));
  };
  return readRoute('bearer', respond, 'error');
}

/** Throws HttpError 404 for a model that is not one of the served ones, if those are limited. */
export function requireServedModel(id: string, models: ServiceContext['models']): void {
  if (!models || models.includes(id)) return;
  throw new HttpError(404, `the model ${JSON.stringify(id)} is not served; available: ${models.join(', ')}`);
}
