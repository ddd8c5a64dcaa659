import type { SelectedProfile } from '../config/select-profile.ts';
import { usageFailure } from '../errors.ts';
import { getHeader, type HttpHeaders } from '../http/message.ts';
import { version } from '../version.ts';

// svc sets these headers itself.
const RESERVED_HEADERS =
  /^(content-type|content-length|authorization|host|transfer-encoding|connection|expect|upgrade|keep-alive)$/i;

/** The headers of `-H 'Name: value'`. Throws usage for one that is malformed or not for users to set. */
export function parseHeaderFlags(values: readonly string[]): HttpHeaders {
  return values.map((text) => {
    const [, name = '', value = ''] = /^([^:]*):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
    return requireValidHeader(name, value, '--header');
  });
}

/** The headers of a profile that belong to an origin. Throws usage for one that is malformed or not for users to set. */
export function profileHeaders(
  { name: profileName, profile }: SelectedProfile,
  origin: string | undefined,
): HttpHeaders {
  const { headers = {}, header_origins: origins = [] } = profile;
  if (origin === undefined || !origins.includes(origin)) return [];
  const source = `profile "${profileName}": header`;
  return Object.entries(headers).map(([name, value]) => requireValidHeader(name, value, source));
}

function requireValidHeader(name: string, value: string, source: string): HttpHeaders[number] {
  // The value is not repeated: it may be a secret.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
    throw usageFailure(`${source} needs a name and a value`, "write -H 'Name: value'");
  if (RESERVED_HEADERS.test(name)) throw usageFailure(`${source} cannot set ${name}`, 'svc sets that header itself');
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    throw usageFailure(
      `${source} ${name} has characters that a header cannot contain`,
      'use only printable characters of Latin-1',
    );
  return [name, value];
}

/** All headers of a request except Authorization, with those of profile and flags. */
export function requestHeaders(customHeaders: HttpHeaders, isStreaming: boolean): HttpHeaders {
  const defaultHeaders: HttpHeaders = [
    ['Content-Type', 'application/json'],
    ['Accept', isStreaming ? 'text/event-stream' : 'application/json'],
    ['User-Agent', `svc/${version}`],
  ];
  return [...defaultHeaders.filter(([name]) => getHeader(customHeaders, name) === undefined), ...customHeaders];
}
