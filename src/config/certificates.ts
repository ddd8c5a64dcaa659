import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { limitInputTime } from '../body/input-reader.ts';
import { Failure, usageFailure } from '../errors.ts';
import { readInputFile } from '../files/read-input.ts';
import { createDeadline } from '../http/time-limits.ts';
import type { TlsSettings } from '../http/tls.ts';
import type { CertificateContext, NamedFile } from './connect-options.ts';

// For a FIFO, even if the command has more time.
const PEM_TIMEOUT_MS = 10_000;
const MAX_PEM_BYTES = 16 * 1024 * 1024;

/**
 * The texts of files with CA certificates, and a client certificate with its key, which may be in one file. Throws Failure
 * `local_file` if a file cannot be read, and usage if it is not PEM, or the key needs a passphrase or does not match.
 */
export async function readCertificates(
  caFiles: readonly NamedFile[],
  cert: NamedFile | undefined,
  key: NamedFile | undefined,
  context: CertificateContext,
): Promise<TlsSettings> {
  const caCertificates = await Promise.all(
    caFiles.map(async (file) => {
      const text = await readPemFile(file, context);
      parseCertificates(text, file);
      return text;
    }),
  );
  if (!cert) return { caCertificates };
  const [text, keyText] = await Promise.all([readPemFile(cert, context), key && readPemFile(key, context)]);
  const [certificate] = parseCertificates(text, cert);
  const keyFile = key ?? cert;
  if (!certificate?.checkPrivateKey(parsePrivateKey(keyText ?? text, keyFile)))
    throw usageFailure(
      `the key in ${describeFile(keyFile)} does not match the certificate in ${describeFile(cert)}`,
      'pass the key of that certificate with --key',
    );
  return { caCertificates, client: { cert: text, key: keyText ?? text } };
}

async function readPemFile(
  file: NamedFile,
  { runtime, signal, timeoutMs = PEM_TIMEOUT_MS }: CertificateContext,
): Promise<string> {
  const label = describeFile(file);
  const limitMs = Math.min(timeoutMs, PEM_TIMEOUT_MS);
  const failure = new Failure('local_file', `cannot read ${label}: no data for ${limitMs / 1000} s`, { applied: 'no' });
  const limit = limitInputTime(label, signal, runtime, createDeadline(limitMs, runtime), failure);
  const limits = { signal: limit.signal, maxBytes: MAX_PEM_BYTES };
  const bytes = await readInputFile(resolve(runtime.cwd, file.path), label, limits).finally(limit.cancel);
  return bytes.toString('latin1');
}

function parseCertificates(text: string, file: NamedFile): X509Certificate[] {
  const blocks = text.match(/-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END [A-Z0-9 ]+-----/g) ?? [];
  if (blocks.length === 0)
    throw usageFailure(`no certificate in ${describeFile(file)}`, 'the file must be in PEM format');
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw usageFailure(`a certificate in ${describeFile(file)} is invalid`, 'the file must be in PEM format');
  }
}

function parsePrivateKey(text: string, file: NamedFile): KeyObject {
  if (!/-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/.test(text))
    throw usageFailure(`no private key in ${describeFile(file)}`, 'pass a PEM file with --key');
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(text))
    throw usageFailure(
      `the key in ${describeFile(file)} needs a passphrase, and svc cannot ask for one`,
      'remove it with: openssl pkey -in KEY -out NEW_KEY && chmod 600 NEW_KEY',
    );
  try {
    return createPrivateKey(text);
  } catch {
    throw usageFailure(`the private key in ${describeFile(file)} is invalid`, 'the file must be in PEM format');
  }
}

function describeFile({ source, path }: NamedFile): string {
  return `${path} (${source})`;
}
