import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure, usageFailure } from '../errors.ts';
import { describeFileError } from '../files/file-errors.ts';
import type { TlsSettings } from '../http/tls.ts';

/** A file and what named it, such as `--cacert`. */
export interface NamedFile {
  readonly source: string;
  readonly path: string;
}

/** The texts of files with authorities. Throws Failure `local` where one cannot be read, and usage where it holds no certificates. */
export async function readCaCertificates(files: readonly NamedFile[], cwd: string): Promise<string[]> {
  return Promise.all(
    files.map(async (file) => {
      const text = await readPemFile(file, cwd);
      parseCertificates(text, file);
      return text;
    }),
  );
}

/**
 * A client certificate and its key, which may stand in the same file. Throws Failure `local` where a file cannot be
 * read, and usage where it is not PEM, the key needs a passphrase, or the two do not belong together.
 */
export async function readClientCertificate(
  cert: NamedFile,
  key: NamedFile | undefined,
  cwd: string,
): Promise<NonNullable<TlsSettings['client']>> {
  const [text, keyText] = await Promise.all([readPemFile(cert, cwd), key && readPemFile(key, cwd)]);
  const [certificate] = parseCertificates(text, cert);
  const keyFile = key ?? cert;
  if (!certificate?.checkPrivateKey(parsePrivateKey(keyText ?? text, keyFile)))
    throw usageFailure(
      `the key in ${describeFile(keyFile)} does not belong to the certificate in ${describeFile(cert)}`,
    );
  return { cert: text, key: keyText ?? text };
}

async function readPemFile(file: NamedFile, cwd: string): Promise<string> {
  try {
    return await readFile(resolve(cwd, file.path), 'latin1');
  } catch (error) {
    throw new Failure('local', `cannot read ${describeFile(file)}: ${describeFileError(error)}`, { applied: 'no' });
  }
}

function parseCertificates(text: string, file: NamedFile): X509Certificate[] {
  const blocks = text.match(/-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END [A-Z0-9 ]+-----/g) ?? [];
  if (blocks.length === 0)
    throw usageFailure(`there is no certificate in ${describeFile(file)}`, 'it has to be in PEM form');
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw usageFailure(`a certificate in ${describeFile(file)} is broken`, 'it has to be in PEM form');
  }
}

function parsePrivateKey(text: string, file: NamedFile): KeyObject {
  if (!/-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/.test(text))
    throw usageFailure(`there is no private key in ${describeFile(file)}`, 'name a PEM file with --key');
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(text))
    throw usageFailure(
      `the key in ${describeFile(file)} needs a passphrase, and svc cannot ask for one`,
      'openssl pkey -in <file> -out <new file> makes one without; keep it for your eyes only',
    );
  try {
    return createPrivateKey(text);
  } catch {
    throw usageFailure(`the private key in ${describeFile(file)} is broken`, 'it has to be in PEM form');
  }
}

function describeFile({ source, path }: NamedFile): string {
  return `${path} (${source})`;
}
