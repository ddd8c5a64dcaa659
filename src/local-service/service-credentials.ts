import { Buffer } from 'node:buffer';
import { timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { basicAuthorization } from '../config/credentials/credential.ts';
import { environmentSetting } from '../config/settings.ts';
import { usageFailure } from '../errors.ts';
import { pathExists, withFileFailure } from '../files/file-errors.ts';
import { acquireLock } from '../files/file-lock.ts';
import { makeDirectory, removeStaleReplacements, writeFileAtomically } from '../files/file-replacement.ts';
import { requireTrustedFile, type TrustOptions } from '../files/trusted-file.ts';
import { JsonError } from '../json/json-error.ts';
import { firstStringMember, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { writeJson } from '../json/write-json.ts';
import type { Runtime } from '../runtime.ts';
import { HttpError } from './responses.ts';

export type AcceptedCredentials = { readonly [name in 'username' | 'password' | 'token']: string };

/**
 * The credentials of the local service, the file in which clients find them, and the variables that name others: those of the given file, else of
 * SVC_USERNAME, SVC_PASSWORD and SVC_TOKEN, else generated ones, kept in a 0600 file beside the data. Throws Failure for an
 * invalid file, and `safety_check` for one of another user.
 */
export async function loadServiceCredentials(
  credentialsFile: string | undefined,
  databaseFile: string,
  runtime: Runtime,
  warn: TrustOptions['warn'],
) {
  const { env, cwd, userId } = runtime;
  const trust = { userId, warn };
  if (credentialsFile !== undefined) {
    const file = resolve(cwd, credentialsFile);
    await requireTrustedFile(file, trust);
    return requireValid(await readCredentials(file), file);
  }
  const [username, password, token] = (['username', 'password', 'token'] as const).map((name) =>
    environmentSetting(name, env),
  );
  if (!username !== !password) throw usageFailure('SVC_USERNAME and SVC_PASSWORD go together', 'set both or none');
  const given = { ...(username && { username }), ...(password && { password }), ...(token && { token }) };
  const variables = Object.keys(given).map((name) => `SVC_${name.toUpperCase()}`);
  if (username && password && token) return requireValid({ username, password, token }, undefined, variables);
  const file = `${databaseFile}.credentials.json`;
  await requireTrustedFile(file, trust);
  const generated = (await pathExists(file)) ? await readCredentials(file) : await storeNewCredentials(file, runtime);
  return requireValid({ ...generated, ...given }, file, variables);
}

async function readCredentials(file: string): Promise<AcceptedCredentials> {
  const bytes = await withFileFailure('read the credentials in', file, () => readFile(file));
  try {
    const root = rootOf(parseJson(bytes));
    const textOf = (name: keyof AcceptedCredentials): string => {
      const text = firstStringMember(root, name);
      if (text) return text;
      const hint = 'write {"username":"...","password":"...","token":"..."}';
      throw usageFailure(`the credentials in ${file} lack "${name}"`, hint);
    };
    return { username: textOf('username'), password: textOf('password'), token: textOf('token') };
  } catch (error) {
    if (error instanceof JsonError) throw usageFailure(`the credentials in ${file} are not JSON: ${error.message}`);
    throw error;
  }
}

// Under a lock: processes that start together have the same credentials, and what a killed one left can be removed.
async function storeNewCredentials(file: string, runtime: Runtime): Promise<AcceptedCredentials> {
  await makeDirectory(dirname(file), 0o700);
  const unlock = await acquireLock(file, file, runtime, LOCK_TIMEOUT_MS);
  try {
    if (await pathExists(file)) return await readCredentials(file);
    await removeStaleReplacements(file);
    const { randomBytes } = runtime;
    const credentials = { username: 'local', password: randomSecret(randomBytes), token: randomSecret(randomBytes) };
    await writeFileAtomically(file, file, `${writeJson(credentials)}\n`, 0o600);
    return credentials;
  } finally {
    await unlock();
  }
}

const LOCK_TIMEOUT_MS = 10_000;

function randomSecret(randomBytes: Runtime['randomBytes']): string {
  return Buffer.from(randomBytes(24)).toString('base64url');
}

function requireValid(credentials: AcceptedCredentials, file: string | undefined, variables: readonly string[] = []) {
  basicAuthorization(credentials.username, credentials.password);
  return { credentials, file, variables };
}

/** Checks the credentials of a request: its user, or HttpError 401 unless its Authorization header is the one of a route: a token (`bearer`), else Basic. */
export function authenticateRequest(
  auth: string,
  authorization: string | undefined,
  accepted: AcceptedCredentials,
): string {
  const expected =
    auth === 'bearer' ? `Bearer ${accepted.token}` : basicAuthorization(accepted.username, accepted.password);
  // The name of a scheme may be written in any case (RFC 9110).
  const [left, right] = [authorization ?? '', expected].map((text) =>
    Buffer.from(text.replace(/^\S+/, (word) => word.toLowerCase())),
  );
  if (left && left.length === right?.length && timingSafeEqual(left, right)) return accepted.username;
  const challenge = auth === 'bearer' ? 'Bearer realm="svc"' : 'Basic realm="svc", charset="UTF-8"';
  throw new HttpError(401, 'Unauthorized', [['WWW-Authenticate', challenge]]);
}

export const MAX_CODE_AGE_MS = 60_000;

/** How a browser gets credentials of its own: by a link with a code that is exchanged for a token. */
export interface PageLogin {
  /** A code that can be exchanged once, within 60 s. */
  readonly createCode: (onExchange: () => void) => string;
  /** A token that reads the stored data until the service ends; undefined for a code that is not valid (any more). */
  readonly exchange: (code: string) => string | undefined;
  readonly accepts: (authorization: string | undefined) => boolean;
}

/** Codes and tokens are kept in memory only. */
export function createPageLogin({ elapsed, randomBytes }: Pick<Runtime, 'elapsed' | 'randomBytes'>): PageLogin {
  const codes = new Map<string, { readonly createdAt: number; readonly onExchange: () => void }>();
  const tokens = new Set<string>();
  return {
    createCode: (onExchange) => {
      const code = randomSecret(randomBytes);
      codes.set(code, { createdAt: elapsed(), onExchange });
      return code;
    },
    exchange: (code) => {
      const created = codes.get(code);
      codes.delete(code);
      if (!created || elapsed() - created.createdAt > MAX_CODE_AGE_MS) return undefined;
      created.onExchange();
      const token = randomSecret(randomBytes);
      tokens.add(token);
      return token;
    },
    accepts: (authorization) => /^bearer /i.test(authorization ?? '') && tokens.has((authorization ?? '').slice(7)),
  };
}
