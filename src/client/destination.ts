import { joinUrl } from '../config/base-url.ts';
import { requireCredentialSource } from '../config/credentials/credential-source.ts';
import type { Secret } from '../config/credentials/secret.ts';
import { type ConnectionFlags, resolveBaseUrl, type SelectedProfile } from '../config/select-profile.ts';
import { Failure, usageFailure } from '../errors.ts';
import type { Headers } from '../http/message.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import type { Operation } from '../operations/operation.ts';
import type { Runtime } from '../runtime.ts';

/** Where a request goes. */
export interface Destination {
  /** Absolute; undefined where no base address is known, which only a dry run may ignore. */
  readonly url: URL | undefined;
  /** Headers of the profile, if they belong to this origin. */
  readonly profileHeaders: Headers;
  /** The embedded service answers. */
  readonly isLocal: boolean;
}

/** As whom a request goes. */
export interface Authorization {
  readonly value: Secret;
  readonly secrets: readonly string[];
}

// The embedded service has no address; this one is never connected to.
const LOCAL_ORIGIN = 'http://localhost';

/** Where an operation's request goes, by flags, environment and profile. Throws usage for addresses that are none. */
export function resolveDestination(
  { host, path }: Operation,
  connection: ConnectionFlags,
  selected: SelectedProfile,
  env: Runtime['env'],
): Destination {
  if (selected.isLocal) {
    if (connection.baseUrl || connection.hostUrl)
      throw usageFailure('--local and a base address name two services', 'give one of them');
    return { url: new URL(LOCAL_ORIGIN + path), profileHeaders: [], isLocal: true };
  }
  const base = resolveBaseUrl(host, connection, env, selected.profile);
  if (!base) return { url: undefined, profileHeaders: [], isLocal: false };
  const { headers = {}, header_origins: origins = [] } = selected.profile;
  return {
    url: new URL(joinUrl(base, path)),
    profileHeaders: origins.includes(base.origin) ? Object.entries(headers) : [],
    isLocal: false,
  };
}

/** The failure of having nowhere to send to. */
export function missingBaseUrl(): Failure {
  return usageFailure(
    'there is no base address',
    'svc auth login --base-url <url> stores one; --local uses the embedded service',
  );
}

/**
 * The credential for a destination. Throws Failure `credentials` where there is none, and `guard` where it would leave
 * the machine over plain http, unless that is allowed; before that nothing is run to get it.
 */
export async function resolveAuthorization(
  url: URL,
  operation: Operation,
  selected: SelectedProfile,
  allowHttp: boolean,
  runtime: Runtime,
  signal: AbortSignal,
  limitMs?: number,
): Promise<Authorization> {
  const source = requireCredentialSource(operation.auth, url.origin, selected, runtime.env);
  if (url.protocol === 'http:' && !isLoopbackUrl(url) && !allowHttp) {
    throw new Failure('guard', `${url.origin} is plain http, where anybody on the way can read the credential`, {
      hint: 'use https, or --allow-http if the network is yours',
      applied: 'no',
    });
  }
  const { authorization, secrets } = await source.read(runtime, signal, limitMs);
  return { value: authorization, secrets };
}
