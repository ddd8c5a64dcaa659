import { Buffer } from 'node:buffer';
import { dirname, join } from 'node:path';
import type { PostgresAddress } from '../config/postgres-address.ts';
import { Failure } from '../errors.ts';
import { uuidV7 } from '../fields/uuid.ts';
import { withFileFailure } from '../files/file-errors.ts';
import { openAnonymousFile } from '../files/file-replacement.ts';
import type { TrustOptions } from '../files/trusted-file.ts';
import { getHeader, type HttpRequest, type Middleware, type Send } from '../http/message.ts';
import type { Transport } from '../http/transport.ts';
import { typedOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { responseRequestId } from '../operations/received-facts.ts';
import type { Runtime } from '../runtime.ts';
import { chatResponder } from './handlers/chat.ts';
import { handleCallStart, handleFeedbackReplace, handleFeedbackSchema } from './handlers/records.ts';
import { receiveTrainingJobs } from './handlers/train.ts';
import { bufferedResponder, IncompleteBodyError, modelsResponder } from './operation-route.ts';
import { pageResponders } from './page-routes.ts';
import { createRequestMetrics, type RequestSummary } from './request-metrics.ts';
import { HttpError, httpErrorResponse, jsonResponse, requestPath, textResponse, toHttpError } from './responses.ts';
import { type OtherPath, type Route, routeAt } from './routes.ts';
import type { Respond, ServiceContext } from './service-context.ts';
import { type AcceptedCredentials, authenticateRequest } from './service-credentials.ts';
import { createEmbeddedStore, deleteAbandonedTrajectories, openStore } from './store/open-store.ts';
import type { ServiceStore } from './store/service-store.ts';

export interface LocalServiceOptions extends Pick<ServiceContext, 'upstream' | 'models' | 'checksRules' | 'login'> {
  readonly databaseFile: string;
  /** The data if it is open already; the local service closes it. */
  readonly store?: ServiceStore | undefined;
  /** The database server to use instead; the database file then only says where large bodies are staged. */
  readonly postgres?: { readonly address: PostgresAddress; readonly password: string | undefined } | undefined;
  /** The credentials it accepts; without them it accepts every request. */
  readonly credentials?: AcceptedCredentials | undefined;
  readonly maxBodyBytes?: number | undefined;
  readonly trust?: TrustOptions | undefined;
  readonly faults?: Middleware | undefined;
  readonly onRequestEnd?: ((summary: RequestSummary) => void) | undefined;
}

/** The local service; a server counts and logs its requests with `observe`. */
export interface LocalService {
  readonly send: Send;
  readonly observe: Middleware;
  readonly close: () => Promise<void>;
}

type ServiceRuntime = Pick<Runtime, 'now' | 'randomBytes'> & Partial<Pick<Runtime, 'elapsed'>>;

const INSUFFICIENT_STORAGE_STATUS = 507;
const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const anonymousUser = 'local';
export function databaseFileIn(directory: string): string {
  return join(directory, 'svc.db');
}

/**
 * The local service as a Send. It validates bodies as the command line does, and behaves as docs/internals/servers.md says where the
 * interface is silent. A request that is aborted before it was applied is not applied.
 */
export async function openLocalService(
  {
    databaseFile,
    postgres,
    trust,
    credentials,
    store: openedStore,
    maxBodyBytes = Number.POSITIVE_INFINITY,
    faults,
    onRequestEnd,
    ...options
  }: LocalServiceOptions,
  { now, randomBytes, elapsed = now }: ServiceRuntime,
): Promise<LocalService> {
  const store = openedStore ?? (await openServiceStore({ databaseFile, postgres, trust }, now()));
  const context = { ...options, store, directory: dirname(databaseFile), maxBodyBytes, now, randomBytes, elapsed };
  const metrics = createRequestMetrics(onRequestEnd, elapsed);
  const responders: ReadonlyMap<string, Respond> = new Map<string, Respond>([
    ...typedOperations.map(
      (operation) => [operation.path, operationResponders[operation.path](operation, context)] as const,
    ),
    ...Object.entries(createOtherResponders(context, metrics.text)),
  ]);
  const respond: Send = async (request) => {
    request.onBodySent?.();
    const route = routeAt(requestPath(request));
    try {
      const responder = route && responders.get(route.name);
      if (!responder) throw new HttpError(404, 'Not Found');
      const user = admitUser(request, route, credentials, context);
      return await responder(request, { user, signal: request.signal });
    } catch (error) {
      // An aborted request gets no response, as on the network.
      request.signal?.throwIfAborted();
      if (error instanceof IncompleteBodyError) throw error.cause;
      return httpErrorResponse(toHttpError(error), route?.errors);
    }
  };
  const respondOrFail = faults?.(respond) ?? respond;
  const send: Send = async (request) => {
    const response = await respondOrFail(request);
    // An upstream server has given one already.
    if (responseRequestId(response.headers) !== undefined) return response;
    return { ...response, headers: [...response.headers, ['X-Request-Id', uuidV7(now(), randomBytes(10))]] };
  };
  return { send, observe: metrics.observe, close: store.close };
}

// Checks method and credentials, and returns the name of the user. Throws HttpError 401 or 405.
function admitUser(
  { method, headers }: HttpRequest,
  route: Route,
  credentials: AcceptedCredentials | undefined,
  { login }: ServiceContext,
): string {
  if (method !== route.method && !(method === 'HEAD' && route.method === 'GET'))
    throw new HttpError(405, 'Method Not Allowed', [['Allow', route.method === 'GET' ? 'GET, HEAD' : route.method]]);
  const authorization = getHeader(headers, 'authorization');
  const isOpen = route.auth === 'none' || (route.auth === 'page' && login?.accepts(authorization));
  if (!credentials || isOpen) return anonymousUser;
  return authenticateRequest(route.auth, authorization, credentials);
}

/** Those of the operations. One without is a type error, as a path is without its responder below. */
const operationResponders: {
  readonly [path in (typeof typedOperations)[number]['path']]: (
    operation: Operation,
    context: ServiceContext,
  ) => Respond;
} = {
  '/feedback/replace': bufferedResponder(handleFeedbackReplace),
  '/feedback/payload_schema': bufferedResponder(handleFeedbackSchema),
  '/v1/chat/completions': chatResponder,
  '/v1/preview/training-jobs': receiveTrainingJobs,
  '/call/start': bufferedResponder(handleCallStart),
};

function createOtherResponders(
  context: ServiceContext,
  metricsText: () => string,
): { readonly [path in OtherPath]: Respond } {
  const models = modelsResponder(context);
  return {
    '/v1/models': models,
    '/v1/models/{id}': models,
    '/healthz': () => context.store.checkHealth().then(() => jsonResponse(200, { status: 'ok' })),
    '/metrics': async () => textResponse(200, Buffer.from(metricsText()), PROMETHEUS_CONTENT_TYPE),
    ...pageResponders(context),
  };
}

export async function openServiceStore(
  { databaseFile, postgres, trust }: Pick<LocalServiceOptions, 'databaseFile' | 'postgres' | 'trust'>,
  now: number,
): Promise<ServiceStore> {
  if (!postgres) {
    const database = await openStore(databaseFile, trust);
    await deleteAbandonedTrajectories(now, database);
    return createEmbeddedStore(database);
  }
  // Training jobs are staged in it, even if the database is elsewhere.
  const directory = dirname(databaseFile);
  const hint = 'set SVC_DATA_DIR to a directory that svc can write';
  const file = await withFileFailure('write to', directory, () => openAnonymousFile(directory), { hint });
  await file.close();
  const { openPostgresStore } = await import('./store/postgres-store.ts');
  return openPostgresStore(postgres.address, postgres.password);
}

/** The local service within this process (`--local`). Its disk is the user's: a full one throws Failure `local_file`. */
export async function openInProcessService(
  databaseFile: string,
  runtime: ServiceRuntime & Pick<Runtime, 'userId'>,
  warn: TrustOptions['warn'],
): Promise<Transport> {
  const trust = { userId: runtime.userId, warn };
  const { send: sendLocally, close } = await openLocalService({ databaseFile, trust }, runtime);
  const send: Send = async (request) => {
    const response = await sendLocally(request);
    if (response.status !== INSUFFICIENT_STORAGE_STATUS) return response;
    throw new Failure('local_file', `could not write to ${databaseFile}: the disk is full`, {
      hint: 'free some space, or set SVC_DATA_DIR to a directory on another disk',
      applied: 'no',
    });
  };
  return { send, close };
}
