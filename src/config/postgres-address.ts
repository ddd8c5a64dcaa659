import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { invalidValueFailure, usageFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import { fileFailure, isNotFoundError } from '../files/file-errors.ts';
import { requireTrustedFile, type TrustOptions } from '../files/trusted-file.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import type { Runtime } from '../runtime.ts';
import { environmentSetting } from './settings.ts';

export interface PostgresAddress {
  /** A host name, or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** How the connection is encrypted; `verify-full` checks the certificate of the server. */
  readonly sslMode: (typeof SSL_MODES)[number];
  readonly label: string;
}

const DEFAULT_PORT = 5432;
const SSL_MODES = ['disable', 'require', 'verify-full'] as const;

export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:/i.test(text);
}

/** Reads `postgres://[user@]host[:port]/database[?sslmode=…&host=/socket]`; verifies other machines by default. Throws usage. */
export function parsePostgresUrl(text: string, defaultUser: string | undefined): PostgresAddress {
  if (/^\w+:(\/\/)?[^/?#]*:[^/?#]*@/.test(text) || /[?&]password=/i.test(text))
    throw usageFailure('--data: the URL contains a password', 'remove it and set PGPASSWORD or PGPASSFILE');
  const { url, name, path } = splitUrl(text);
  // Only in a URL does an IPv6 address have brackets.
  const host = url.searchParams.get('host') || url.hostname.replace(/^\[|\]$/g, '');
  const user = name || defaultUser;
  if (!user)
    throw usageFailure(
      '--data names no user, and the current user has no name on this system',
      'write it like postgres://user@host/database, or set PGUSER',
    );
  const port = Number(url.port || DEFAULT_PORT);
  const database = path || user;
  const label = `postgres://${user}@${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
  return { host, port, user, database, sslMode: readSslMode(url, host), label };
}

function splitUrl(text: string): { readonly url: URL; readonly name: string; readonly path: string } {
  // URL has no default parsing of hosts for other schemes than http.
  const parsable = text
    .replace(/^postgres(ql)?:\/\/(?=[/?]|$)/i, 'http://localhost')
    .replace(/^postgres(ql)?:/i, 'http:');
  try {
    const url = new URL(parsable);
    return { url, name: decodeURIComponent(url.username), path: decodeURIComponent(url.pathname.slice(1)) };
  } catch {
    const hint = 'write it like postgres://user@host:5432/database, with a percent sign as %25';
    throw usageFailure('--data is not a valid PostgreSQL URL', hint);
  }
}

function readSslMode(url: URL, host: string): PostgresAddress['sslMode'] {
  const text = url.searchParams.get('sslmode');
  if (text === null) return host.startsWith('/') || isLoopbackUrl(url) ? 'disable' : 'verify-full';
  const mode = SSL_MODES.find((one) => one === text);
  if (mode) return mode;
  throw invalidValueFailure('--data: sslmode', text, joinWithOr(SSL_MODES));
}

/** PGPASSWORD, else the matching line of PGPASSFILE (`~/.pgpass`). Throws Failure for a file that is not trusted or readable. */
export async function readPostgresPassword(
  address: PostgresAddress,
  { env, home, userId }: Pick<Runtime, 'env' | 'home' | 'userId'>,
  warn: TrustOptions['warn'],
): Promise<string | undefined> {
  const password = environmentSetting('pgpassword', env);
  if (password) return password;
  const named = environmentSetting('pgpassfile', env);
  const file = named ?? join(home, '.pgpass');
  await requireTrustedFile(file, { userId, warn });
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (!named && isNotFoundError(error)) return '';
    throw fileFailure('read PGPASSFILE', file, error);
  });
  return findPassword(text, address);
}

// Lines of host:port:database:user:password; `*` matches everything, and a backslash escapes colons and backslashes.
function findPassword(text: string, { host, port, database, user }: PostgresAddress): string | undefined {
  const wanted = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const fields = (line.match(/(?:\\.|[^:\\])+/g) ?? []).map((field) => field.replace(/\\(.)/g, '$1'));
    if (fields.length === 5 && wanted.every((value, at) => fields[at] === '*' || fields[at] === value))
      return fields[4];
  }
  return undefined;
}
