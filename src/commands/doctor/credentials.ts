import { isLoopback } from '../../http/proxies.ts';
import type { Scheme } from '../../profiles/credential.ts';
import { type CredentialSource, sourceOf } from '../../profiles/credential-source.ts';
import type { Chosen } from '../../profiles/resolve.ts';
import type { Runtime } from '../../runtime.ts';
import type { Address } from './addresses.ts';
import type { Setting } from './examination.ts';
import { type Finding, found } from './finding.ts';

/** Where a credential comes from and where it would go, without it being read, so no command is run for it. */
export async function credentialSetting(
  scheme: Scheme,
  chosen: Chosen,
  addresses: readonly Address[],
  env: Runtime['env'],
  findings: Finding[],
): Promise<Setting> {
  const source = await found(() => sourceOf(scheme, chosen, env), findings);
  if (!source) return { name: scheme, value: null, source: 'not set' };
  const own = originsFor(scheme, addresses);
  const sent = own.filter((origin) => mayGo(source, origin));
  for (const origin of own.filter((one) => !mayGo(source, one)))
    findings.push({
      message: `the ${scheme} credential of ${source.from} belongs to ${source.origins?.join(', ') || 'no address'} and is not sent to ${origin}`,
      hint: 'svc auth login stores one for this address',
    });
  for (const origin of sent.filter(isOpen))
    findings.push({
      message: `${origin} is plain http, where anybody on the way can read the ${scheme} credential`,
      hint: 'use https',
      code: 'guard',
    });
  const whose = source.username === undefined ? 'a token' : `user ${source.username}`;
  return {
    name: scheme,
    value: `${whose}, sent to ${sent.join(', ') || 'no address that is set'}`,
    source: source.from,
  };
}

/** The finding of credentials none of which may go to any of the addresses. */
export async function missingCredentials(
  chosen: Chosen,
  addresses: readonly Address[],
  env: Runtime['env'],
): Promise<Finding[]> {
  const schemes: readonly Scheme[] = ['basic', 'bearer'];
  const isUsable = await Promise.all(
    schemes.map(async (scheme) => {
      const source = await found(() => sourceOf(scheme, chosen, env), []);
      return source !== undefined && originsFor(scheme, addresses).some((origin) => mayGo(source, origin));
    }),
  );
  if (addresses.length === 0 || isUsable.includes(true)) return [];
  return [{ message: 'there are no credentials for any address', hint: 'svc auth login', code: 'credentials' }];
}

function originsFor(scheme: Scheme, addresses: readonly Address[]): string[] {
  const own = addresses.filter(({ host }) => (host === 'trace') === (scheme === 'basic'));
  return [...new Set(own.map(({ url }) => url.origin))];
}

function mayGo({ origins }: CredentialSource, origin: string): boolean {
  return origins === undefined || origins.includes(origin);
}

function isOpen(origin: string): boolean {
  const url = new URL(origin);
  return url.protocol === 'http:' && !isLoopback(url);
}
