import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure, usage } from '../errors.ts';
import { fileReason } from '../files/reason.ts';
import type { Tls } from '../http/tls.ts';

/** A file and what named it, such as `--cacert`. */
export interface NamedFile {
  readonly source: string;
  readonly path: string;
}

/** The texts of files with authorities. Throws Failure `local` where one cannot be read, and usage where it holds no certificates. */
export async function readAuthorities(files: readonly NamedFile[], cwd: string): Promise<string[]> {
  return Promise.all(
    files.map(async (file) => {
      const text = await readText(file, cwd);
      certificatesIn(text, file);
      return text;
    }),
  );
}

/**
 * A client certificate and its key, which may stand in the same file. Throws Failure `local` where a file cannot be
 * read, and usage where it is not PEM, the key needs a passphrase, or the two do not belong together.
 */
export async function readClient(
  cert: NamedFile,
  key: NamedFile | undefined,
  cwd: string,
): Promise<NonNullable<Tls['client']>> {
  const [text, keyText] = await Promise.all([readText(cert, cwd), key && readText(key, cwd)]);
  const [own] = certificatesIn(text, cert);
  const keyFile = key ?? cert;
  if (!own?.checkPrivateKey(privateKeyIn(keyText ?? text, keyFile)))
    throw usage(`the key in ${named(keyFile)} does not belong to the certificate in ${named(cert)}`);
  return { cert: text, key: keyText ?? text };
}

async function readText(file: NamedFile, cwd: string): Promise<string> {
  try {
    return await readFile(resolve(cwd, file.path), 'latin1');
  } catch (error) {
    throw new Failure('local', `cannot read ${named(file)}: ${fileReason(error)}`, { applied: 'no' });
  }
}

function certificatesIn(text: string, file: NamedFile): X509Certificate[] {
  const blocks = text.match(/-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END [A-Z0-9 ]+-----/g) ?? [];
  if (blocks.length === 0) throw usage(`there is no certificate in ${named(file)}`, 'it has to be in PEM form');
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw usage(`a certificate in ${named(file)} is broken`, 'it has to be in PEM form');
  }
}

function privateKeyIn(text: string, file: NamedFile): KeyObject {
  if (!/-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/.test(text))
    throw usage(`there is no private key in ${named(file)}`, 'name a PEM file with --key');
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(text))
    throw usage(
      `the key in ${named(file)} needs a passphrase, and svc cannot ask for one`,
      'openssl pkey -in <file> -out <new file> makes one without; keep it for your eyes only',
    );
  try {
    return createPrivateKey(text);
  } catch {
    throw usage(`the private key in ${named(file)} is broken`, 'it has to be in PEM form');
  }
}

function named({ source, path }: NamedFile): string {
  return `${path} (${source})`;
}
