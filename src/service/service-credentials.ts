import { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Failure, usage } from '../errors.ts';
import { makeFolder } from '../files/folder.ts';
import { fileReason, isMissing } from '../files/reason.ts';
import { writeWhole } from '../files/replacement.ts';
import { parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { kindOf, member, rootOf, stringOf } from '../json/node.ts';
import { writeJson } from '../json/write.ts';
import { basicAuthorization } from '../profiles/credential.ts';
import type { Runtime } from '../runtime.ts';
import type { Credentials } from './credentials.ts';

/** The credentials of the local service, and the file a client finds them in, if there is one. */
export interface ServiceCredentials {
  readonly credentials: Credentials;
  readonly file: string | undefined;
}

/**
 * The credentials of the file that is named, else of SVC_USERNAME, SVC_PASSWORD and SVC_TOKEN, else made here and kept
 * in a 0600 file beside the data, where the next start finds them again. Throws Failure for a file that has no such thing.
 */
export async function serviceCredentials(
  named: string | undefined,
  data: string,
  { env, cwd, randomBytes }: Runtime,
): Promise<ServiceCredentials> {
  if (named !== undefined) {
    const file = resolve(cwd, named);
    return { credentials: checked(await readCredentials(file)), file };
  }
  const { SVC_USERNAME: username, SVC_PASSWORD: password, SVC_TOKEN: token } = env;
  if (!username !== !password) throw usage('SVC_USERNAME and SVC_PASSWORD go together', 'set both or none');
  if (username && password && token) return { credentials: checked({ username, password, token }), file: undefined };
  const file = `${data}.credentials.json`;
  const kept = await readCredentials(file).catch((error: unknown) => {
    if (error instanceof Failure && isMissing(error.cause)) return undefined;
    throw error;
  });
  const secret = (): string => Buffer.from(randomBytes(24)).toString('base64url');
  const made = kept ?? { username: 'local', password: secret(), token: secret() };
  if (!kept) await writeCredentials(file, made);
  const credentials = {
    username: username || made.username,
    password: password || made.password,
    token: token || made.token,
  };
  return { credentials: checked(credentials), file };
}

async function readCredentials(file: string): Promise<Credentials> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw Object.assign(new Failure('local', `cannot read the credentials in ${file}: ${fileReason(cause)}`), {
      cause,
    });
  });
  try {
    const root = rootOf(parseJson(bytes));
    const [username, password, token] = ['username', 'password', 'token'].map((name) => {
      const value = member(root, name);
      if (value && kindOf(value) === 'string' && stringOf(value) !== '') return stringOf(value);
      throw usage(`the credentials in ${file} lack "${name}"`, '{"username":"...","password":"...","token":"..."}');
    });
    return { username: username ?? '', password: password ?? '', token: token ?? '' };
  } catch (error) {
    if (error instanceof JsonError) throw usage(`the credentials in ${file} are not JSON: ${error.message}`);
    throw error;
  }
}

async function writeCredentials(file: string, credentials: Credentials): Promise<void> {
  await makeFolder(dirname(file), 0o700);
  await writeWhole(file, file, `${writeJson({ ...credentials })}\n`, 0o600);
}

function checked(credentials: Credentials): Credentials {
  basicAuthorization(credentials.username, credentials.password);
  return credentials;
}
