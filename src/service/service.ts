import type { Finding } from '../fields/finding.ts';
import { uuid7 } from '../fields/uuid.ts';
import { header, type Reply, type Request, type Send } from '../http/message.ts';
import { formatPath } from '../json/path.ts';
import { knownOperations } from '../operations/index.ts';
import type { Operation } from '../operations/operation.ts';
import { behaviours } from './behaviours.ts';
import { authenticate, type Credentials } from './credentials.ts';
import { Refusal, refused, refusedBody } from './refusal.ts';
import { LostBody, lengthOf, piecesUpTo } from './request-body.ts';
import { isBusy } from './store.ts';
import { otherTurns } from './turns.ts';
import type { Intake, World } from './world.ts';

/** The user of requests where nobody is asked who they are. */
const anybody = 'local';

interface Route {
  readonly operation: Operation;
  readonly take: Intake;
}

/**
 * The local service as a Send: all operations of the interface on a database. It checks credentials, if there are any,
 * judges bodies as the command line does, and answers where the interface is silent as SERVERS.md says. A request that
 * is aborted before it was applied is not applied.
 */
export function createService(world: World, credentials: Credentials | undefined): Send {
  const routes = new Map<string, Route>(
    knownOperations.map((operation) => [operation.path, { operation, take: behaviours[operation.path](operation) }]),
  );
  return async (request) => {
    request.onLeave?.();
    const route = routes.get(new URL(request.url).pathname);
    const id = uuid7(world.now(), world.randomBytes(10));
    const reply = await answered(request, route, world, credentials).catch((error) => {
      // Nobody waits for this answer; as on the network there is none.
      request.signal?.throwIfAborted();
      if (error instanceof LostBody) throw error.reason;
      return refused(asRefusal(error), route?.operation);
    });
    return { ...reply, headers: [...reply.headers, ['X-Request-Id', id]] };
  };
}

async function answered(
  request: Request,
  route: Route | undefined,
  world: World,
  credentials: Credentials | undefined,
): Promise<Reply> {
  const { method, headers, signal } = request;
  if (!route) throw new Refusal(404, 'Not Found');
  const { operation, take } = route;
  if (method !== 'POST') throw new Refusal(405, 'Method Not Allowed', [['Allow', 'POST']]);
  const user = credentials ? authenticate(operation.auth, header(headers, 'authorization'), credentials) : anybody;
  if (!/^application\/json\s*(;|$)/i.test(header(headers, 'content-type') ?? '')) {
    throw new Refusal(415, 'the content type must be application/json');
  }
  const taken = await take(piecesUpTo(request, operation.largestBody), lengthOf(request), { user, signal }, world);
  try {
    const reply = refusalOf(taken.findings, operation, world);
    await otherTurns(signal);
    return reply ?? (await taken.apply());
  } finally {
    await taken.drop();
  }
}

function refusalOf(findings: readonly Finding[], operation: Operation, world: World): Reply | undefined {
  const large = findings.find(({ code }) => code === 'large');
  if (large) throw new Refusal(400, `${formatPath(large.path)} ${large.message}`);
  const refusals = findings.filter((finding) => isRefused(finding, operation, world));
  return refusals.length > 0 ? refusedBody(refusals, operation) : undefined;
}

/** True for what the service does not take: what the interface forbids, and what real servers refuse besides. */
function isRefused({ level, code, path }: Finding, { refusesUnknown }: Operation, { upstream }: World): boolean {
  if (code === 'unknown') return refusesUnknown === true && path.length === 1;
  if (level === 'error') return true;
  // What only some servers refuse is for the server behind to say.
  return (code === 'missing' || code === 'advice') && !upstream;
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (isBusy(error)) return new Refusal(503, 'the database is busy', [['Retry-After', '1']]);
  return new Refusal(500, `internal error: ${error instanceof Error ? error.message : String(error)}`);
}
