import { Failure, usageFailure } from '../errors.ts';
import { type FlagValues, getStringFlag } from '../flag.ts';
import type { ConnectOptions } from '../http/open-socket.ts';
import { parseProxyUrl, proxyForUrl } from '../http/proxy.ts';
import type { TlsSettings } from '../http/tls.ts';
import type { Runtime } from '../runtime.ts';
import type { Profile } from './profile.ts';

/** A file and its source, such as `--cacert`. */
export interface NamedFile {
  readonly source: string;
  readonly path: string;
}

export interface CertificateContext {
  readonly runtime: Pick<Runtime, 'env' | 'cwd' | 'after' | 'elapsed'>;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number | undefined;
}

/** The certificate files that a command line names, as typed. */
export type CertificateFiles = { readonly [flag in 'cacert' | 'cert' | 'key']?: string | undefined };

export function readCertificateFlags(flags: FlagValues): CertificateFiles {
  return {
    cacert: getStringFlag(flags, 'cacert'),
    cert: getStringFlag(flags, 'cert'),
    key: getStringFlag(flags, 'key'),
  };
}

/**
 * How to connect to the host of a URL: the proxy, the trusted CA certificates and the client certificate. Throws usage for
 * an invalid proxy or file, `local_file` for a file that cannot be read, and `safety_check` if NODE_TLS_REJECT_UNAUTHORIZED
 * disables verification. Nothing of TLS is read or loaded for plain http.
 */
export async function readConnectOptions(
  url: URL,
  files: CertificateFiles,
  profile: Profile,
  context: CertificateContext,
): Promise<ConnectOptions> {
  const { env } = context.runtime;
  if (files.key !== undefined && files.cert === undefined)
    throw usageFailure('--key needs a certificate', 'add --cert');
  const named = proxyForUrl(url, env);
  const proxy = named && parseProxyUrl(named.text);
  // The value is not repeated: it may hold a password.
  if (named && !proxy)
    throw usageFailure(`${named.source} is not the URL of an http or https proxy`, 'use a URL like http://proxy:3128');
  if (url.protocol !== 'https:' && proxy?.protocol !== 'https:') {
    // Files that a flag names are checked even though plain http does not use them.
    if (files.cacert || files.cert) await readTlsSettings(files, {}, {}, context);
    return { proxy, tls: {} };
  }
  const { NODE_TLS_REJECT_UNAUTHORIZED: rejectUnauthorized } = env;
  if (rejectUnauthorized === '0')
    throw new Failure(
      'safety_check',
      'NODE_TLS_REJECT_UNAUTHORIZED=0 is set, so anyone on the network path could impersonate the service',
      { hint: 'unset it, and pass the CA certificate of your server with --cacert', applied: 'no' },
    );
  return { proxy, tls: await readTlsSettings(files, profile, env, context) };
}

/** The files of CA certificates with their sources: the environment, then flag or profile. */
export function caCertificateFiles(cacert: string | undefined, profile: Profile, env: Runtime['env']): NamedFile[] {
  const files = [
    { source: 'NODE_EXTRA_CA_CERTS', path: env.NODE_EXTRA_CA_CERTS },
    cacert ? { source: '--cacert', path: cacert } : { source: 'cacert of the profile', path: profile.cacert },
  ];
  return files.flatMap(({ source, path }) => (path ? [{ source, path }] : []));
}

async function readTlsSettings(
  { cacert, cert, key }: CertificateFiles,
  profile: Profile,
  env: Runtime['env'],
  context: CertificateContext,
): Promise<TlsSettings> {
  const files = caCertificateFiles(cacert, profile, env);
  if (files.length === 0 && cert === undefined) return {};
  const { readCertificates } = await import('./certificates.ts');
  const certFile = cert === undefined ? undefined : { source: '--cert', path: cert };
  const keyFile = key === undefined ? undefined : { source: '--key', path: key };
  const { caCertificates, ...client } = await readCertificates(files, certFile, keyFile, context);
  // Node itself trusts NODE_EXTRA_CA_CERTS; the file is read here because Node would only warn about an invalid one.
  return caCertificates && (cacert || profile.cacert) ? { caCertificates, ...client } : client;
}
