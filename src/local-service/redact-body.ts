import { Buffer } from 'node:buffer';
import { kindOf, stringOf } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { operationAt } from '../operations/all-operations.ts';
import { redactSecretFields, secretValues } from '../operations/secret-fields.ts';
import {
  createRedactor,
  MIN_BODY_SECRET_CHARS,
  REDACTED,
  replaceSecrets,
  trailingPrefixLength,
} from '../output/reporter.ts';

/** A body without its secret fields, and the values that they had. */
interface RedactedBody {
  readonly body: Buffer;
  readonly secrets: readonly string[];
}

// A body may give a field any number of times.
const MAX_SECRETS = 16;

/**
 * The body of a request to a path of the service, for a recording or the database: without its secret fields, also where
 * it is not valid JSON or was cut.
 */
export function redactBody(path: string, body: Buffer): RedactedBody {
  const operation = operationAt(path);
  const names = Object.entries(operation?.body ?? {}).flatMap(([name, { isSecret }]) => (isSecret ? [name] : []));
  if (!operation || names.length === 0) return { body, secrets: [] };
  const root = tryParseJson(body);
  if (!root) return redactInvalidBody(body, names);
  const secrets = firstSecrets(secretValues(root, operation));
  return { body: redactSecretFields(root, operation, () => REDACTED), secrets };
}

/** The body of a response without some values of its request; those of fewer than eight characters stay. */
export function redactResponseBody(body: Buffer, secrets: readonly string[]): Buffer {
  const redactable = secrets.filter(({ length }) => length >= MIN_BODY_SECRET_CHARS);
  if (redactable.length === 0) return body;
  // Latin-1 keeps every byte.
  return Buffer.from(createRedactor(redactable).redact(body.toString('latin1')), 'latin1');
}

// The string after the name, which may lack its end, or any other text up to the end of the field.
function redactInvalidBody(body: Buffer, names: readonly string[]): RedactedBody {
  const field = new RegExp(`("(?:${names.join('|')})"\\s*:\\s*)("(?:[^"\\\\]+|\\\\.)*"?|[^\\s",}\\]]+)`, 'gs');
  const values: string[] = [];
  const text = body.toString('latin1').replace(field, (_, start: string, value: string) => {
    values.push(invalidValueText(Buffer.from(value, 'latin1')));
    return `${start}"${REDACTED}"`;
  });
  return values.length === 0
    ? { body, secrets: [] }
    : { body: Buffer.from(text, 'latin1'), secrets: firstSecrets(values) };
}

function invalidValueText(value: Buffer): string {
  const node = tryParseJson(value);
  return node && kindOf(node) === 'string' ? stringOf(node) : value.toString().replace(/^"|"$/g, '');
}

function firstSecrets(values: readonly string[]): string[] {
  return [...new Set(values)].slice(0, MAX_SECRETS);
}

/**
 * The bytes of a body without some secrets, even if one is split between two chunks. Bytes that may begin a secret
 * are held back until the next chunk; all others pass at once.
 */
export async function* redactChunks(
  chunks: AsyncIterable<Uint8Array>,
  secrets: readonly string[],
): AsyncGenerator<Uint8Array> {
  if (secrets.length === 0) return yield* chunks;
  let held = '';
  for await (const chunk of chunks) {
    // Latin-1 keeps every byte, and secrets in headers are ASCII.
    const text = replaceSecrets(held + Buffer.from(chunk).toString('latin1'), secrets);
    const heldChars = Math.max(...secrets.map((secret) => trailingPrefixLength(text, secret, 1)));
    held = text.slice(text.length - heldChars);
    if (heldChars < text.length) yield Buffer.from(text.slice(0, text.length - heldChars), 'latin1');
  }
  if (held !== '') yield Buffer.from(held, 'latin1');
}
