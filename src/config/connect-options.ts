import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { limitInputTime } from '../body/input-reader.ts';
import { Failure, usageFailure } from '../errors.ts';
import { readInputFile } from '../files/read-input.ts';
import { type FlagValues, getStringFlag } from '../flag.ts';
import type { ConnectOptions } from '../http/open-socket.ts';
import { parseProxyUrl, proxyForUrl } from '../http/proxy.ts';
import { createDeadline } from '../http/time-limits.ts';
import type { TlsSettings } from '../http/tls.ts';
import type { Runtime } from '../runtime.ts';
import type { Profile } from './profile-store.ts';

// A file and its source, such as `--cacert`.
interface NamedFile {
  readonly source: string;
  readonly path: string;
}

interface CertificateContext {
  readonly runtime: Pick<Runtime, 'env' | 'cwd' | 'after' | 'elapsed'>;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number | undefined;
}

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
    throw usageFailure('--key needs a certificate', 'add --cert');
  const named = proxyForUrl(url, env);
  const proxy = named && parseProxyUrl(named.text);
  // The value is not repeated: it may hold a password.
  if (named && !proxy)
    throw usageFailure(`${named.source} is not the URL of an http or https proxy`, 'use a URL like http://proxy:3128');
  if (url.protocol !== 'https:' && proxy?.protocol !== 'https:') {
    await readTlsSettings(files, caCertificateFiles(files.cacert, {}, {}), context);
    return { proxy, tls: {} };
  }
  const { NODE_TLS_REJECT_UNAUTHORIZED: rejectUnauthorized } = env;
  if (rejectUnauthorized === '0')
    throw new Failure(
      'safety_check',
      'NODE_TLS_REJECT_UNAUTHORIZED=0 is set, so anyone on the network path could impersonate the service',
      { hint: 'unset it, and pass the CA certificate of your server with --cacert', applied: 'no' },
    );
  return { proxy, tls: await readTlsSettings(files, caCertificateFiles(files.cacert, profile, env), context) };
}

const EXTRA_CA_CERTS = 'NODE_EXTRA_CA_CERTS';

/** The files of CA certificates with their sources: the environment, then flag or profile. */
export function caCertificateFiles(cacert: string | undefined, profile: Profile, env: Runtime['env']): NamedFile[] {
  const files = [
    { source: EXTRA_CA_CERTS, path: env[EXTRA_CA_CERTS] },
    cacert ? { source: '--cacert', path: cacert } : { source: 'cacert of the profile', path: profile.cacert },
  ];
  return files.flatMap(({ source, path }) => (path ? [{ source, path }] : []));
}

// The client certificate and its key may be in one file.
async function readTlsSettings(
  { cert, key = cert }: CertificateFiles,
  caFiles: readonly NamedFile[],
  context: CertificateContext,
): Promise<TlsSettings> {
  const authorities = await Promise.all(caFiles.map((file) => readPemFile(file, context)));
  authorities.forEach(parseCertificates);
  // Node itself trusts NODE_EXTRA_CA_CERTS; the file is read here because Node would only warn about an invalid one.
  const isOwn = caFiles.some(({ source }) => source !== EXTRA_CA_CERTS);
  const trusted = isOwn ? { caCertificates: authorities.map(({ text }) => text) } : {};
  if (cert === undefined || key === undefined) return trusted;
  const certFile = await readPemFile({ source: '--cert', path: cert }, context);
  const keyFile = key === cert ? certFile : await readPemFile({ source: '--key', path: key }, context);
  const [certificate] = parseCertificates(certFile);
  if (!certificate?.checkPrivateKey(parsePrivateKey(keyFile)))
    throw usageFailure(
      `the key in ${keyFile.label} does not match the certificate in ${certFile.label}`,
      'pass the key of that certificate with --key',
    );
  return { ...trusted, client: { cert: certFile.text, key: keyFile.text } };
}

interface PemFile {
  readonly label: string;
  readonly text: string;
}

// For a FIFO, even if the command has more time.
const PEM_TIMEOUT_MS = 10_000;
const MAX_PEM_BYTES = 16 * 1024 * 1024;

async function readPemFile({ source, path }: NamedFile, context: CertificateContext): Promise<PemFile> {
  const { runtime, signal, timeoutMs = PEM_TIMEOUT_MS } = context;
  const label = `${path} (${source})`;
  const limitMs = Math.min(timeoutMs, PEM_TIMEOUT_MS);
  const failure = new Failure('local_file', `cannot read ${label}: no data for ${limitMs / 1000} s`, { applied: 'no' });
  const limit = limitInputTime(label, signal, runtime, createDeadline(limitMs, runtime), failure);
  const limits = { signal: limit.signal, maxBytes: MAX_PEM_BYTES };
  const bytes = await readInputFile(resolve(runtime.cwd, path), label, limits).finally(limit.cancel);
  return { label, text: bytes.toString('latin1') };
}

function parseCertificates({ label, text }: PemFile): X509Certificate[] {
  const blocks = text.match(/-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END [A-Z0-9 ]+-----/g) ?? [];
  if (blocks.length === 0) throw usageFailure(`no certificate in ${label}`, 'the file must be in PEM format');
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw usageFailure(`a certificate in ${label} is invalid`, 'the file must be in PEM format');
  }
}

function parsePrivateKey({ label, text }: PemFile): KeyObject {
  if (!/-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/.test(text))
    throw usageFailure(`no private key in ${label}`, 'pass a PEM file with --key');
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(text))
    throw usageFailure(
      `the key in ${label} needs a passphrase, and svc cannot ask for one`,
      'remove it with: openssl pkey -in KEY -out NEW_KEY && chmod 600 NEW_KEY',
    );
  try {
    return createPrivateKey(text);
  } catch {
    throw usageFailure(`the private key in ${label} is invalid`, 'the file must be in PEM format');
  }
}
