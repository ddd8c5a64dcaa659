import type { Fields } from '../fields/field.ts';
import type { Finding } from '../fields/finding.ts';
import { getHeader, type Request, type Response } from '../http/message.ts';
import { formatJsonPath, type JsonPath } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';
import { yieldAfterWork } from './event-loop.ts';
import { declaredBodyBytes, limitedChunks } from './request-body.ts';
import { HttpError, invalidBodyResponse } from './responses.ts';
import type { BodyReceiver, ServiceContext, ServiceRoute } from './service-context.ts';

/** The route of an operation: its body is limited, validated as the command line does it, and then applied. */
export function operationRoute(operation: Operation, receive: BodyReceiver, context: ServiceContext): ServiceRoute {
  return {
    method: 'POST',
    auth: operation.auth,
    errors: operation.errors,
    respond: async (request, caller) => {
      requireJson(request);
      requireIdentityEncoding(request);
      const maxBytes = Math.min(operation.largestBody, context.maxBodyBytes);
      const length = declaredBodyBytes(request);
      const received = await receive(limitedChunks(request, maxBytes), length, caller, context);
      try {
        const refusal = validationResponse(received.findings, operation, context);
        await yieldAfterWork(length, caller.signal);
        return refusal ?? (await received.apply());
      } finally {
        await received.discard();
      }
    },
  };
}

/** Refuses other content types, which a web page could send without asking, and other charsets. Throws HttpError 415. */
export function requireJson({ headers }: Request): void {
  const contentType = getHeader(headers, 'content-type') ?? '';
  const isUtf8 = !/;\s*charset\s*=\s*(?!"?utf-?8"?\s*(;|$))/i.test(contentType);
  if (/^application\/json\s*(;|$)/i.test(contentType) && isUtf8) return;
  throw new HttpError(415, `Content-Type must be application/json in UTF-8, not ${JSON.stringify(contentType)}`);
}

function requireIdentityEncoding({ headers }: Request): void {
  const encoding = getHeader(headers, 'content-encoding')?.trim();
  if (!encoding || encoding.toLowerCase() === 'identity') return;
  throw new HttpError(
    415,
    `Content-Encoding ${JSON.stringify(encoding)} is not supported; send the body uncompressed`,
    [['Accept-Encoding', 'identity']],
  );
}

function validationResponse(
  findings: readonly Finding[],
  operation: Operation,
  { checksRules }: ServiceContext,
): Response | undefined {
  const oversized = findings.find(({ code }) => code === 'large');
  if (oversized) throw new HttpError(400, `${formatJsonPath(oversized.path)} ${oversized.message}`);
  const refusedFindings = findings.filter((finding) => isRefusedFinding(finding, operation));
  if (refusedFindings.length > 0) return invalidBodyResponse(refusedFindings, operation);
  const broken = checksRules ? findings.find(({ code }) => code === 'rule') : undefined;
  if (broken) throw new HttpError(400, `${formatJsonPath(broken.path)} ${broken.message}`);
  return undefined;
}

/** True for what the interface forbids, and for what real servers reject besides (docs/servers.md). */
function isRefusedFinding({ level, code, path }: Finding, { rejectsUnknownFields, body }: Operation): boolean {
  if (code === 'unknown') return rejectsUnknownFields === true && path.length === 1;
  if (code === 'advice' && isInPrintedRange(path, body)) return false;
  return level === 'error' || code === 'missing' || code === 'null' || code === 'advice';
}

// Integers between int64 and the range that the interface prints are warnings only.
function isInPrintedRange([name, ...inner]: JsonPath, body: Fields): boolean {
  const field = typeof name === 'string' && inner.length === 0 ? body[name] : undefined;
  return field?.type === 'integer' && typeof field.max === 'bigint';
}
