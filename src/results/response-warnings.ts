import { rootOf } from '../json/json-node.ts';
import { formatJsonPath } from '../json/json-path.ts';
import type { JsonDocument } from '../json/parse-json.ts';
import type { Operation } from '../operations/operation.ts';

// Checking takes many times the memory of the text, so a larger response is not checked.
const MAX_CHECKED_VALUES = 200_000;
const MAX_CHECKED_BYTES = 8 * 1024 * 1024;

/**
 * Warnings about a valid response that lacks a required field, or has one of another type: the ids, the choices, the
 * usage. Servers vary in everything else, and a user can do nothing about it.
 */
export async function responseWarnings(doc: JsonDocument, { reply }: Operation): Promise<string[]> {
  if (doc.tape.length / 3 > MAX_CHECKED_VALUES || doc.bytes.length > MAX_CHECKED_BYTES) return [];
  const { createSchemaValidator } = await import('../fields/schema-validator.ts');
  return createSchemaValidator(reply)(rootOf(doc)).flatMap(({ path, message }) => {
    const [name] = path;
    const isActionable = path.length === 1 && typeof name === 'string' && reply[name]?.required === true;
    return isActionable ? [`unexpected response: ${formatJsonPath(path)} ${message}`] : [];
  });
}
