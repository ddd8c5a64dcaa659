import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate and its key, as files. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Why certificates cannot be created here; undefined if they can. */
export function withoutOpenssl(): string | undefined {
  try {
    execFileSync('openssl', ['version'], { stdio: 'pipe' });
    return undefined;
  } catch {
    return 'there is no openssl to make certificates with';
  }
}

/** A CA of its own in a new directory, and the certificates it signs. */
export interface Authority {
  readonly directory: string;
  readonly cert: string;
  /** A certificate for names like `DNS:svc.test` or `IP:127.0.0.1`, valid for `days` days from now. */
  readonly sign: (name: string, subjects: string, days?: number) => Pair;
}

/** Creates a CA that no client knows. */
export function authority(): Authority {
  const directory = mkdtempSync(join(tmpdir(), 'svc-certificates-'));
  const ca = selfSigned(directory, 'authority', 'DNS:authority.test');
  const sign = (name: string, subjects: string, days = 30): Pair => {
    const { cert, key } = pairOf(directory, name);
    const [request, extensions] = [join(directory, `${name}.csr`), join(directory, `${name}.ext`)];
    writeFileSync(extensions, `subjectAltName=${subjects}\n`);
    openssl(['req', '-new', ...newKey(key), '-subj', `/CN=${name}`, '-out', request]);
    const by = ['-CA', ca.cert, '-CAkey', ca.key, '-CAcreateserial'];
    openssl(['x509', '-req', '-in', request, ...by, '-days', String(days), '-extfile', extensions, '-out', cert]);
    return { cert, key };
  };
  return { directory, cert: ca.cert, sign };
}

/** A self-signed certificate for names. */
export function selfSigned(directory: string, name: string, subjects: string): Pair {
  const { cert, key } = pairOf(directory, name);
  const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${subjects}`];
  openssl(['req', '-x509', ...newKey(key), ...names, '-days', '30', '-out', cert]);
  return { cert, key };
}

/** The same key behind a passphrase, and the file with it. */
export function withPassphrase({ key }: Pair): string {
  openssl(['pkcs8', '-topk8', '-in', key, '-out', `${key}.locked`, '-passout', 'pass:secret']);
  return `${key}.locked`;
}

/** The contents of both files, as servers want them. */
export function contents({ cert, key }: Pair): { cert: string; key: string } {
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}

function pairOf(directory: string, name: string): Pair {
  return { cert: join(directory, `${name}.pem`), key: join(directory, `${name}.key`) };
}

function newKey(file: string): string[] {
  return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', file];
}

function openssl(args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' });
}
