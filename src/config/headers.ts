import { usageFailure } from '../errors.ts';
import type { HttpHeaders } from '../http/message.ts';

const RESERVED_HEADERS =
  /^(content-type|content-length|authorization|host|transfer-encoding|connection|expect|upgrade|keep-alive)$/i;

/** The headers of `-H 'Name: value'`. Throws usage for one that is malformed or not for users to set. */
export function parseHeaderFlags(values: readonly string[]): HttpHeaders {
  return values.map((text) => {
    const [, name = '', value = ''] = /^([^:]*):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
    return requireValidHeader(name, value, '--header');
  });
}

/** A header of the user. Throws usage for one that HTTP or svc does not allow; `source` names it. */
export function requireValidHeader(name: string, value: string, source: string): HttpHeaders[number] {
  // The value is not repeated: it may be a secret.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
    throw usageFailure(`${source} needs a name and a value`, "write -H 'Name: value'");
  if (RESERVED_HEADERS.test(name)) throw usageFailure(`${source} cannot set ${name}`, 'svc sets that header itself');
  const message = `${source} ${name} has characters that a header cannot contain`;
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) throw usageFailure(message, 'use only printable characters of Latin-1');
  return [name, value];
}
