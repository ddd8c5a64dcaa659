import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { limitInputTime } from '../body/input-reader.ts';
import { Failure, usageFailure } from '../errors.ts';
import { readInputFile } from '../files/read-input.ts';
import { createDeadline } from '../http/time-limits.ts';
import type { TlsSettings } from '../http/tls.ts';
import type { Runtime } from '../runtime.ts';
import type { ServiceOptions } from './settings.ts';

/** A file and its source, such as `--cacert`. */
export interface NamedFile {
  readonly source: string;
  readonly path: string;
  readonly isTrustedByNode?: boolean;
}

export interface CertificateContext {
  readonly runtime: Pick<Runtime, 'env' | 'cwd' | 'after' | 'elapsed'>;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number | undefined;
}

/** The files of `--cacert`, `--cert` and `--key`. */
export type CertificateFiles = Pick<ServiceOptions, 'cacert' | 'cert' | 'key'>;

/** The client certificate and its key may be in one file. Throws `local_file` for a file that cannot be read, and usage for its content. */
export async function readTlsSettings(
  { cert, key = cert }: CertificateFiles,
  caFiles: readonly NamedFile[],
  context: CertificateContext,
): Promise<TlsSettings> {
  const authorities = await Promise.all(caFiles.map((file) => readPemFile(file, context)));
  const caCertificates = authorities.flatMap(parseCertificates).map(String);
  // Node itself trusts NODE_EXTRA_CA_CERTS; the file is read here because Node would only warn about an invalid one, and skips a
  // certificate that does not start a line, such as one behind a byte order mark.
  const isOwn =
    caFiles.some(({ isTrustedByNode }) => !isTrustedByNode) ||
    authorities.some(({ text }) => /.-----BEGIN /.test(text));
  const trusted = isOwn ? { caCertificates } : {};
  if (cert === undefined || key === undefined) return trusted;
  const certFile = await readPemFile({ source: '--cert', path: cert }, context);
  const keyFile = key === cert ? certFile : await readPemFile({ source: '--key', path: key }, context);
  const certificates = parseCertificates(certFile);
  const privateKey = parsePrivateKey(keyFile);
  if (!certificates[0]?.checkPrivateKey(privateKey))
    throw usageFailure(
      `the key in ${keyFile.label} does not match the certificate in ${certFile.label}`,
      'pass the key of that certificate with --key',
    );
  const keyText = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { ...trusted, client: { cert: certificates.join(''), key: keyText } };
}

interface PemFile {
  readonly label: string;
  readonly text: string;
}

// For a FIFO, even if the command has more time.
const PEM_TIMEOUT_MS = 10_000;
const MAX_PEM_BYTES = 16 * 1024 * 1024;
const PEM_HINT = 'the file must be in PEM format';

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
  const isKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text);
  const hint = isKey ? 'it is a private key; name the file of the certificate' : PEM_HINT;
  if (blocks.length === 0) throw usageFailure(`no certificate in ${label}`, hint);
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw usageFailure(`a certificate in ${label} is invalid`, PEM_HINT);
  }
}

function parsePrivateKey({ label, text }: PemFile): KeyObject {
  const start = text.search(/-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/);
  if (start === -1) throw usageFailure(`no private key in ${label}`, 'pass a PEM file with --key');
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(text))
    throw usageFailure(
      `the key in ${label} needs a passphrase, and svc cannot ask for one`,
      'remove it with: openssl pkey -in KEY -out NEW_KEY && chmod 600 NEW_KEY',
    );
  try {
    return createPrivateKey(text.slice(start));
  } catch {
    throw usageFailure(`the private key in ${label} is invalid`, PEM_HINT);
  }
}
