import { setFlagsFromString } from 'node:v8';
import type { CredentialSource, Secret } from '../config/credentials/credential.ts';
import { findCredentialSource, readCredential, requireCredentialSource } from '../config/credentials/credential.ts';
import { type Destination, missingBaseUrl } from '../config/destination.ts';
import { dataDirectory } from '../config/environment.ts';
import { authScheme } from '../config/select-profile.ts';
import type { Context } from '../context.ts';
import { Failure, safetyFailure } from '../errors.ts';
import type { Middleware } from '../http/message.ts';
import { isLoopbackUrl, proxySecrets } from '../http/proxy.ts';
import type { Transport } from '../http/transport.ts';
import { headerSecrets, isSecretResponseHeader, redactHeaders } from '../output/redaction.ts';
import type { Runtime } from '../runtime.ts';
import type { Settings } from './resolve-settings.ts';

export interface Connection {
  readonly destination: Destination;
  readonly authorization: Authorization | undefined;
  readonly transport: Transport;
  readonly timeoutMs: number | undefined;
  readonly maxRetries: number;
  readonly overloadStatuses: readonly number[];
}

/** Reads the credential, unless it is given, and opens a transport, which the caller closes; `isReused` for many exchanges. */
export async function connect(settings: Settings, context: Context, authorization?: Authorization, isReused = false) {
  const { report } = context;
  const { destination, profile, timeoutMs, maxRetries, overloadStatuses } = settings;
  if (!destination) throw missingBaseUrl(context.runtime, profile);
  report.addSecrets(headerSecrets(settings.headers));
  const authorized = authorization ?? (await readAuthorization(settings, context));
  const opened = await openTransport(destination, context, isReused);
  const transport = report.isVerbose ? { ...opened, send: withVerboseLog(report.detail)(opened.send) } : opened;
  return { destination, authorization: authorized, transport, timeoutMs, maxRetries, overloadStatuses };
}

/** Writes each request and response line by line, as `curl -v` does, with secret headers redacted. */
function withVerboseLog(writeLine: (line: string) => Promise<void>): Middleware {
  return (next) => async (request) => {
    const url = new URL(request.url);
    await writeLine(`> ${request.method} ${url.pathname}${url.search}`);
    for (const line of redactHeaders([['Host', url.host], ...request.headers])) await writeLine(`> ${line}`);
    const { length } = request.body;
    await writeLine(length === undefined ? '> (body of unknown length)' : `> (body of ${length} bytes)`);
    const response = await next(request);
    await writeLine(`< ${response.status} ${response.statusText}`.trimEnd());
    for (const line of redactHeaders(response.headers, isSecretResponseHeader)) await writeLine(`< ${line}`);
    return response;
  };
}

async function openTransport(destination: Destination, context: Context, isReused: boolean): Promise<Transport> {
  const { runtime, report } = context;
  if (destination.isLocal) {
    const { databaseFileIn, openInProcessService } = await import('../local-service/open-local-service.ts');
    return openInProcessService(databaseFileIn(dataDirectory(runtime)), runtime, report.warn);
  }
  if (runtime.send) return { send: runtime.send, close: async () => {} };
  // The HTTP parser is WebAssembly. To optimize it takes 30 MiB and, on Node 20, half of the time of a process with a single
  // exchange, which waits for it at its end.
  if (!isReused && runtime.node.startsWith('20.')) setFlagsFromString('--liftoff-only');
  const { openHttpTransport } = await import('../http/transport.ts');
  return openHttpTransport(destination, isReused ? runtime : undefined);
}

export interface Authorization {
  readonly value: Secret;
  /** The texts that nothing may show. */
  readonly secrets: readonly string[];
  /** Its source, for messages: `user "api" from profile "work"`. */
  readonly description: string;
  /** The description names a profile. */
  readonly isStored?: boolean;
  /** The next step after the service rejected it; default: to store another one. */
  readonly correction?: string | undefined;
  /** Its start: quotes around the secret, which env files can keep; else empty. */
  readonly quotes?: string;
}

/** Reads the credential for the destination, or `given`, redacted from now on. Throws `safety_check` before it goes over plain http. */
export async function readAuthorization(
  { operation, profile, destination, timeoutMs }: Settings,
  { runtime, report, signal }: Pick<Context, 'runtime' | 'report' | 'signal'>,
  given?: CredentialSource,
): Promise<Authorization | undefined> {
  if (!destination || destination.isLocal) return undefined;
  const { url, proxy, isPlainHttpAllowed } = destination;
  if (proxy) report.addSecrets(proxySecrets(proxy));
  const baseUrl = url.href.slice(0, -operation.path.length);
  const scheme = authScheme(operation.host, profile.profile);
  const source = given ?? requireCredentialSource(scheme, baseUrl, profile, runtime);
  if (!source) return undefined;
  const isExposed = url.protocol === 'http:' && !isLoopbackUrl(url);
  const message = `${url.origin} is plain http: anyone on the network could read the credential`;
  const hint = 'use https, or add --allow-http if you trust the network';
  if (isExposed && !isPlainHttpAllowed) throw safetyFailure('insecure_transport', message, { hint, applied: 'no' });
  const { authorization: value, secrets, quotes } = await readCredential(source, { runtime, signal }, timeoutMs);
  report.addSecrets(secrets);
  if (isExposed) await report.warn(`the credential goes to ${url.origin} over plain http`);
  const { username, correction, origins } = source;
  const who = username === undefined ? 'the token' : `user ${JSON.stringify(username)}`;
  const description = `${who} from ${source.description}`;
  return { value, secrets, description, isStored: origins !== undefined, correction, quotes };
}

/** Whether a request could be authorized, if it needs a credential; without a destination, any is `set`. Reads no secret. */
export function credentialState({ operation, destination, profile }: Settings, runtime: Runtime) {
  if (destination?.isLocal) return 'unneeded';
  const auth = authScheme(operation.host, profile.profile);
  try {
    if (!destination) return findCredentialSource(auth, profile, runtime) ? 'set' : 'missing';
    return requireCredentialSource(auth, destination.url.origin, profile, runtime) ? 'set' : 'unneeded';
  } catch (error) {
    if (error instanceof Failure) return 'missing';
    throw error;
  }
}
