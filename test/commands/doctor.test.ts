import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { settings } from '../../src/config/settings.ts';
import { authority, contents, withoutOpenssl } from '../support/certificates.ts';
import { after } from '../support/clock.ts';
import { closedPort } from '../support/faults.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { connectProxy, listening, secureServer } from '../support/secure-servers.ts';
import { credentials, type Setting, svc, temporaryDirectory } from '../support/svc.ts';

type Env = Readonly<Record<string, string>>;

/** A home with a profile store, whose directory and file have these modes. */
function home(store?: unknown, modes: { directory?: number; file?: number } = {}): string {
  const cwd = temporaryDirectory();
  if (store === undefined) return cwd;
  const config = join(cwd, 'config');
  mkdirSync(config);
  writeFileSync(join(config, 'config.json'), typeof store === 'string' ? store : JSON.stringify(store));
  chmodSync(join(config, 'config.json'), modes.file ?? 0o600);
  chmodSync(config, modes.directory ?? 0o700);
  return cwd;
}

async function doctor(flags: readonly string[], env: Env = {}, cwd = home(), more: Setting = {}) {
  const directories = { SVC_CONFIG_DIR: join(cwd, 'config'), SVC_DATA_DIR: join(cwd, 'data') };
  const { code, stdout, stderr } = await svc(['doctor', '--json', ...flags], {
    cwd,
    env: { ...directories, ...env },
    ...more,
  });
  const report = JSON.parse(stdout);
  const setting = (name: string) => report.settings.find((row: { name: string }) => row.name === name);
  return {
    code,
    stderr,
    report,
    setting,
    warnings: report.warnings.map(({ message }: { message: string }) => message),
  };
}

describe('svc doctor', () => {
  it.each<[string, string[], Env, unknown, Record<string, [string | null, string]>]>([
    [
      'nothing',
      ['--all'],
      {},
      undefined,
      {
        profile: ['default', 'default'],
        trace_base_url: [null, 'not set'],
        basic: [null, 'not set'],
        timeout: ['2m for feedback and calls, none for chat and train', 'default'],
        retries: ['3', 'default'],
        https_proxy: [null, 'not set'],
        node: [process.versions.node, 'this process'],
      },
    ],
    [
      'a profile',
      [],
      {},
      {
        current: 'work',
        profiles: {
          work: {
            base_url: 'http://127.0.0.1:9/x',
            chat_base_url: 'http://127.0.0.1:9/chat',
            token: 'tok-en-1',
            bearer_origins: ['http://127.0.0.1:9'],
            headers: { 'X-Key': 'secret-header' },
            header_origins: ['http://127.0.0.1:9'],
            timeout: '90s',
            project_id: 'a/b',
            cacert: '/tmp/ca.pem',
          },
        },
      },
      {
        profile: ['work', 'first login or svc profile use'],
        trace_base_url: ['http://127.0.0.1:9/x', 'base_url of profile "work"'],
        chat_base_url: ['http://127.0.0.1:9/chat', 'chat_base_url of profile "work"'],
        bearer: ['a token, sent to http://127.0.0.1:9', 'profile "work"'],
        headers: ['X-Key', 'profile "work"'],
        timeout: ['90s', 'profile "work"'],
        project_id: ['a/b', 'profile "work"'],
        cacert: ['/tmp/ca.pem', 'profile "work"'],
      },
    ],
    [
      'the environment over the profile',
      [],
      {
        ...credentials,
        SVC_PROFILE: 'work',
        SVC_BASE_URL: 'http://127.0.0.1:9',
        SVC_RETRIES: '0',
        SVC_MODEL: 'm',
        https_proxy: 'user:pr0xy-pass@proxy.test:3128',
        NO_PROXY: 'a.test',
      },
      { profiles: { work: { base_url: 'https://a.test', model: 'other' } } },
      {
        profile: ['work', 'SVC_PROFILE'],
        trace_base_url: ['http://127.0.0.1:9/', 'SVC_BASE_URL'],
        basic: ['user api, sent to http://127.0.0.1:9', 'SVC_USERNAME and SVC_PASSWORD'],
        bearer: ['a token, sent to http://127.0.0.1:9', 'SVC_TOKEN'],
        model: ['m', 'SVC_MODEL'],
        retries: ['0', 'SVC_RETRIES'],
        https_proxy: ['http://[redacted]@proxy.test:3128', 'https_proxy'],
        no_proxy: ['a.test', 'NO_PROXY'],
      },
    ],
    [
      'flags over both',
      ['--profile', 'work', '--base-url', 'http://127.0.0.1:9/flag', '--cacert', 'own.pem'],
      { SVC_PROFILE: 'other', SVC_CHAT_BASE_URL: 'https://a.test' },
      { profiles: { work: { cacert: '/tmp/ca.pem' } } },
      {
        profile: ['work', '--profile'],
        chat_base_url: ['http://127.0.0.1:9/flag', '--base-url'],
        cacert: ['own.pem', '--cacert'],
      },
    ],
  ])('names the source of each setting: %s', async (_, flags, env, store, wanted) => {
    const { setting } = await doctor(flags, env, home(store));
    for (const [name, [value, source]] of Object.entries(wanted))
      expect(setting(name)).toEqual({ name, value, source });
  });

  const here = { profiles: { default: { base_url: 'http://127.0.0.1:9' } } };
  // Loopback needs no login.
  const elsewhere = { profiles: { default: { base_url: 'https://a.invalid' } } };
  const bound = { token: 'tok-en-1', bearer_origins: ['https://old.test'] };

  it.each<[string, number, string | RegExp, { flags?: string[]; env?: Env; cwd?: () => string }]>([
    ['an empty home', 2, 'no base URL is set', {}],
    ['an address that is none', 2, 'SVC_BASE_URL: "svc" is not a valid URL', { env: { SVC_BASE_URL: 'svc' } }],
    ['a profile that is not there', 2, /profile "none" does not exist/, { flags: ['--profile', 'none'] }],
    [
      'a time that is none',
      2,
      /SVC_TIMEOUT cannot be "soon"/,
      { env: { SVC_TIMEOUT: 'soon', SVC_BASE_URL: 'http://[::1]:9' } },
    ],
    [
      'a proxy that is none',
      2,
      /HTTPS_PROXY is not the URL/,
      { env: { SVC_BASE_URL: 'https://a.invalid', HTTPS_PROXY: 'socks5://p:1' } },
    ],
    ['a store that is broken', 12, /the profiles in .* cannot be used/, { cwd: () => home('{"profiles":') }],
    [
      'a --cacert that is not there',
      12,
      'cannot read none.pem (--cacert): no such file or directory',
      { flags: ['--cacert', 'none.pem'], env: { ...credentials, SVC_BASE_URL: 'https://a.invalid' } },
    ],
    ['no credentials', 4, 'no credentials are set for any base URL', { cwd: () => home(elsewhere) }],
    [
      'credentials of another address',
      4,
      /the bearer credential of profile "default" belongs to https:\/\/old\.test and is not sent/,
      { cwd: () => home({ profiles: { default: { ...elsewhere.profiles.default, ...bound } } }) },
    ],
    [
      'half of a credential',
      4,
      'SVC_USERNAME is set but SVC_PASSWORD is not',
      { env: { SVC_USERNAME: 'u' }, cwd: () => home(here) },
    ],
    [
      'nobody there',
      7,
      'could not connect to http://127.0.0.1:9: connection refused',
      { env: credentials, cwd: () => home(here) },
    ],
    [
      'a host of no name',
      7,
      'could not connect to https://a.invalid: host not found',
      { env: { ...credentials, SVC_BASE_URL: 'https://a.invalid' } },
    ],
    [
      'a credential over plain http',
      13,
      'http://a.invalid is plain http, so anyone on the network could read the basic credential',
      { env: { ...credentials, SVC_BASE_URL: 'http://a.invalid' } },
    ],
    [
      'no check of certificates',
      13,
      /^NODE_TLS_REJECT_UNAUTHORIZED=0 is set/,
      { env: { ...credentials, SVC_BASE_URL: 'https://a.invalid', NODE_TLS_REJECT_UNAUTHORIZED: '0' } },
    ],
    [
      'a store that others may read',
      13,
      /^other users can read the profiles in .*config\.json \(0644\)$/,
      { env: credentials, cwd: () => home(here, { file: 0o644 }) },
    ],
  ])('finds %s: exit %i', async (_, code, message, { flags = [], env = {}, cwd = home }) => {
    const result = await doctor(flags, env, cwd());
    expect({ code: result.code, stderr: result.stderr }).toEqual({ code, stderr: expect.stringMatching(/^svc: /) });
    expect(result.warnings).toContainEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  it.each<[string, (cwd: string) => void, RegExp]>([
    [
      'a directory that others may look into',
      (cwd) => chmodSync(join(cwd, 'config'), 0o755),
      /^other users can list .*config \(0755\)$/,
    ],
    [
      'a lock that is left',
      (cwd) => writeFileSync(join(cwd, 'config', 'config.json.lock'), ''),
      /config\.json\.lock exists: another svc/,
    ],
  ])('only warns about %s', async (_, prepare, message) => {
    const server = await rawServer(() => {});
    const cwd = home({ profiles: { default: { base_url: server.url } } });
    prepare(cwd);
    const { code, stderr, warnings, report } = await doctor([], credentials, cwd);
    expect({ code, stderr, warnings }).toEqual({ code: 0, stderr: '', warnings: [expect.stringMatching(message)] });
    expect(report.files[0]).toEqual({
      what: 'profiles',
      path: join(cwd, 'config', 'config.json'),
      exists: true,
      mode: '0600',
      bytes: expect.any(Number),
    });
  });

  it('shows the sizes of histories, spool and data', async () => {
    const cwd = home();
    mkdirSync(join(cwd, 'data', 'spool'), { recursive: true });
    const files = {
      'requests.jsonl': 3000,
      'prompts.jsonl': 200,
      'spool/a.json': 700,
      'spool/b.json': 300,
      'svc.db': 5000,
      'svc.db-wal': 1000,
    };
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(cwd, 'data', name), 'x'.repeat(bytes));
    const { report } = await doctor(['--local'], {}, cwd);
    const sizes = report.files.map(({ what, bytes }: { what: string; bytes: number | null }) => [what, bytes]);
    expect(Object.fromEntries(sizes)).toMatchObject({
      data: 6000,
      'data directory': null,
      'request history': 3000,
      'prompt history': 200,
      'job history': null,
      spool: 1000,
    });
    const { stdout } = await svc(['doctor', '--local', '--format', 'text'], { cwd });
    expect(stdout).toMatch(/^ {2}request history +0\d{3} +3 KiB +\/.*requests\.jsonl$/m);
    expect(stdout).toMatch(/^ {2}spool +0\d{3} +1000 B +\/.*spool$/m);
    expect(stdout).not.toContain('job history');
  });

  it('leaves out settings that are not set, unless --all is given', async () => {
    const namesOf = async (...flags: string[]): Promise<string[]> =>
      (await doctor(flags, { SVC_MODEL: 'm' })).report.settings.map(({ name }: { name: string }) => name);
    const [set, all] = [await namesOf(), await namesOf('--all')];
    expect(set).toEqual(expect.arrayContaining(['profile', 'model', 'timeout', 'data_dir', 'node']));
    expect(set).not.toEqual(expect.arrayContaining(['project_id']));
    expect(all.filter((name) => set.includes(name))).toEqual(set);
    // One row for the password and its user name, one for the token, and none for the general base URL.
    const others = settings
      .map(({ name }) => name)
      .filter((name) => !/^(?:base_url|username|password|token)$/.test(name));
    expect([...all].sort()).toEqual([...others, 'basic', 'bearer', 'node', 'svc'].sort());
  });

  it('connects once to each origin, at the same time, and sends nothing', async () => {
    const [one, two] = [await rawServer(() => {}), await rawServer(() => {})];
    const env = { ...credentials, SVC_BASE_URL: `${one.url}/prefix`, SVC_CHAT_BASE_URL: two.url };
    const { code, report } = await doctor([], env);
    expect(code).toBe(0);
    expect(report.connections).toMatchObject([
      { address: one.url, hosts: ['trace', 'train'], proxy: null, reached: true, tls: null, error: null },
      { address: two.url, hosts: ['chat'], reached: true },
    ]);
    expect([...one.received, ...two.received].map(String)).toEqual(['', '']);
  });

  it('waits 10 s for a connection, and no longer', async () => {
    // It accepts the connection, and never starts TLS.
    const port = await listening(createServer());
    const limits: number[] = [];
    const after = (milliseconds: number, action: () => void): (() => void) => {
      limits.push(milliseconds);
      setImmediate(action);
      return () => {};
    };
    const env = { ...credentials, SVC_BASE_URL: `https://127.0.0.1:${port}` };
    const { code, warnings } = await doctor([], env, home(), { runtime: { after } });
    expect({ code, warnings }).toEqual({
      code: 7,
      warnings: [`could not connect to https://127.0.0.1:${port}: no connection within 10 s`],
    });
    expect(limits).toContain(10_000);
  });

  it('of the local service checks its directory, and creates nothing', async () => {
    for (const [flags, env] of [
      [['--local'], {}],
      [[], { SVC_PROFILE: 'local' }],
    ] as const) {
      const cwd = home();
      const { code, report, setting } = await doctor(flags, env, cwd);
      expect({ code, connections: report.connections, warnings: report.warnings }).toEqual({
        code: 0,
        connections: [],
        warnings: [],
      });
      expect(setting('chat_base_url').value).toBe('the local service');
      expect(existsSync(join(cwd, 'data'))).toBe(false);
    }
    const cwd = home();
    writeFileSync(join(cwd, 'data'), 'a file', { mode: 0o700 });
    const taken = await doctor(['--local'], {}, cwd);
    expect(taken).toMatchObject({
      code: 12,
      warnings: [
        expect.stringMatching(/^the data directory .*data cannot be used: a part of the path is not a directory/),
      ],
    });
    expect((await doctor(['--local', '--probe'])).report.probe).toMatchObject({ status: 200 });
  });

  it.each<[string, unknown, string[], Env, (url: string) => string, string]>([
    ['the environment', undefined, [], { SVC_BASE_URL: 'TARGET' }, (url) => `--base-url ${url}`, 'SVC_BASE_URL'],
    [
      'a variable of chats',
      undefined,
      [],
      { SVC_CHAT_BASE_URL: 'TARGET' },
      (url) => `--base-url ${url}`,
      'SVC_CHAT_BASE_URL',
    ],
    [
      'a flag',
      { profiles: { p: {} } },
      ['--profile', 'p', '--base-url', 'TARGET'],
      {},
      (url) => `--base-url ${url}`,
      '--base-url',
    ],
    [
      'a profile',
      { profiles: { p: { chat_base_url: 'TARGET/v1' } } },
      ['--profile', 'p'],
      {},
      () => '--profile p',
      'chat_base_url of the profile "p"',
    ],
  ])(
    'examines the base URL of %s as the error about it suggests, which names what sets it',
    async (_, store, flags, env, selection, source) => {
      const url = await closedPort();
      const filled = <T>(value: T): T => JSON.parse(JSON.stringify(value).replace('TARGET', url));
      const cwd = home(store && filled(store));
      const setting = { cwd, env: { ...credentials, ...filled(env) } };
      const { stderr } = await svc(['chat', 'hi', '--no-stdin', '--retries', '0', ...filled(flags)], setting);
      expect(stderr).toMatch(
        new RegExp(`connection refused\n {2}check ${source}, or run: svc doctor ${selection(url)}\n$`),
      );
      const { code, warnings } = await doctor(selection(url).split(' '), setting.env, cwd);
      expect([code, warnings]).toEqual([7, [expect.stringContaining(`could not connect to ${url}`)]]);
    },
  );

  it('shows what is set as text, and a failure once', async () => {
    const { code, stdout, stderr } = await svc(['doctor', '--base-url', 'http://127.0.0.1:9', '--format', 'text'], {
      env: credentials,
    });
    expect(code).toBe(7);
    expect(stderr).toBe('svc: could not connect to http://127.0.0.1:9: connection refused\n');
    expect(stdout).toMatch(
      /^not ready; no connection for chats, training and feedback\n\nSettings\n {2}trace_base_url {2}http:\/\/127\.0\.0\.1:9\/ {2,}--base-url\n/,
    );
    expect(stdout).toMatch(
      /\nConnections\n {2}http:\/\/127\.0\.0\.1:9 {2}failed {2}connection refused, for trace, chat, train\n$/,
    );
  });

  it('notes every 30 s what it waits for, where stderr is not a terminal', async () => {
    let note = (): void => {};
    const server = await rawServer((socket) => {
      note();
      note();
      socket.end(httpAnswer('{"paths":[]}', '200 OK'));
    });
    const runtime = {
      after: (milliseconds: number, action: () => void) => {
        if (milliseconds !== 30_000) return after(milliseconds, action);
        note = action;
        return () => {};
      },
    };
    const env = { ...credentials, SVC_BASE_URL: server.url };
    const args = ['feedback', 'schema', '--project-id', 'a/b', '--since', '7d'];
    const { code, stderr } = await svc(args, { env, runtime });
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^(svc: waiting for the response.*\n){2}$/)]);
    expect((await svc([...args, '-q'], { env, runtime })).stderr).toBe('');
  });

  it('keeps paths whole on a narrow terminal, so that they can be copied, and breaks no word', async () => {
    const { stdout } = await svc(['doctor', '--local', '--all'], { terminal: true, columns: 60 });
    const long = stdout.split('\n').filter((line) => line.length > 60);
    expect(long.filter((line) => !/ \/\S+/.test(line))).toEqual([]);
    expect(stdout).toMatch(/^ {2}data_dir +\/tmp\/[^\s…]*\/data {2}SVC_DATA_DIR$/m);
    expect(stdout).not.toMatch(/^ +(\/\S*|\S*\/\S*)$/m);
  });

  it('shows no secret in any form', async () => {
    const server = await rawServer((socket) => socket.end(httpAnswer('{"detail":"tok-en-1"}', '401 Unauthorized')));
    const store = {
      profiles: {
        p: {
          base_url: server.url,
          username: 'u',
          password: 'stored-password',
          basic_origins: [server.url],
          token: 'stored-token',
          bearer_origins: [server.url],
          headers: { 'X-Key': 'stored-header' },
          header_origins: [server.url],
        },
      },
    };
    const env = {
      HTTPS_PROXY: 'http://u:pr0xy-pass@p:1',
      HTTP_PROXY: 'socks5://u:pr0xy-pass@p:1',
      SVC_CHAT_BASE_URL: 'http://u:pr0xy-pass@:1',
    };
    const secret = /pass-word-1|tok-en-1|stored-|pr0xy-pass/;
    for (const flags of [[], ['--json'], ['--probe', '-v'], ['--probe', '-v', '--json', '--error-format', 'json']]) {
      for (const more of [env, { ...env, ...credentials }]) {
        const cwd = home(store);
        const { stdout, stderr } = await svc(['doctor', '--profile', 'p', ...flags], {
          cwd,
          env: { SVC_CONFIG_DIR: join(cwd, 'config'), ...more },
        });
        expect(stdout + stderr).not.toMatch(secret);
        for (const encoded of ['stored-password', 'pass-word-1'])
          expect(stdout + stderr).not.toContain(btoa(`u:${encoded}`));
      }
    }
  });
});

describe('svc doctor', () => {
  it.each<[Env, number, string]>([
    [{ SVC_TOKEN: 'a b' }, 4, 'the token from SVC_TOKEN'],
    [{ SVC_USERNAME: 'a:b', SVC_PASSWORD: 'pass-word-1' }, 4, 'the user name contains ":"'],
    [{ SVC_USERNAME: 'ada', SVC_PASSWORD: 'pass\nword' }, 4, 'the password contains a line feed'],
    [{ ...credentials, SVC_HISTORY: 'maybe' }, 2, 'SVC_HISTORY cannot be "maybe"'],
    [{ ...credentials, SVC_PROJECT_ID: 'nope' }, 2, 'SVC_PROJECT_ID cannot be "nope"'],
  ])('finds a setting that makes requests fail: %j is exit %i', async (env, code, message) => {
    const server = await rawServer(() => {});
    const result = await doctor(['--base-url', server.url], env);
    expect(result).toMatchObject({ code, warnings: [expect.stringContaining(message)] });
  });
});

describe('svc doctor --probe', () => {
  it.each<[string, number, Env, string[]]>([
    ['200 OK', 0, {}, []],
    ['401 Unauthorized', 4, {}, [expect.stringMatching(/^the probe failed: .*401/)]],
    ['404 Not Found', 0, {}, []],
    ['404 Not Found', 5, { SVC_PROJECT_ID: 'a/b' }, [expect.stringMatching(/^the probe failed: .*404/)]],
    ['307 Temporary Redirect', 5, {}, [expect.stringMatching(/^the probe failed: .*307/)]],
    ['500 Internal Server Error', 6, {}, [expect.stringMatching(/^the probe failed: .*500/)]],
    ['429 Too Many Requests', 9, {}, [expect.stringMatching(/^the probe failed: .*429/)]],
  ])('%s is exit %i %j', async (status, code, env, warnings) => {
    const server = await rawServer((socket) => socket.end(httpAnswer('{"paths":[]}', status)));
    const result = await doctor(['--probe', '--base-url', server.url], { ...credentials, ...env });
    expect({ code: result.code, warnings: result.warnings }).toEqual({ code, warnings });
    if (code === 4) expect(result.report.warnings[0].hint).toMatch(/^correct or unset SVC_USERNAME and SVC_PASSWORD;/);
    if (code === 5 && env.SVC_PROJECT_ID) expect(result.report.warnings[0].hint).toContain('a model server has no');
    expect(result.report.probe).toMatchObject({
      failed: code !== 0,
      status: Number(status.slice(0, 3)),
      project_id: env.SVC_PROJECT_ID ?? 'svc/doctor',
    });
    // The connection that sends nothing, and the one of the probe.
    const [request = '', ...others] = server.received.map(String).filter((text) => text !== '');
    expect(others).toEqual([]);
    expect(request).toMatch(/^POST \/feedback\/payload_schema HTTP\/1\.1\r\n/);
    const { start, end, ...body } = JSON.parse(request.slice(request.indexOf('\r\n\r\n')));
    expect(body).toEqual({ project_id: env.SVC_PROJECT_ID ?? 'svc/doctor', sample_limit: 1 });
    expect(Date.parse(end) - Date.parse(start)).toBe(60_000);
  });

  it.each(['<html></html>', 'null'])('a 200 with %s is exit 11', async (body) => {
    const server = await rawServer((socket) => socket.end(httpAnswer(body, '200 OK')));
    const { code, report, warnings } = await doctor(['--probe', '--base-url', server.url], credentials);
    expect({ code, warnings }).toEqual({ code: 11, warnings: [expect.stringMatching(/^the probe failed: /)] });
    expect(report.probe).toMatchObject({ status: 200 });
  });

  it('ends with the time limit of requests', async () => {
    const server = await rawServer(() => {});
    const { code, warnings } = await doctor(['--probe', '--base-url', server.url], {
      ...credentials,
      SVC_TIMEOUT: '0.2s',
    });
    expect({ code, warnings }).toEqual({ code: 8, warnings: [expect.stringMatching(/^the probe failed: .*0\.2 s/)] });
  });

  it('needs credentials, and reports that', async () => {
    // Loopback needs none.
    const result = await doctor(['--probe', '--base-url', 'https://svc.invalid'], {});
    expect(result.code).toBe(4);
    expect(result.warnings).toContain('no credentials are set for any base URL');
    expect(result.warnings).toContain('no user name and password for https://svc.invalid (profile "default")');
  });

  // Loopback, too, where no password is needed.
  it.each(['https://svc.invalid', 'http://127.0.0.1:9'])('is skipped with a token alone: %s', async (url) => {
    const result = await doctor(['--probe', '--base-url', url], { SVC_TOKEN: 'tok-en-1' });
    const skipped = 'the probe was skipped: it needs a user name and password (a chat would cost money)';
    expect(result.warnings).toContain(skipped);
    expect(result.report.probe).toBeUndefined();
  });
});

describe('svc doctor over TLS', () => {
  const reason = withoutOpenssl();
  if (reason) return it.skip(reason, () => {});

  it('shows the TLS version and the expiry of the certificate, directly and through a proxy, and warns 14 days before', async () => {
    const ca = authority();
    onTestFinished(() => rmSync(ca.directory, { recursive: true, force: true }));
    for (const [days, warned] of [
      [5, true],
      [30, false],
    ] as const) {
      const server = await secureServer(contents(ca.sign(`d${days}`, 'IP:127.0.0.1,DNS:svc.test', days)));
      const proxy = await connectProxy(server.port);
      const direct = `https://127.0.0.1:${server.port}`;
      const urls = { SVC_BASE_URL: direct, SVC_CHAT_BASE_URL: 'https://svc.test' };
      const env = { ...credentials, ...urls, HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
      const { code, report, warnings } = await doctor(['--cacert', ca.cert], env);
      expect(code).toBe(0);
      expect(report.connections).toMatchObject([
        { address: direct, proxy: null, tls: 'TLSv1.3', hosts: ['trace', 'train'] },
        { address: 'https://svc.test', proxy: `127.0.0.1:${proxy.port}`, tls: 'TLSv1.3', hosts: ['chat'] },
      ]);
      const left = Date.parse(report.connections[0].certificate_expires) - Date.now();
      expect(Math.round(left / 86_400_000)).toBe(days);
      const lines = [`127.0.0.1:${server.port}`, 'svc.test'].map(
        (host) => `the certificate of ${host} expires in 4 days`,
      );
      expect(warnings.sort()).toEqual(warned ? lines.sort() : []);
      expect(server.seen).toEqual([]);
    }
  });

  it('reports what is wrong with a certificate', async () => {
    const ca = authority();
    onTestFinished(() => rmSync(ca.directory, { recursive: true, force: true }));
    const server = await secureServer(contents(ca.sign('other', 'DNS:other.test')));
    const { code, warnings } = await doctor(
      ['--cacert', ca.cert, '--base-url', `https://127.0.0.1:${server.port}`],
      credentials,
    );
    expect({ code, warnings }).toEqual({
      code: 7,
      warnings: [expect.stringContaining('the server certificate is for another host')],
    });
  });
});
