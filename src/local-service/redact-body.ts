import type { Buffer } from 'node:buffer';
import { tryParseJson } from '../json/parse-json.ts';
import { allOperations } from '../operations/all-operations.ts';
import { redactSecretFields } from '../operations/secret-fields.ts';

/** The body of a request to a path of the service, for a recording or the database: without its secret fields. */
export function redactBody(path: string, body: Buffer): Buffer {
  const operation = allOperations.find((candidate) => candidate.path === path);
  if (!operation || !Object.values(operation.body).some(({ isSecret }) => isSecret)) return body;
  const root = tryParseJson(body);
  return root ? redactSecretFields(root, operation, () => '[redacted]') : body;
}
