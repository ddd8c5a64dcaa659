import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileFailure, isNotFoundError } from '../files/file-errors.ts';
import { requireTrustedFile, type TrustOptions } from '../files/trusted-file.ts';
import type { Runtime } from '../runtime.ts';
import type { PostgresAddress } from './postgres-address.ts';

/**
 * The password for a database: PGPASSWORD, else the matching line of PGPASSFILE (`~/.pgpass`), else none. Throws Failure
 * for a file of another user or one that cannot be read.
 */
export async function readPostgresPassword(
  address: PostgresAddress,
  { env, home, userId }: Pick<Runtime, 'env' | 'home' | 'userId'>,
  warn: TrustOptions['warn'],
): Promise<string | undefined> {
  if (env.PGPASSWORD) return env.PGPASSWORD;
  const file = env.PGPASSFILE || join(home, '.pgpass');
  await requireTrustedFile(file, { userId, warn });
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (!env.PGPASSFILE && isNotFoundError(error)) return '';
    throw fileFailure(`read PGPASSFILE ${file}`, error);
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
