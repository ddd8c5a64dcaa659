import { Buffer } from 'node:buffer';
import { uuidV7 } from '../fields/uuid.ts';
import { getHeader, type Middleware, type Request, type Response, type Send } from '../http/message.ts';
import { typedOperations } from '../operations/all-operations.ts';
import { type AcceptedCredentials, authenticateRequest } from './authenticate-request.ts';
import { modelsRoute, upstreamChatRoute } from './model-routes.ts';
import { operationHandlers } from './operation-handlers.ts';
import { operationRoute } from './operation-route.ts';
import type { PageLogin } from './page-login.ts';
import { pageRoutes } from './page-routes.ts';
import { IncompleteBodyError } from './request-body.ts';
import { createRequestMetrics, type RequestMetrics } from './request-metrics.ts';
import { withRequestSummaries } from './request-summary.ts';
import { HttpError, httpErrorResponse, jsonResponse, requestPath, textResponse, toHttpError } from './responses.ts';
import { readRoute, type ServiceContext, type ServiceRoute } from './service-context.ts';
import { withStoredChats } from './stored-chats.ts';

/** The user of requests if the service requires no credentials. */
const anonymousUser = 'local';

/** A service, and what counts and logs its requests; `observe` does so for requests that `send` does not get. */
export interface ObservedService {
  readonly send: Send;
  readonly observe: Middleware;
}

/**
 * The local service as a Send: all operations of the interface on a store. It checks credentials, if there are any,
 * validates bodies as the command line does, and behaves as docs/servers.md says where the interface is silent. A
 * request that is aborted before it was applied is not applied.
 */
export function createLocalService(
  context: ServiceContext,
  credentials: AcceptedCredentials | undefined,
): ObservedService {
  const metrics = createRequestMetrics(servicePaths);
  const routes = createRoutes(context, metrics);
  const respond: Send = async (request) => {
    request.onBodySent?.();
    const route = routes.get(requestPath(request));
    return handleRequest(request, route, credentials, context.login).catch((error) => {
      // An aborted request gets no response, as on the network.
      request.signal?.throwIfAborted();
      if (error instanceof IncompleteBodyError) throw error.reason;
      return httpErrorResponse(toHttpError(error), route?.errors);
    });
  };
  const respondOrFail = context.faults?.(respond) ?? respond;
  const send: Send = async (request) => {
    const response = await respondOrFail(request);
    // An upstream server has given one already.
    if (getHeader(response.headers, 'x-request-id') !== undefined) return response;
    const id = uuidV7(context.now(), context.randomBytes(10));
    return { ...response, headers: [...response.headers, ['X-Request-Id', id]] };
  };
  const observe = withRequestSummaries(() => {
    metrics.begin();
    return (summary) => {
      metrics.end(summary);
      context.onRequestEnd?.(summary);
    };
  }, context.elapsed);
  return { send: observe(send), observe };
}

const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const statusPaths = { models: '/v1/models', health: '/healthz', metrics: '/metrics' } as const;
const servicePaths: readonly string[] = [...Object.values(statusPaths), ...typedOperations.map(({ path }) => path)];

function createRoutes(context: ServiceContext, metrics: RequestMetrics): ReadonlyMap<string, ServiceRoute> {
  const { upstream } = context;
  const routes = new Map<string, ServiceRoute>([
    [statusPaths.models, modelsRoute(context)],
    [statusPaths.health, readRoute('none', () => checkHealth(context))],
    [statusPaths.metrics, readRoute('basic', async () => metricsResponse(metrics))],
    ...pageRoutes(context),
  ]);
  for (const operation of typedOperations) {
    const route =
      upstream && operation.host === 'chat'
        ? upstreamChatRoute(operation, upstream, context)
        : operationRoute(operation, operationHandlers[operation.path](operation), context);
    routes.set(operation.path, operation.host === 'chat' ? withStoredChats(route, context) : route);
  }
  return routes;
}

// 200 while the store can be used, else 503.
async function checkHealth({ store }: ServiceContext): Promise<Response> {
  await store.checkHealth();
  return jsonResponse(200, { status: 'ok' });
}

function metricsResponse(metrics: RequestMetrics): Response {
  return textResponse(200, Buffer.from(metrics.text()), PROMETHEUS_CONTENT_TYPE);
}

async function handleRequest(
  request: Request,
  route: ServiceRoute | undefined,
  credentials: AcceptedCredentials | undefined,
  login: PageLogin | undefined,
): Promise<Response> {
  const { method, headers, signal } = request;
  if (!route) throw new HttpError(404, 'Not Found');
  if (method !== route.method && !(method === 'HEAD' && route.method === 'GET'))
    throw new HttpError(405, 'Method Not Allowed', [['Allow', route.method === 'GET' ? 'GET, HEAD' : route.method]]);
  const authorization = getHeader(headers, 'authorization');
  const isOpen = route.auth === 'none' || (route.auth === 'page' && login?.accepts(authorization));
  const user =
    credentials && !isOpen
      ? authenticateRequest(route.auth === 'bearer' ? 'bearer' : 'basic', authorization, credentials)
      : anonymousUser;
  return route.respond(request, { user, signal });
}
