import { Failure, usageFailure } from '../errors.ts';
import type { Route } from '../http/open-socket.ts';
import { parseProxyUrl, proxyForUrl } from '../http/proxy.ts';
import type { TlsSettings } from '../http/tls.ts';
import type { Runtime } from '../runtime.ts';
import type { NamedFile } from './certificates.ts';
import type { Profile } from './profile.ts';

/** The files about trust that a command line names, as typed. */
export interface CertificateFiles {
  readonly cacert?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/**
 * How the host of an address is reached: the proxy, and what TLS trusts and shows. Throws usage for what is wrong with
 * the environment or a file, `local` for a file that cannot be read, and `guard` where checking certificates is
 * switched off. Nothing of TLS is read or loaded for plain http.
 */
export async function routeTo(
  url: URL,
  files: CertificateFiles,
  profile: Profile,
  { env, cwd }: Pick<Runtime, 'env' | 'cwd'>,
): Promise<Route> {
  if (files.key !== undefined && files.cert === undefined)
    throw usageFailure('--key belongs to a certificate', 'give --cert');
  const proxy = resolveProxy(url, env);
  if (url.protocol !== 'https:' && proxy?.protocol !== 'https:') {
    // Files that a flag names are checked even though plain http does not use them.
    if (files.cacert || files.cert) await readTlsSettings(files, {}, {}, cwd);
    return { proxy, tls: {} };
  }
  requireTlsVerification(env);
  return { proxy, tls: await readTlsSettings(files, profile, env, cwd) };
}

/** The files of authorities, in the order they are trusted, with what names them: the environment, then flag or profile. */
export function caCertificateFiles(cacert: string | undefined, profile: Profile, env: Runtime['env']): NamedFile[] {
  const files = [
    { source: 'NODE_EXTRA_CA_CERTS', path: env.NODE_EXTRA_CA_CERTS },
    cacert ? { source: '--cacert', path: cacert } : { source: 'cacert of the profile', path: profile.cacert },
  ];
  return files.flatMap(({ source, path }) => (path ? [{ source, path }] : []));
}

/** Throws Failure `guard` where the environment tells Node to accept every certificate. */
export function requireTlsVerification({ NODE_TLS_REJECT_UNAUTHORIZED: rejectUnauthorized }: Runtime['env']): void {
  if (rejectUnauthorized !== '0') return;
  throw new Failure('guard', 'NODE_TLS_REJECT_UNAUTHORIZED=0 is set, so anybody on the way could pose as the service', {
    hint: 'unset it; --cacert <file> trusts the authority of your server',
    applied: 'no',
  });
}

function resolveProxy(url: URL, env: Runtime['env']): URL | undefined {
  const named = proxyForUrl(url, env);
  if (!named) return undefined;
  const proxy = parseProxyUrl(named.text);
  // The value is not repeated: it may hold a password.
  if (!proxy)
    throw usageFailure(`${named.source} is no address of an http or https proxy`, 'write it like http://proxy:3128');
  return proxy;
}

async function readTlsSettings(
  { cacert, cert, key }: CertificateFiles,
  profile: Profile,
  env: Runtime['env'],
  cwd: string,
): Promise<TlsSettings> {
  const files = caCertificateFiles(cacert, profile, env);
  if (files.length === 0 && cert === undefined) return {};
  const { readCaCertificates, readClientCertificate } = await import('./certificates.ts');
  const caCertificates = await readCaCertificates(files, cwd);
  const keyFile = key === undefined ? undefined : { source: '--key', path: key };
  return {
    // Node itself trusts those of NODE_EXTRA_CA_CERTS; they are looked at because it would only warn of a bad file.
    ...(cacert || profile.cacert ? { caCertificates } : {}),
    ...(cert === undefined
      ? {}
      : { client: await readClientCertificate({ source: '--cert', path: cert }, keyFile, cwd) }),
  };
}
