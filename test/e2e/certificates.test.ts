import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TlsOptions } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { authority, contents, selfSigned, withoutOpenssl, withPassphrase } from '../support/certificates.ts';
import { run } from '../support/process.ts';
import { connectProxy, demandingServer, secureServer } from '../support/secure-servers.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const reason = withoutOpenssl();

const HERE = 'DNS:localhost,IP:127.0.0.1,DNS:svc.test';
const UNKNOWN = 'the server certificate is signed by an unknown CA';
const call = ['feedback', 'schema', '--project-id', 'a/b', '--since', '1d', '--error-format', 'json'];
const credentials = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1' };

describe('certificates', () => {
  if (reason) return it.skip(reason, () => {});
  const ca = authority();
  afterAll(() => rmSync(ca.directory, { recursive: true, force: true }));
  const good = ca.sign('good', HERE);
  const own = selfSigned(ca.directory, 'own', HERE);
  const client = ca.sign('client', 'DNS:client.test');
  const stranger = selfSigned(ca.directory, 'stranger', 'DNS:stranger.test');

  // A copy of a file as programs of Windows write it.
  function marked(file: string): string {
    const path = join(ca.directory, `marked-${file.replace(/.*\//, '')}`);
    writeFileSync(path, `\ufeff${readFileSync(file, 'utf8').replaceAll('\n', '\r\n')}`);
    return path;
  }

  // Loopback never goes through a proxy, so what does has another name, which only the proxy knows.
  async function sendRequest(
    port: number,
    proxied: boolean,
    flags: readonly string[] = [],
    env: Record<string, string> = {},
  ) {
    const proxy = proxied ? await connectProxy(port) : undefined;
    const where = proxy
      ? { SVC_BASE_URL: 'https://svc.test', HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }
      : { SVC_BASE_URL: `https://localhost:${port}` };
    // In this process, unless it is Node that reads the certificates.
    const runCommand = 'NODE_EXTRA_CA_CERTS' in env || 'NODE_OPTIONS' in env ? run : svc;
    return runCommand([...call, ...flags], { env: { ...credentials, ...where, ...env }, stdin: '' });
  }

  function failure({ stderr }: { stderr: string }) {
    const lines = stderr.trim().split('\n');
    expect(lines, stderr).toHaveLength(1);
    return JSON.parse(lines[0] ?? '').error;
  }

  const ways = [
    ['directly', false],
    ['through a proxy', true],
  ] as const;

  describe.each(ways)('%s', (_, proxied) => {
    it.each<[string, () => TlsOptions, string[], string, string]>([
      [
        'expired',
        () => contents(ca.sign('old', HERE, -1)),
        ['--cacert', ca.cert],
        'the server certificate has expired',
        'check the date of this machine; if it is right, renew the certificate',
      ],
      [
        'for another host',
        () => contents(ca.sign('other', 'DNS:other.test')),
        ['--cacert', ca.cert],
        'the server certificate is for another host',
        'check SVC_BASE_URL',
      ],
      [
        'self-signed',
        () => contents(own),
        [],
        'the server certificate is self-signed',
        'to trust the CA of the server: --cacert',
      ],
      [
        'of an unknown authority',
        () => contents(good),
        [],
        UNKNOWN,
        'the server may not send its intermediate certificates',
      ],
      [
        'of an unknown authority, sent along',
        () => ({ ...contents(good), cert: contents(good).cert + contents({ ...good, cert: ca.cert }).cert }),
        [],
        UNKNOWN,
        'to trust the CA of the server: --cacert',
      ],
      [
        'of another authority than the one given',
        () => contents(good),
        ['--cacert', own.cert],
        UNKNOWN,
        'check that the file of --cacert has the root',
      ],
      [
        'of a server that speaks only HTTP/2',
        () => ({ ...contents(good), ALPNProtocols: ['h2'] }),
        ['--cacert', ca.cert],
        'the server offers no HTTP/1.1 on this port',
        'use a port or a proxy that does',
      ],
    ])(
      'a certificate that is %s is refused in one attempt, and nothing is sent',
      async (_, options, flags, why, hint) => {
        const server = await secureServer(options());
        const result = await sendRequest(server.port, proxied, flags);
        expect(failure(result)).toMatchObject({
          code: 'unreachable',
          message: expect.stringMatching(`^could not connect to https://[^ ]+: ${why}$`),
          hint: expect.stringContaining(hint),
          exit_code: 7,
          applied: 'no',
          phase: 'nothing',
          bytes_sent: 0,
          attempts: 1,
        });
        expect(server.seen).toEqual([]);
      },
    );

    it.each<[string, (home: string) => { flags?: string[]; env?: Record<string, string> }]>([
      ['--cacert', () => ({ flags: ['--cacert', ca.cert] })],
      ['NODE_EXTRA_CA_CERTS', () => ({ env: { NODE_EXTRA_CA_CERTS: ca.cert } })],
      [
        'NODE_EXTRA_CA_CERTS beside another --cacert',
        () => ({ flags: ['--cacert', own.cert], env: { NODE_EXTRA_CA_CERTS: ca.cert } }),
      ],
      [
        '--cacert beside another NODE_EXTRA_CA_CERTS',
        () => ({ flags: ['--cacert', ca.cert], env: { NODE_EXTRA_CA_CERTS: own.cert } }),
      ],
      // As Windows writes them, and as cat joins files without a last line feed.
      ['--cacert with a byte order mark', () => ({ flags: ['--cacert', marked(ca.cert)] })],
      ['NODE_EXTRA_CA_CERTS with a byte order mark', () => ({ env: { NODE_EXTRA_CA_CERTS: marked(ca.cert) } })],
      [
        '--cacert with two certificates that share a line',
        (home) => {
          const path = join(home, 'joined.pem');
          writeFileSync(path, [own.cert, ca.cert].map((file) => readFileSync(file, 'utf8').trim()).join(''));
          return { flags: ['--cacert', path] };
        },
      ],
      [
        '--cacert beside a store of the system that only OpenSSL reads',
        () => ({ flags: ['--cacert', own.cert], env: { NODE_OPTIONS: '--use-openssl-ca', SSL_CERT_FILE: ca.cert } }),
      ],
      [
        'the profile',
        (home) => {
          writeFileSync(join(home, 'config.json'), JSON.stringify({ profiles: { default: { cacert: ca.cert } } }), {
            mode: 0o600,
          });
          return { env: { SVC_CONFIG_DIR: home } };
        },
      ],
    ])('a CA of %s is trusted', async (_, setting) => {
      const server = await secureServer(contents(good));
      const { flags = [], env = {} } = setting(temporaryDirectory());
      const result = await sendRequest(server.port, proxied, flags, env);
      expect(result).toMatchObject({ code: 0, stderr: '' });
      expect(server.seen).toEqual(['POST /feedback/payload_schema']);
    });

    describe.each(['TLSv1.2', 'TLSv1.3'] as const)('a server that requires a client certificate over %s', (version) => {
      const options = () => ({
        ...contents(good),
        requestCert: true,
        ca: contents({ ...good, cert: ca.cert }).cert,
        minVersion: version,
        maxVersion: version,
      });

      it('gets the given one, with its key in a separate file or in the same', async () => {
        const server = await secureServer(options());
        const both = join(temporaryDirectory(), 'both.pem');
        const { cert, key } = contents(client);
        writeFileSync(both, cert + key);
        for (const files of [
          ['--cert', client.cert, '--key', client.key],
          ['--cert', both],
          ['--cert', marked(client.cert), '--key', marked(client.key)],
        ]) {
          const result = await sendRequest(server.port, proxied, ['--cacert', ca.cert, ...files]);
          expect(result).toMatchObject({ code: 0, stderr: '' });
        }
        expect(server.seen).toHaveLength(3);
      });

      it.each<[string, () => string[], string]>([
        [
          'none',
          () => [],
          version === 'TLSv1.3' ? 'the server requires a client certificate' : 'it may require a client certificate',
        ],
        ['one of a stranger', () => ['--cert', stranger.cert, '--key', stranger.key], 'rejected the client cert'],
      ])('refuses %s, and nothing is applied', async (_, files, why) => {
        const port = await demandingServer(good, ca.cert, version);
        const result = await sendRequest(port, proxied, ['--cacert', ca.cert, ...files()]);
        const { message, ...facts } = failure(result);
        expect(message).toContain(why);
        expect(facts).toMatchObject({ exit_code: 7, applied: 'no', phase: 'nothing', bytes_sent: 0, attempts: 1 });
      });
    });
  });

  it.each<[string, () => string[], number, RegExp]>([
    ['a --cacert that is not there', () => ['--cacert', 'none.pem'], 12, /^cannot read none\.pem \(--cacert\): /],
    [
      'a --cacert without a certificate',
      () => ['--cacert', client.key],
      2,
      /^no certificate in .*client\.key \(--cacert\)$/,
    ],
    ['a --cacert that is broken', () => ['--cacert', broken(ca.cert)], 2, /^a certificate in /],
    ['a --cert that is not there', () => ['--cert', 'none.pem'], 12, /^cannot read none\.pem \(--cert\)/],
    ['a --cert without a key', () => ['--cert', client.cert], 2, /^no private key in .*client\.pem \(--cert\)$/],
    ['a --key without a certificate', () => ['--key', client.key], 2, /^--key needs a certificate$/],
    ['a --key of another', () => ['--cert', client.cert, '--key', good.key], 2, /^the key in .*good\.key \(--key\) /],
    [
      'a --key with a passphrase',
      () => ['--cert', client.cert, '--key', withPassphrase(client)],
      2,
      /needs a passphrase/,
    ],
    ['a --key that is broken', () => ['--cert', client.cert, '--key', broken(client.key)], 2, /^the private key in /],
  ])('%s is reported before anything is sent', async (_, flags, code, message) => {
    const server = await secureServer(contents(good));
    const result = await sendRequest(server.port, false, flags());
    expect({ code: result.code, applied: failure(result).applied }).toEqual({ code, applied: 'no' });
    expect(failure(result).message).toMatch(message);
    expect(server.seen).toEqual([]);
  });

  it.each<[string, () => string, number]>([
    ['missing', () => '/no/such/file.pem', 12],
    ['broken', () => broken(ca.cert), 2],
    ['something else', () => good.key, 2],
  ])('a NODE_EXTRA_CA_CERTS that is %s is reported, not ignored', async (_, path, code) => {
    const file = path();
    const server = await secureServer(contents(good));
    const result = await sendRequest(server.port, false, ['--cacert', ca.cert], { NODE_EXTRA_CA_CERTS: file });
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(`${file} (NODE_EXTRA_CA_CERTS)`);
    expect(server.seen).toEqual([]);
  });

  it('NODE_TLS_REJECT_UNAUTHORIZED=0 is refused for https, and does not matter elsewhere', async () => {
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const server = await secureServer(contents(own));
    const refused = await sendRequest(server.port, false, [], env);
    expect(failure(refused)).toMatchObject({
      code: 'safety_check',
      exit_code: 13,
      applied: 'no',
      hint: expect.stringContaining('--cacert'),
    });
    expect(server.seen).toEqual([]);
    expect(await run([...call, '--local'], { env, stdin: '' })).toMatchObject({ code: 0, stderr: '' });
    const plain = await run([...call], {
      env: { ...env, ...credentials, SVC_BASE_URL: 'http://127.0.0.1:9' },
      stdin: '',
    });
    expect(plain.code).toBe(7);
  });

  it('--curl names the files as curl does', async () => {
    const flags = ['--cacert', 'a b.pem', '--cert', 'c.pem', '--key', 'k.pem', '--curl'];
    const { stdout } = await sendRequest(1, false, flags);
    expect(stdout).toContain(`--cacert 'a b.pem' \\\n  --cert 'c.pem' \\\n  --key 'k.pem' \\\n`);
  });

  it('a proxy may use TLS, with the same trusted CA certificates', async () => {
    const target = await secureServer(contents(good));
    const between = await connectProxy(target.port, contents(good));
    const proxy = `https://localhost:${between.port}`;
    const flags = ['--base-url', 'https://svc.test'];
    const trusted = await sendRequest(0, false, [...flags, '--cacert', ca.cert], { HTTPS_PROXY: proxy });
    expect(trusted).toMatchObject({ code: 0, stderr: '' });
    expect(target.seen).toEqual(['POST /feedback/payload_schema']);
    const unknown = await sendRequest(0, false, flags, { HTTPS_PROXY: proxy });
    expect(failure(unknown)).toMatchObject({
      message: expect.stringContaining(`: the proxy ${proxy.slice(8)} failed: ${UNKNOWN}`),
      attempts: 1,
    });
  });
});

// The same file with its middle corrupted.
function broken(path: string): string {
  const lines = readFileSync(path, 'utf8').split('\n');
  const spoilt = join(temporaryDirectory(), 'broken.pem');
  writeFileSync(spoilt, [...lines.slice(0, 1), 'AAAA', ...lines.slice(2)].join('\n'));
  return spoilt;
}
