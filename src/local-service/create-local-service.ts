import type { Finding } from '../fields/finding.ts';
import { uuidV7 } from '../fields/uuid.ts';
import { getHeader, type Request, type Response, type Send } from '../http/message.ts';
import { formatJsonPath } from '../json/json-path.ts';
import { typedOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { type AcceptedCredentials, authenticateRequest } from './authenticate-request.ts';
import { yieldToEventLoop } from './event-loop.ts';
import { HttpError, httpErrorResponse, invalidBodyResponse } from './http-error.ts';
import { operationHandlers } from './operation-handlers.ts';
import { declaredBodyBytes, IncompleteBody, limitedChunks } from './request-body.ts';
import type { BodyReceiver, ServiceContext } from './service-context.ts';
import { isDatabaseBusy } from './store/open-store.ts';

/** The user of requests where nobody is asked who they are. */
const anonymousUser = 'local';

interface OperationRoute {
  readonly operation: Operation;
  readonly receive: BodyReceiver;
}

/**
 * The local service as a Send: all operations of the interface on a database. It checks credentials, if there are any,
 * judges bodies as the command line does, and answers where the interface is silent as SERVERS.md says. A request that
 * is aborted before it was applied is not applied.
 */
export function createLocalService(context: ServiceContext, credentials: AcceptedCredentials | undefined): Send {
  const routes = new Map<string, OperationRoute>(
    typedOperations.map((operation) => [
      operation.path,
      { operation, receive: operationHandlers[operation.path](operation) },
    ]),
  );
  return async (request) => {
    request.onBodySent?.();
    const route = routes.get(new URL(request.url).pathname);
    const id = uuidV7(context.now(), context.randomBytes(10));
    const response = await handleRequest(request, route, context, credentials).catch((error) => {
      // Nobody waits for this answer; as on the network there is none.
      request.signal?.throwIfAborted();
      if (error instanceof IncompleteBody) throw error.reason;
      return httpErrorResponse(toHttpError(error), route?.operation);
    });
    return { ...response, headers: [...response.headers, ['X-Request-Id', id]] };
  };
}

async function handleRequest(
  request: Request,
  route: OperationRoute | undefined,
  context: ServiceContext,
  credentials: AcceptedCredentials | undefined,
): Promise<Response> {
  const { method, headers, signal } = request;
  if (!route) throw new HttpError(404, 'Not Found');
  const { operation, receive } = route;
  if (method !== 'POST') throw new HttpError(405, 'Method Not Allowed', [['Allow', 'POST']]);
  const user = credentials
    ? authenticateRequest(operation.auth, getHeader(headers, 'authorization'), credentials)
    : anonymousUser;
  if (!/^application\/json\s*(;|$)/i.test(getHeader(headers, 'content-type') ?? '')) {
    throw new HttpError(415, 'the content type must be application/json');
  }
  const received = await receive(
    limitedChunks(request, operation.largestBody),
    declaredBodyBytes(request),
    { user, signal },
    context,
  );
  try {
    const response = validationResponse(received.findings, operation, context);
    await yieldToEventLoop(signal);
    return response ?? (await received.apply());
  } finally {
    await received.discard();
  }
}

function validationResponse(
  findings: readonly Finding[],
  operation: Operation,
  context: ServiceContext,
): Response | undefined {
  const oversized = findings.find(({ code }) => code === 'large');
  if (oversized) throw new HttpError(400, `${formatJsonPath(oversized.path)} ${oversized.message}`);
  const refusedFindings = findings.filter((finding) => isRefusedFinding(finding, operation, context));
  return refusedFindings.length > 0 ? invalidBodyResponse(refusedFindings, operation) : undefined;
}

/** True for what the service does not take: what the interface forbids, and what real servers refuse besides. */
function isRefusedFinding(
  { level, code, path }: Finding,
  { refusesUnknown }: Operation,
  { upstream }: ServiceContext,
): boolean {
  if (code === 'unknown') return refusesUnknown === true && path.length === 1;
  if (level === 'error') return true;
  // What only some servers refuse is for the server behind to say.
  return (code === 'missing' || code === 'advice') && !upstream;
}

function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (isDatabaseBusy(error)) return new HttpError(503, 'the database is busy', [['Retry-After', '1']]);
  return new HttpError(500, `internal error: ${error instanceof Error ? error.message : String(error)}`);
}
