import {
  findCredentialSource,
  readCredential,
  requireCredentialSource,
  type Secret,
} from '../config/credentials/credential.ts';
import type { Context } from '../context.ts';
import { Failure } from '../errors.ts';
import { isLoopbackUrl, proxySecrets } from '../http/proxy.ts';
import type { Runtime } from '../runtime.ts';
import type { Destination, Settings } from './settings.ts';

/** True if a request could be authorized: without a destination, if any credential is configured. Reads no secret. */
export function hasCredential({ operation: { auth }, destination, profile }: Settings, env: Runtime['env']): boolean {
  if (destination?.isLocal) return false;
  try {
    if (!destination) return findCredentialSource(auth, profile, env) !== undefined;
    requireCredentialSource(auth, destination.url.origin, profile, env);
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

export interface Authorization {
  readonly value: Secret;
  /** Its source, for messages: `user "api" from profile "work"`. */
  readonly description: string;
  /** The next step after the service rejected it; default: to store another one. */
  readonly correction?: string | undefined;
}

/** Reads the credential of a destination, redacted in all output from now on. Throws Failure `safety_check` before over plain http. */
export async function readAuthorization(
  { operation, profile, timeoutMs }: Settings,
  { url, isLocal, proxy, isPlainHttpAllowed }: Destination,
  { runtime, report, signal }: Pick<Context, 'runtime' | 'report' | 'signal'>,
): Promise<Authorization | undefined> {
  if (proxy) report.addSecrets(proxySecrets(proxy));
  if (isLocal) return undefined;
  const baseUrl = url.href.slice(0, -operation.path.length);
  const source = requireCredentialSource(operation.auth, baseUrl, profile, runtime.env);
  const isExposed = url.protocol === 'http:' && !isLoopbackUrl(url);
  if (isExposed && !isPlainHttpAllowed)
    throw new Failure('safety_check', `${url.origin} is plain http: anyone on the network could read the credential`, {
      hint: 'use https, or add --allow-http if you trust the network',
      applied: 'no',
    });
  const { authorization: value, secrets } = await readCredential(source, { runtime, signal }, timeoutMs);
  report.addSecrets(secrets);
  if (isExposed) await report.warn(`the credential goes to ${url.origin} over plain http`);
  const who = source.username === undefined ? 'the token' : `user ${JSON.stringify(source.username)}`;
  return { value, description: `${who} from ${source.description}`, correction: source.correction };
}
