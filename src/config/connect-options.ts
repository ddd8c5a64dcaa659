import { safetyFailure, usageFailure } from '../errors.ts';
import type { ConnectOptions } from '../http/open-socket.ts';
import { parseProxyUrl, proxyForUrl } from '../http/proxy.ts';
import type { Operation } from '../operations/operation.ts';
import type { Runtime } from '../runtime.ts';
import type { CertificateContext, CertificateFiles, NamedFile } from './certificates.ts';
import type { Profile } from './profile-store.ts';
import { resolveSetting, type SettingSources } from './select-profile.ts';
import { parseCount, parseDurationOrZeroMs, parseServerStatuses } from './setting-kinds.ts';
import { findSetting } from './settings.ts';

/**
 * How to connect to the host of a URL: the proxy, the trusted CA certificates and the client certificate. Throws usage for
 * an invalid proxy or file, `local_file` for a file that cannot be read, and `safety_check` if NODE_TLS_REJECT_UNAUTHORIZED
 * disables verification. For plain http, only files that a flag names are read.
 */
export async function readConnectOptions(
  url: URL,
  files: CertificateFiles,
  profile: Profile,
  context: CertificateContext,
): Promise<ConnectOptions> {
  const { env } = context.runtime;
  if (files.key !== undefined && files.cert === undefined)
    throw usageFailure(
      '--key needs a certificate',
      'add --cert <file>; for a token, run: svc auth login --token-stdin, or set SVC_TOKEN',
    );
  const named = proxyForUrl(url, env);
  const proxy = named && parseProxyUrl(named.text);
  // The value is not repeated: it may hold a password.
  if (named && !proxy)
    throw usageFailure(`${named.source} is not the URL of an http or https proxy`, 'use a URL like http://proxy:3128');
  const route = { proxy, proxySource: named?.source };
  if (url.protocol !== 'https:' && proxy?.protocol !== 'https:') {
    await readTls(files, caCertificateFiles(files.cacert, {}, {}), context);
    return { ...route, tls: {} };
  }
  const { NODE_TLS_REJECT_UNAUTHORIZED: rejectUnauthorized } = env;
  if (rejectUnauthorized === '0')
    throw safetyFailure(
      'insecure_transport',
      'NODE_TLS_REJECT_UNAUTHORIZED=0 is set, so anyone on the network path could impersonate the service',
      { hint: 'unset it, and pass the CA certificate of your server with --cacert', applied: 'no' },
    );
  return { ...route, tls: await readTls(files, caCertificateFiles(files.cacert, profile, env), context) };
}

// Most requests need no certificate of their own, nor the module that parses them.
async function readTls(files: CertificateFiles, caFiles: readonly NamedFile[], context: CertificateContext) {
  if (caFiles.length === 0 && files.cert === undefined) return {};
  const { readTlsSettings } = await import('./certificates.ts');
  return readTlsSettings(files, caFiles, context);
}

/** The files of CA certificates with their sources: the environment, then flag or profile. */
export function caCertificateFiles(cacert: string | undefined, profile: Profile, env: Runtime['env']): NamedFile[] {
  const files = [
    { source: 'NODE_EXTRA_CA_CERTS', path: env.NODE_EXTRA_CA_CERTS, isTrustedByNode: true },
    cacert ? { source: '--cacert', path: cacert } : { source: 'cacert of the profile', path: profile.cacert },
  ];
  return files.flatMap(({ path, ...file }) => (path ? [{ ...file, path }] : []));
}

/** The limits of a request, and whether they are defaults, which a retry rule or an upload may stretch. Throws usage for invalid values. */
export function resolveLimits({ timeoutSeconds }: Operation, sources: SettingSources) {
  const [timeout, retries] = [resolveSetting('timeout', sources), resolveSetting('retries', sources)];
  const overload = resolveSetting('overload_statuses', sources);
  const defaultMs = timeoutSeconds === undefined ? undefined : timeoutSeconds * 1000;
  return {
    timeoutMs: timeout ? parseDurationOrZeroMs(timeout.label, timeout.text) || undefined : defaultMs,
    isTimeoutDefault: timeout === undefined,
    maxRetries: retries ? parseCount(retries.label, retries.text) : Number(findSetting('retries').default),
    areRetriesDefault: retries === undefined,
    overloadStatuses: overload ? parseServerStatuses(overload.label, overload.text) : [],
  };
}
