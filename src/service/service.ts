import type { Buffer } from 'node:buffer';
import type { Finding } from '../fields/finding.ts';
import { type Judge, judgeOf } from '../fields/judge.ts';
import { uuid7 } from '../fields/uuid.ts';
import { collect, Unusable } from '../http/collect.ts';
import { header, type Reply, type Request, type Send } from '../http/message.ts';
import { piecesOf } from '../http/progress.ts';
import { parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { type JsonNode, rootOf } from '../json/node.ts';
import { formatPath } from '../json/path.ts';
import { operations } from '../operations/index.ts';
import type { Operation } from '../operations/operation.ts';
import { behaviourOf } from './behaviours.ts';
import { authenticate, type Credentials } from './credentials.ts';
import { Refusal, refused, refusedBody } from './refusal.ts';
import type { World } from './world.ts';

const MEBIBYTE = 1024 * 1024;

/** The user of requests where nobody is asked who they are. */
const anybody = 'local';

/**
 * The local service as a Send: all operations of the interface on a database. It checks credentials, if there are any,
 * judges bodies as the command line does, and answers where the interface is silent as SERVERS.md says.
 */
export function createService(world: World, credentials: Credentials | undefined): Send {
  const judges = new Map<Operation, Judge>(operations.map((operation) => [operation, judgeOf(operation.body)]));
  return async (request) => {
    const operation = operations.find(({ path }) => path === new URL(request.url).pathname);
    const id = uuid7(world.now(), world.randomBytes(10));
    const reply = await answered(request, operation, operation && judges.get(operation), world, credentials).catch(
      (error) => {
        return refused(asRefusal(error), operation);
      },
    );
    return { ...reply, headers: [...reply.headers, ['X-Request-Id', id]] };
  };
}

async function answered(
  request: Request,
  operation: Operation | undefined,
  judge: Judge | undefined,
  world: World,
  credentials: Credentials | undefined,
): Promise<Reply> {
  if (!operation || !judge) throw new Refusal(404, 'Not Found');
  if (request.method !== 'POST') throw new Refusal(405, 'Method Not Allowed', [['Allow', 'POST']]);
  const user = credentials
    ? authenticate(operation.auth, header(request.headers, 'authorization'), credentials)
    : anybody;
  if (!/^application\/json\s*(;|$)/i.test(header(request.headers, 'content-type') ?? '')) {
    throw new Refusal(415, 'the content type must be application/json');
  }
  const bytes = await bodyOf(request, operation);
  const body = readBody(bytes);
  if (!('doc' in body)) return refusedBody([body], operation);
  const findings = judge(body);
  const large = findings.find(({ code }) => code === 'large');
  if (large) throw new Refusal(400, `${formatPath(large.path)} ${large.message}`);
  const refusals = findings.filter((finding) => isRefused(finding, operation, world));
  return refusals.length > 0 ? refusedBody(refusals, operation) : behaviourOf(operation)(body, user, world);
}

function readBody(bytes: Buffer): JsonNode | Finding {
  try {
    return rootOf(parseJson(bytes));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { path: [error.offset], level: 'error', code: 'invalid', message: `JSON decode error: ${error.message}` };
  }
}

/** True for what the service does not take: what the interface forbids, and what real servers refuse besides. */
function isRefused({ level, code, path }: Finding, { refusesUnknown }: Operation, { upstream }: World): boolean {
  if (code === 'unknown') return refusesUnknown === true && path.length === 1;
  if (level === 'error') return true;
  // What only some servers refuse is for the server behind to say.
  return (code === 'missing' || code === 'advice') && !upstream;
}

async function bodyOf({ headers, body }: Request, operation: Operation): Promise<Buffer> {
  const most = (operation.host === 'train' ? 1024 : 32) * MEBIBYTE;
  const tooLarge = new Refusal(413, `the body may have at most ${most} bytes`);
  const { length = Number(header(headers, 'content-length') ?? 0) } = body;
  if (length > most) throw tooLarge;
  try {
    return await collect(asAsync(piecesOf(body)), most, length);
  } catch (error) {
    throw error instanceof Unusable ? tooLarge : error;
  }
}

async function* asAsync(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'SQLITE_BUSY') return new Refusal(503, 'the database is busy', [['Retry-After', '1']]);
  return new Refusal(500, `internal error: ${error instanceof Error ? error.message : String(error)}`);
}
