import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Send } from '../../src/http/message.ts';
import { type Recorded, recording } from '../support/service.ts';
import { type Setting, svc, temporaryDirectory } from '../support/svc.ts';

function network(): { send: Send; recorded: Recorded[] } {
  return recording(async () => ({
    status: 200,
    statusText: 'OK',
    headers: [['Content-Type', 'application/json']],
    body: (async function* () {
      yield Buffer.from('{"id":"1","trace_id":"2","choices":[{"index":0}],"model":"m","usage":{}}');
    })(),
  }));
}

const call = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x', '-q'];
const chat = ['chat', 'x', '--no-stdin', '-q'];
const stored = (cwd: string) => JSON.parse(readFileSync(join(cwd, 'config', 'config.json'), 'utf8'));

describe('svc auth', () => {
  it('login warns about an empty password, and never removes what the profile has', async () => {
    const cwd = temporaryDirectory();
    const login = ['auth', 'login', '--username', 'u', '--password-stdin', '--no-verify'];
    const set = ['--base-url', 'https://svc.test', '--project-id', 'a/b'];
    const empty = await svc([...login, ...set], { cwd, stdin: '' });
    expect(empty).toMatchObject({ code: 0, stderr: expect.stringContaining('the password is empty') });
    expect((await svc([...login, '--project-id', ''], { cwd, stdin: 'p' })).code).toBe(2);
    expect(stored(cwd).profiles.default).toMatchObject({ project_id: 'a/b', password: '' });
  });

  it('login stores secrets of stdin and files without one final newline, for the current origins', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'pw'), 'pass word\n');
    const login = await svc(
      [
        'auth',
        'login',
        '--base-url',
        'https://svc.test/prefix',
        '--username',
        'api',
        '--password-file',
        'pw',
        '--token-stdin',
      ],
      { cwd, stdin: 'tok-en-1\r\n' },
    );
    expect(login).toMatchObject({ code: 0, stdout: '' });
    expect(stored(cwd)).toEqual({
      current: 'default',
      profiles: {
        default: {
          base_url: 'https://svc.test/prefix',
          username: 'api',
          password: 'pass word',
          token: 'tok-en-1',
          basic_origins: ['https://svc.test'],
          bearer_origins: ['https://svc.test'],
        },
      },
    });
    expect(login.stderr).toContain(join(cwd, 'config', 'config.json'));
  });

  it('the first login reports that its profile is now in use', async () => {
    const login = ['auth', 'login', '--profile', 'a', '--base-url', 'https://svc.test', '--token-stdin'];
    const cwd = temporaryDirectory();
    const note = 'svc: stored in profile "a" (now in use) in ';
    expect((await svc(login, { cwd, stdin: 't' })).stderr).toContain(note);
    expect((await svc(login, { cwd, stdin: 't' })).stderr).not.toContain(note);
  });

  it('login reports that svc still uses another profile', async () => {
    const cwd = temporaryDirectory();
    const login = ['auth', 'login', '--base-url', 'https://svc.test', '--token-stdin'];
    const loginNote = async (flags: string[], env = {}): Promise<string | undefined> =>
      (await svc([...login, ...flags], { cwd, stdin: 't', env })).stderr
        .split('\n')
        .find((line) => line.includes('still'));
    expect(await loginNote(['--profile', 'a'])).toBeUndefined();
    const note = 'svc: the profile in use is still "a"; to use this one, run: svc profile use b';
    expect(await loginNote(['--profile', 'b'])).toBe(note);
    expect(await loginNote([], { SVC_PROFILE: 'b' })).toBeUndefined();
    await svc(['profile', 'use', 'local'], { cwd });
    expect(await loginNote([])).toBe(note.replace('"a"', '"local"').replace(/b$/, 'default'));
  });

  it('credentials are sent only to their origins', async () => {
    const cwd = temporaryDirectory();
    const addresses = [
      '--base-url',
      'https://svc.test',
      '--chat-base-url',
      'https://chat.test:8443/v1',
      '--train-base-url',
      'https://svc.test',
    ];
    await svc(['auth', 'login', ...addresses, '--token-stdin'], { cwd, stdin: 'tok-en-1' });
    writeFileSync(join(cwd, 'pw'), 'päss:word');
    await svc(['auth', 'login', '--username', 'api', '--password-file', 'pw'], { cwd });
    const { send, recorded } = network();
    const sendRequest = async (args: readonly string[], more: Setting = {}): Promise<string | number> => {
      recorded.length = 0;
      const { code } = await svc(args, { cwd, send, ...more });
      const authorization = recorded[0]?.headers.find(([name]) => name === 'Authorization')?.[1];
      return code === 0 ? `${recorded[0]?.url} ${authorization}` : code;
    };
    expect(await sendRequest(chat)).toBe('https://chat.test:8443/v1/chat/completions Bearer tok-en-1');
    expect(await sendRequest(call)).toBe(
      `https://svc.test/call/start Basic ${Buffer.from('api:päss:word').toString('base64')}`,
    );
    expect(await sendRequest([...call, '--base-url', 'https://svc.test/other'])).toContain(
      'https://svc.test/other/call/start Basic',
    );
    for (const elsewhere of ['https://evil.test', 'http://svc.test', 'https://svc.test:444']) {
      expect(await sendRequest([...call, '--base-url', elsewhere])).toBe(4);
      expect(await sendRequest([...chat, '--base-url', elsewhere])).toBe(4);
    }
    expect(
      await sendRequest(call, { env: { SVC_CONFIG_DIR: join(cwd, 'config'), SVC_BASE_URL: 'https://evil.test' } }),
    ).toBe(4);
    expect(recorded).toEqual([]);
    expect(
      await sendRequest([...chat, '--base-url', 'https://evil.test'], {
        env: { SVC_CONFIG_DIR: join(cwd, 'config'), SVC_TOKEN: 'env-tok' },
      }),
    ).toBe('https://evil.test/v1/chat/completions Bearer env-tok');
  });

  it('a profile with a new base URL does not send its credentials there, and warns', async () => {
    const cwd = temporaryDirectory();
    await svc(['auth', 'login', '--base-url', 'https://old.test', '--token-stdin'], { cwd, stdin: 'tok-en-1' });
    const moved = await svc(['profile', 'set', 'default', '--base-url', 'https://new.test'], { cwd });
    expect(moved.stderr).toContain(
      'the token of profile "default" belongs to another base URL and is not sent to this one',
    );
    const { send, recorded } = network();
    const refused = await svc(chat, { cwd, send });
    expect(refused).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('belongs to https://old.test, not to https://new.test'),
    });
    expect(recorded).toEqual([]);
  });

  it.each<[string, string[], string, number]>([
    ['no address', ['--token-stdin'], 't', 2],
    ['an empty token', ['--base-url', 'https://svc.test', '--token-stdin'], '\n', 4],
    ['a token with a line end inside', ['--base-url', 'https://svc.test', '--token-stdin'], 'a\nb', 4],
    ['a password without a user', ['--base-url', 'https://svc.test', '--password-stdin'], 'p', 2],
    ['a user with a colon', ['--base-url', 'https://svc.test', '--username', 'a:b', '--password-stdin'], 'p', 4],
    [
      'two secrets from stdin',
      ['--base-url', 'https://svc.test', '--username', 'a', '--password-stdin', '--token-stdin'],
      'p',
      2,
    ],
    ...[
      ['--password-stdin', '--token-file', '-'],
      ['--password-file', '-', '--token-file', '-'],
      ['--password-file', '-', '--token-stdin'],
      ['--password-stdin', '--password-file', 'none'],
    ].map((flags): [string, string[], string, number] => [
      `two secrets with ${flags.join(' ')}`,
      ['--base-url', 'https://svc.test', '--username', 'a', ...flags],
      'p',
      2,
    ]),
    ['nothing to store and no terminal', ['--base-url', 'https://svc.test'], '', 4],
    ['a user alone and no terminal', ['--base-url', 'https://svc.test', '--username', 'a'], '', 4],
    ['a file that is not there', ['--base-url', 'https://svc.test', '--token-file', 'none'], '', 12],
    ['a secret of more than 64 KiB', ['--base-url', 'https://svc.test', '--token-stdin'], 'a'.repeat(65_537), 12],
    ['a secret as an argument', ['--base-url', 'https://svc.test', '--token', 'my-secret-token'], '', 2],
    ['the reserved name', ['--profile', 'local', '--base-url', 'https://svc.test', '--token-stdin'], 't', 2],
    ['a name that is none', ['--profile', '../x', '--base-url', 'https://svc.test', '--token-stdin'], 't', 2],
  ])('refuses %s and stores nothing', async (_, args, stdin, code) => {
    const cwd = temporaryDirectory();
    const result = await svc(['auth', 'login', ...args], { cwd, stdin });
    expect(result.code).toBe(code);
    expect(result.stderr).not.toContain('my-secret-token');
    expect(existsSync(join(cwd, 'config'))).toBe(false);
  });

  it('logout does not suggest creating a profile that does not exist', async () => {
    expect(await svc(['auth', 'logout', '--profile', 'nope'], { cwd: temporaryDirectory() })).toMatchObject({
      code: 2,
      stderr: 'svc: profile "nope" does not exist (no profiles yet)\n  to list the profiles, run: svc profile list\n',
    });
  });

  it('status lists credentials without their values; logout removes them', async () => {
    const cwd = temporaryDirectory();
    await svc(['auth', 'login', '--base-url', 'https://svc.test', '--token-stdin'], { cwd, stdin: 'tok-en-1' });
    const status = await svc(['auth', 'status', '--json'], { cwd });
    // The same view as svc profile show.
    expect((await svc(['profile', 'show'], { cwd })).stdout).toBe(status.stdout);
    expect(JSON.parse(status.stdout)).toEqual({
      profile: 'default',
      base_url: 'https://svc.test',
      token: '[redacted]',
      bearer_origins: ['https://svc.test'],
      credentials: [{ scheme: 'bearer', source: 'profile "default"', origins: ['https://svc.test'] }],
    });
    expect(
      (
        await svc(['auth', 'status', '--format', 'text'], {
          cwd,
          env: { SVC_CONFIG_DIR: join(cwd, 'config'), SVC_USERNAME: 'u', SVC_PASSWORD: 'p' },
        })
      ).stdout,
    ).toContain('basic (u): from SVC_USERNAME and SVC_PASSWORD');
    // What is stored is shown although the environment is invalid.
    expect(
      await svc(['profile', 'show'], { cwd, env: { SVC_CONFIG_DIR: join(cwd, 'config'), SVC_USERNAME: 'u' } }),
    ).toMatchObject({
      code: 4,
      stdout: status.stdout,
      stderr: expect.stringContaining('SVC_USERNAME is set but SVC_PASSWORD is not'),
    });
    expect((await svc(['auth', 'logout'], { cwd })).code).toBe(0);
    expect(stored(cwd).profiles.default).toEqual({ base_url: 'https://svc.test' });
    expect((await svc(['auth', 'status'], { cwd })).code).toBe(4);
    expect((await svc(['profile', 'show'], { cwd })).code).toBe(0);
    expect((await svc(['auth', 'status', '--profile', 'local'], { cwd, terminal: true })).stdout).toContain(
      'needs no credentials',
    );
  });

  it.each(['default', 'work'])('without credentials, %s is the profile to log in to', async (profile) => {
    const cwd = temporaryDirectory();
    if (profile !== 'default') await svc(['profile', 'set', profile, '--base-url', 'https://svc.test'], { cwd });
    const login = `run: svc auth login --profile ${profile}`;
    expect(await svc(['auth', 'status', '--profile', profile], { cwd })).toMatchObject({
      code: 4,
      stderr: `svc: no credentials in the environment or the profile "${profile}"\n  ${login}, or set SVC_TOKEN\n`,
    });
    const examined = await svc(['doctor', '--base-url', 'https://svc.invalid', '--profile', profile], { cwd });
    expect(JSON.parse(examined.stdout).warnings).toContainEqual(
      expect.objectContaining({ code: 'credentials', hint: login }),
    );
  });

  it('one half of a pair in the environment is an error', async () => {
    const env = { SVC_BASE_URL: 'https://svc.test', SVC_USERNAME: 'u' };
    expect(await svc(call, { env })).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('SVC_USERNAME is set but SVC_PASSWORD is not'),
    });
  });
});

describe('svc profile', () => {
  it('set, list, show, use and remove', async () => {
    const cwd = temporaryDirectory();
    expect(
      (
        await svc(
          [
            'profile',
            'set',
            'a.b-c_1',
            '--base-url',
            'https://a.test',
            '--timeout',
            '90s',
            '--model',
            'm',
            '-H',
            'X-Key: k1',
            '-H',
            'X-Plain: p',
          ],
          { cwd },
        )
      ).code,
    ).toBe(0);
    expect((await svc(['profile', 'set', 'b', '--base-url', 'https://b.test'], { cwd })).code).toBe(0);
    expect((await svc(['profile', 'use', 'b'], { cwd })).code).toBe(0);
    expect((await svc(['profile', 'list'], { cwd, terminal: true })).stdout).toBe(
      '   NAME     BASE URL\n   a.b-c_1  https://a.test\n*  b        https://b.test\n   local    the local service\n',
    );
    expect(JSON.parse((await svc(['profile', 'list'], { cwd })).stdout)[1]).toEqual({
      name: 'b',
      in_use: true,
      base_url: 'https://b.test',
    });
    const shown = JSON.parse((await svc(['profile', 'show', 'a.b-c_1', '--json'], { cwd })).stdout);
    expect(shown).toMatchObject({
      profile: 'a.b-c_1',
      timeout: '90s',
      model: 'm',
      headers: { 'X-Key': '[redacted]', 'X-Plain': 'p' },
      header_origins: ['https://a.test'],
    });
    await svc(['profile', 'set', 'a.b-c_1', '--model='], { cwd });
    expect(stored(cwd).profiles['a.b-c_1'].model).toBeUndefined();
    expect((await svc(['profile', 'remove', 'b'], { cwd, stdin: '' })).code).toBe(2);
    const removed = await svc(['profile', 'remove', 'b', '--yes'], { cwd });
    expect(removed).toMatchObject({ code: 0, stderr: expect.stringContaining('in use; svc now uses "default"') });
    expect(stored(cwd)).toMatchObject({ profiles: { 'a.b-c_1': {} } });
    expect(stored(cwd).current).toBeUndefined();
  });

  it('a variable that takes precedence over the base URL of a named profile is said', async () => {
    const cwd = temporaryDirectory();
    await svc(['profile', 'set', 'tiny', '--base-url', 'http://127.0.0.1:9'], { cwd });
    const env = { SVC_BASE_URL: 'http://127.0.0.1:10' };
    const warning =
      'svc: warning: SVC_BASE_URL is set and takes precedence over the base URL of the profile "tiny"; unset it to use the profile\n';
    for (const args of [
      ['profile', 'use', 'tiny'],
      ['auth', 'status', '--profile', 'tiny'],
      ['chat', 'hi', '--profile', 'tiny', '-n'],
    ])
      expect((await svc(args, { cwd, env })).stderr.split(warning), args.join(' ')).toHaveLength(2);
    for (const own of [{}, { SVC_BASE_URL: 'http://127.0.0.1:9/' }, { SVC_PROFILE: 'tiny', ...env }])
      expect((await svc(['chat', 'hi', '-n'], { cwd, env: own })).stderr).not.toContain('takes precedence');
  });

  it('stored headers go to the origins they were set for only', async () => {
    const cwd = temporaryDirectory();
    const env = { SVC_CONFIG_DIR: join(cwd, 'config'), SVC_TOKEN: 'tok-en-1' };
    await svc(['profile', 'set', 'p', '--base-url', 'https://a.test', '-H', 'OpenAI-Project: team/x', '-H', 'X-A: 1'], {
      cwd,
    });
    const { send, recorded } = network();
    await svc([...chat, '--profile', 'p', '-H', 'X-A: 2'], { cwd, env, send });
    await svc([...chat, '--profile', 'p', '--base-url', 'https://b.test'], { cwd, env, send });
    expect(recorded[0]?.headers).toEqual(
      expect.arrayContaining([
        ['OpenAI-Project', 'team/x'],
        ['X-A', '2'],
      ]),
    );
    expect(recorded[1]?.headers.map(([name]) => name)).not.toContain('OpenAI-Project');
  });

  it.each([
    ['content-type', 'text/plain', 'header cannot set content-type'],
    ['Authorization', 'Bearer x', 'header cannot set Authorization'],
    ['X A', '1', 'header needs a name and a value'],
    ['X-A', '1\n2', 'header X-A has characters that a header cannot contain'],
  ])('a header that was edited in the file follows the rules of -H: %s', async (name, value, problem) => {
    const cwd = temporaryDirectory();
    await svc(['profile', 'set', 'p', '--base-url', 'https://a.test', '-H', 'X-A: 1'], { cwd });
    const file = join(cwd, 'config', 'config.json');
    const store = stored(cwd);
    store.profiles.p.headers = { [name]: value };
    writeFileSync(file, JSON.stringify(store));
    const { send, recorded } = network();
    const env = { SVC_CONFIG_DIR: join(cwd, 'config'), SVC_TOKEN: 'tok-en-1' };
    const result = await svc([...chat, '--profile', 'p'], { cwd, env, send });
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(`svc: profile "p": ${problem}\n`) });
    expect(recorded).toEqual([]);
  });

  it('retries, user and CA certificates are settings too; an unreadable file is reported', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'ca.pem'), '');
    const set = ['profile', 'set', 'p', '--retries', '5', '--username', 'ada', '--cacert'];
    expect(await svc([...set, 'ca.pem'], { cwd })).toMatchObject({ code: 0, stderr: '' });
    expect(stored(cwd).profiles.p).toEqual({ retries: '5', username: 'ada', cacert: join(cwd, 'ca.pem') });
    const unreadable = await svc([...set, 'none.pem'], { cwd });
    expect(unreadable).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`cannot read ${join(cwd, 'none.pem')}: `),
    });
    await svc(['profile', 'set', 'p', '--retries=', '--username=', '--cacert='], { cwd });
    expect(stored(cwd).profiles.p).toEqual({});
  });

  it("headers go with -H '', and others may come in their place", async () => {
    const cwd = temporaryDirectory();
    const set = (...words: readonly string[]) => svc(['profile', 'set', 'p', ...words], { cwd });
    await set('--base-url', 'https://a.test', '-H', 'X-A: 1', '-H', 'X-B: 2');
    expect((await set('-H', '')).code).toBe(0);
    expect(stored(cwd).profiles.p).toEqual({ base_url: 'https://a.test' });
    await set('-H', 'X-A: 1');
    await set('-H', '', '-H', 'X-C:');
    expect(stored(cwd).profiles.p).toMatchObject({ headers: { 'X-C': '' }, header_origins: ['https://a.test'] });
    await set('--base-url=', '-H', '');
    expect(stored(cwd).profiles.p).toEqual({});
  });

  it.each<[string[], number]>([
    [['profile', 'set', 'x', '--retries', '100'], 2],
    [['profile', 'set', 'x', '--retries', '-1'], 2],
    [['profile', 'set', 'x', '--retries', '1.5'], 2],
    [['profile', 'set', 'x', '--username', 'a:b'], 4],
    [['profile', 'set', 'x', '--credential-command', 'pass'], 2],
    [['profile', 'set', 'x'], 2],
    [['profile', 'set', 'local', '--base-url', 'https://a.test'], 2],
    [['profile', 'set', '-x', '--base-url', 'https://a.test'], 2],
    [['profile', 'set', 'x', '--base-url', 'ftp://a.test'], 2],
    [['profile', 'set', 'x', '--base-url', 'https://user:secret9@a.test'], 2],
    [['profile', 'set', 'x', '--timeout', 'long'], 2],
    [['profile', 'set', 'x', '-H', 'X: 1'], 2],
    [['profile', 'use', 'x'], 2],
    [['profile', 'show', 'x'], 2],
    [['profile', 'remove', 'x', '--yes'], 2],
    [['profile', 'show', 'constructor'], 2],
    [['auth', 'logout', '--profile', 'x'], 2],
  ])('%j is refused and changes nothing', async (args, code) => {
    const cwd = temporaryDirectory();
    const result = await svc(args, { cwd, stdin: '' });
    expect(result.code, result.stderr).toBe(code);
    expect(result.stderr).not.toContain('secret9');
    expect(existsSync(join(cwd, 'config'))).toBe(false);
  });

  it('use local selects the local service, unless another profile is named', async () => {
    const cwd = temporaryDirectory();
    await svc(['profile', 'set', 'p', '--base-url', 'https://a.test'], { cwd });
    expect((await svc(['profile', 'use', 'local'], { cwd })).code).toBe(0);
    const { send, recorded } = network();
    expect(await svc(chat, { cwd, send })).toMatchObject({ code: 0, stderr: '' });
    expect(recorded).toEqual([]);
    expect((await svc(['auth', 'status'], { cwd, terminal: true })).stdout).toContain('needs no credentials');
    expect((await svc(['profile', 'show'], { cwd })).stdout).toBe('{"profile":"local","credentials":[]}\n');
    expect((await svc(['profile', 'list'], { cwd, terminal: true })).stdout).toMatch(/^\* {2}local /m);
    expect((await svc(['auth', 'logout'], { cwd })).code).toBe(2);
    const env = { SVC_CONFIG_DIR: join(cwd, 'config'), SVC_TOKEN: 'tok-en-1' };
    await svc([...chat, '--profile', 'p'], { cwd, env, send });
    expect(recorded).toHaveLength(1);
  });

  const urlsWithPassword = [
    'http://ada:s3cret-word@h',
    'http:/ada:s3cret-word@h',
    'http:ada:s3cret-word@h',
    'ada:s3cret-word@h',
    'http://ada:pa/s3cret-word@h',
    'http://ada:p@a/s3cret-word@h',
    '//ada:s3cret-word@h',
    'http//ada:s3cret-word@h',
  ];

  it.each(urlsWithPassword)('an error about the URL %s does not repeat its password', async (url) => {
    const cwd = temporaryDirectory();
    for (const { args, env = {} } of [
      { args: ['chat', 'hi', '--base-url', url] },
      { args: ['chat', 'hi'], env: { SVC_BASE_URL: url } },
      { args: ['profile', 'set', 'p', '--base-url', url] },
      { args: ['serve', '--upstream', url] },
      { args: ['doctor', '--base-url', url] },
    ]) {
      const { code, stdout, stderr } = await svc(args, { cwd, env });
      expect({ code, output: stdout + stderr }).toEqual({ code: 2, output: expect.stringMatching(/URL|user name/) });
      expect(stdout + stderr).not.toContain('s3cret-word');
    }
  });

  it.each(urlsWithPassword)('list and show redact the password of the URL %s', async (url) => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'), { mode: 0o700 });
    const profiles = { p: { base_url: url, chat_base_url: url, username: 'ada@h.test' } };
    writeFileSync(join(cwd, 'config', 'config.json'), JSON.stringify({ profiles }), { mode: 0o600 });
    const shown = await svc(['profile', 'show', 'p'], { cwd });
    expect(JSON.parse(shown.stdout)).toMatchObject({ username: 'ada@h.test' });
    const listed = await svc(['profile', 'list'], { cwd });
    for (const { code, stdout } of [shown, listed]) {
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('[redacted]@h') });
      expect(stdout).not.toContain('s3cret-word');
    }
  });

  it('constructor is an ordinary name', async () => {
    const cwd = temporaryDirectory();
    await svc(['profile', 'set', 'constructor', '--base-url', 'https://a.test'], { cwd });
    expect((await svc(['profile', 'show', 'constructor'], { cwd })).stdout).toContain('https://a.test');
  });
});

describe('the store', () => {
  it('has mode 0600 in a 0700 directory, whatever the umask and its mode before', async () => {
    const before = process.umask(0);
    try {
      const cwd = temporaryDirectory();
      await svc(['profile', 'set', 'x', '--base-url', 'https://a.test'], { cwd });
      const modes = (): number[] =>
        ['config', 'config/config.json'].map((name) => statSync(join(cwd, name)).mode & 0o777);
      expect(modes()).toEqual([0o700, 0o600]);
      chmodSync(join(cwd, 'config'), 0o755);
      chmodSync(join(cwd, 'config/config.json'), 0o644);
      await svc(['profile', 'set', 'x', '--model', 'm'], { cwd });
      expect(modes()).toEqual([0o700, 0o600]);
    } finally {
      process.umask(before);
    }
  });

  it('in a directory with other files leaves the directory unchanged', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'), { mode: 0o755 });
    writeFileSync(join(cwd, 'config', 'other'), '');
    await svc(['profile', 'set', 'x', '--base-url', 'https://a.test'], { cwd });
    expect(statSync(join(cwd, 'config')).mode & 0o777).toBe(0o755);
    expect(statSync(join(cwd, 'config', 'config.json')).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['truncated', '{"profiles":{"a":', /cannot be used/],
    ['something else', '[1,2]', /does not hold profiles/],
    ['of other types', '{"profiles":{"a":{"token":5}}}', /does not hold profiles/],
    ['empty', '', /cannot be used: .*empty/],
    ['without profiles where they belong', '{"profiles":[]}', /profiles must be an object/],
    ['with a profile that is none', '{"profiles":{"a":null}}', /the profile "a" must be an object/],
    [
      'with text where a list belongs',
      '{"profiles":{"a":{"basic_origins":"x"}}}',
      /basic_origins of "a" must be an array of strings/,
    ],
    ['with a list where text belongs', '{"profiles":{"a":{"base_url":["x"]}}}', /base_url of "a" must be a string/],
    ['with a current one that is no name', '{"current":5,"profiles":{}}', /current must be a string/],
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), /invalid UTF-8/],
    ['broken behind a secret', '{"profiles":{"a":{"token":"tok-en-1"}}}x', /line 1, column 40/],
  ])('that is %s is reported with its path, and never changed', async (_, content, message) => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'));
    const path = join(cwd, 'config', 'config.json');
    writeFileSync(path, content);
    for (const args of [chat, ['profile', 'list'], ['profile', 'set', 'x', '--base-url', 'https://a.test']]) {
      const result = await svc(args, { cwd });
      expect(result.code).toBe(12);
      expect(result.stderr).toMatch(message);
      expect(result.stderr).toContain(path);
      expect(result.stderr).not.toContain('en-1');
    }
    expect(readFileSync(path)).toEqual(Buffer.from(content));
    expect((await svc(['chat', '--help'], { cwd })).code).toBe(0);
    expect((await svc([...chat, '--local'], { cwd })).code).toBe(0);
  });

  it.each(['{}', '{"profiles":{}}', '{"current":"x"}', '{"format":2,"profiles":{"z":{"new":{"deep":[1]}}}}'])(
    'with %s counts as empty, and keeps fields of a newer svc',
    async (content) => {
      const cwd = temporaryDirectory();
      mkdirSync(join(cwd, 'config'));
      writeFileSync(join(cwd, 'config', 'config.json'), content);
      expect((await svc(['profile', 'list'], { cwd })).code).toBe(0);
      expect((await svc(['profile', 'set', 'a', '--model', 'm'], { cwd })).code).toBe(0);
      expect(
        (await svc(['auth', 'login', '--base-url', 'https://a.test', '--token-stdin'], { cwd, stdin: 't' })).code,
      ).toBe(0);
      expect((await svc(['profile', 'remove', 'a', '--yes'], { cwd })).code).toBe(0);
      const { profiles, ...others } = JSON.parse(content);
      expect(stored(cwd)).toMatchObject({ ...others, profiles: { ...profiles } });
    },
  );

  it('that is a link is written to its target, even if that does not exist', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'));
    mkdirSync(join(cwd, 'dotfiles'));
    symlinkSync('../dotfiles/svc.json', join(cwd, 'config', 'config.json'));
    await svc(['profile', 'set', 'x', '--base-url', 'https://a.test'], { cwd });
    await svc(['profile', 'set', 'x', '--model', 'm'], { cwd });
    expect(lstatSync(join(cwd, 'config', 'config.json')).isSymbolicLink()).toBe(true);
    expect(stored(cwd).profiles.x).toEqual({ base_url: 'https://a.test', model: 'm' });
    expect(readdirSync(join(cwd, 'dotfiles'))).toEqual(['svc.json']);
  });

  it.each([
    ['a save that was killed', ['config.json.next', 'config.json.next.tmp-12', 'config.json.tmp-34']],
    ['somebody else', ['config.json.bak', 'other.json.next']],
  ])('and the files that %s left beside it', async (whose, names) => {
    const cwd = temporaryDirectory();
    await svc(['profile', 'set', 'x', '--base-url', 'https://a.test'], { cwd });
    for (const name of names) writeFileSync(join(cwd, 'config', name), 'secret');
    await svc(['profile', 'list'], { cwd });
    const kept = whose === 'somebody else' ? names : [];
    expect(readdirSync(join(cwd, 'config')).sort()).toEqual([...kept, 'config.json'].sort());
  });

  it('keeps changes of other processes during the prompt of a login', async () => {
    const cwd = temporaryDirectory();
    await svc(['auth', 'login', '--base-url', 'https://a.test', '--token-stdin'], { cwd, stdin: 'tok-en-1' });
    const stdin = Readable.from(
      (async function* () {
        await svc(['profile', 'set', 'default', '--model', 'm', '--base-url', 'https://b.test'], { cwd });
        yield Buffer.from('tok-en-2');
      })(),
    );
    const login = await svc(['auth', 'login', '--token-stdin'], { cwd, stdin });
    // The token was stored for the earlier origin, and stays bound to it.
    expect(login.stderr).toContain('the token of profile "default" belongs to another base URL');
    expect(stored(cwd).profiles.default).toEqual({
      base_url: 'https://b.test',
      model: 'm',
      token: 'tok-en-2',
      bearer_origins: ['https://a.test'],
    });
  });

  it.each([
    [
      'is a file',
      (path: string) => writeFileSync(path, ''),
      /cannot write .*config\.json: (a file of that name|a part)/,
    ],
    ['cannot be made', (path: string) => symlinkSync('/proc/none/x', path), /cannot write .*config\.json: /],
  ])('in a directory that %s is exit 12', async (_, make, message) => {
    const cwd = temporaryDirectory();
    make(join(cwd, 'config'));
    const result = await svc(['profile', 'set', 'x', '--base-url', 'https://a.test'], { cwd });
    expect(result).toMatchObject({ code: 12, stderr: expect.stringMatching(message) });
  });

  it('may start with a byte order mark', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'));
    writeFileSync(join(cwd, 'config', 'config.json'), '\ufeff{"profiles":{"a":{"base_url":"https://a.test"}}}');
    expect((await svc(['profile', 'set', 'a', '--model', 'm'], { cwd })).code).toBe(0);
    expect(stored(cwd).profiles.a).toEqual({ base_url: 'https://a.test', model: 'm' });
  });
});

describe('the base URL', () => {
  const env = (more: Record<string, string>) => ({ SVC_TOKEN: 'tok-en-1', ...more });

  it('source before specificity: flags, environment, profile', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'));
    writeFileSync(
      join(cwd, 'config', 'config.json'),
      '{"profiles":{"default":{"base_url":"https://p.test","chat_base_url":"https://pc.test"}}}',
    );
    const { send, recorded } = network();
    const where = async (flags: readonly string[], more: Record<string, string>): Promise<string> => {
      recorded.length = 0;
      await svc([...chat, ...flags], { cwd, send, env: env({ SVC_CONFIG_DIR: join(cwd, 'config'), ...more }) });
      return new URL(recorded[0]?.url ?? '').host;
    };
    const both = { SVC_BASE_URL: 'https://e.test', SVC_CHAT_BASE_URL: 'https://ec.test' };
    expect(await where(['--base-url', 'https://f.test'], both)).toBe('f.test');
    expect(await where([], both)).toBe('ec.test');
    expect(await where([], { SVC_BASE_URL: 'https://e.test' })).toBe('e.test');
    expect(await where([], {})).toBe('pc.test');
  });

  it('plain http is rejected with a credential, allowed with a warning, and accepted on loopback', async () => {
    const { send, recorded } = network();
    const refused = await svc([...chat, '--base-url', 'http://svc.test'], { env: env({}), send });
    expect(refused.code).toBe(13);
    expect(recorded).toEqual([]);
    const allowed = await svc(['chat', 'x', '--no-stdin', '--base-url', 'http://svc.test', '--allow-http'], {
      env: env({}),
      send,
    });
    expect(allowed).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('the credential goes to http://svc.test over plain http'),
    });
    for (const base of ['http://localhost:1', 'http://127.9.9.9', 'http://[::1]:80']) {
      expect((await svc([...chat, '--base-url', base], { env: env({}), send })).code).toBe(0);
    }
  });

  it('none: exit 2 with the next step, before stdin is read', async () => {
    const result = await svc(['call', 'start'], { stdin: 'not read' });
    expect(result).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('run: svc auth login --base-url <url>, or add --local to use the local service'),
    });
  });

  it('none in the profile of --profile: the next step names that profile', async () => {
    const cwd = temporaryDirectory();
    await svc(['profile', 'set', 'work', '--model', 'm'], { cwd });
    for (const command of [['chat', 'hi', '--no-stdin'], ['doctor']])
      expect(await svc([...command, '--profile', 'work'], { cwd })).toMatchObject({
        code: 2,
        stderr: 'svc: no base URL is set\n  run: svc auth login --profile work --base-url <url>\n',
      });
  });
});
