import { Buffer } from 'node:buffer';
import { createBodyValidator } from '../fields/schema-validator.ts';
import { uuidV7 } from '../fields/uuid.ts';
import { getHeader, type HttpRequest, type HttpResponse, type Middleware, type Send } from '../http/message.ts';
import { collectBody } from '../http/size-limits.ts';
import { typedOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { type AcceptedCredentials, authenticateRequest } from './authenticate-request.ts';
import { yieldAfterWork } from './event-loop.ts';
import { handleChat } from './handlers/chat.ts';
import { handleFeedbackSchema } from './handlers/feedback-schema.ts';
import { handleCallStart, handleFeedbackReplace } from './handlers/records.ts';
import { createTrainReceiver } from './handlers/train.ts';
import {
  isModelsPath,
  modelsPath,
  modelsRoute,
  operationRoute,
  upstreamChatRoute,
  withStoredChats,
} from './operation-route.ts';
import type { PageLogin } from './page-login.ts';
import { pageRoutes } from './page-routes.ts';
import { IncompleteBodyError, parseRequestBody } from './request-body.ts';
import { createRequestMetrics, type RequestMetrics, withRequestSummaries } from './request-metrics.ts';
import {
  HttpError,
  httpErrorResponse,
  invalidBodyResponse,
  jsonResponse,
  requestPath,
  textResponse,
  toHttpError,
} from './responses.ts';
import {
  type BodyReceiver,
  type OperationHandler,
  readRoute,
  type ServiceContext,
  type ServiceRoute,
} from './service-context.ts';

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
    const path = requestPath(request);
    const route = routes.get(isModelsPath(path) ? modelsPath : path);
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
const statusPaths = { models: modelsPath, health: '/healthz', metrics: '/metrics' } as const;
const servicePaths: readonly string[] = [...Object.values(statusPaths), ...typedOperations.map(({ path }) => path)];

function createRoutes(context: ServiceContext, metrics: RequestMetrics): ReadonlyMap<string, ServiceRoute> {
  const { upstream } = context;
  const routes = new Map<string, ServiceRoute>([
    [statusPaths.models, modelsRoute(context)],
    [
      statusPaths.health,
      readRoute('none', async () => {
        // 503 while the store cannot be used.
        await context.store.checkHealth();
        return jsonResponse(200, { status: 'ok' });
      }),
    ],
    [
      statusPaths.metrics,
      readRoute('basic', async () => textResponse(200, Buffer.from(metrics.text()), PROMETHEUS_CONTENT_TYPE)),
    ],
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

async function handleRequest(
  request: HttpRequest,
  route: ServiceRoute | undefined,
  credentials: AcceptedCredentials | undefined,
  login: PageLogin | undefined,
): Promise<HttpResponse> {
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

/** The handlers of the local service by operation path; an operation without a handler is a type error. */
const operationHandlers: {
  readonly [path in (typeof typedOperations)[number]['path']]: (operation: Operation) => BodyReceiver;
} = {
  '/feedback/replace': withBufferedBody(handleFeedbackReplace),
  '/feedback/payload_schema': withBufferedBody(handleFeedbackSchema),
  '/v1/chat/completions': withBufferedBody(handleChat),
  '/v1/preview/training-jobs': createTrainReceiver,
  '/call/start': withBufferedBody(handleCallStart),
};

// Buffers the body of an operation, and validates it as the command line does before the handler gets it.
function withBufferedBody(handler: OperationHandler): (operation: Operation) => BodyReceiver {
  return (operation) => {
    const validate = createBodyValidator(operation);
    return async (chunks, length, caller, context, refuse) => {
      const bytes = await collectBody(chunks, operation.largestBody, length);
      const body = parseRequestBody(bytes);
      if (!('doc' in body)) return invalidBodyResponse([body], operation);
      await yieldAfterWork(bytes.length, caller.signal);
      return (await refuse(validate(body))) ?? handler(body, caller, context);
    };
  };
}
