import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { after } from '../support/clock.ts';
import { recording } from '../support/service.ts';
import { callStart, type Result, type Setting, svc, temporaryDirectory } from '../support/svc.ts';

const chat = ['chat', 'x', '--no-stdin'];

/** A home with a profile whose credential command is a script, which records its runs in `ran`. */
async function home(script: string, more: readonly string[] = []): Promise<string> {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'give'), `#!/bin/sh\necho "$SVC_CREDENTIAL" >>${cwd}/ran\n${script}\n`);
  chmodSync(join(cwd, 'give'), 0o755);
  const set = ['profile', 'set', 'default', '--base-url', 'https://svc.test', '--username', 'ada', ...more];
  expect(await svc([...set, '--credential-command', './give one two'], { cwd })).toMatchObject({ code: 0 });
  return cwd;
}

const ran = (cwd: string): string => (existsSync(join(cwd, 'ran')) ? readFileSync(join(cwd, 'ran'), 'utf8') : '');

async function sendRequest(
  args: readonly string[],
  cwd: string,
  more: Setting = {},
): Promise<Result & { authorization: unknown }> {
  const { send, recorded } = recording(async () => ({
    status: 200,
    statusText: 'OK',
    headers: [['Content-Type', 'application/json']],
    body: (async function* () {
      yield Buffer.from('{"id":"1","trace_id":"2","choices":[{"index":0}],"model":"m","usage":{}}');
    })(),
  }));
  const result = await svc(args, { cwd, send, ...more });
  return { ...result, authorization: recorded[0]?.headers.find(([name]) => name === 'Authorization')?.[1] };
}

describe('a credential_command', () => {
  it('prints the token or the password, gets the kind that is wanted, its arguments, an empty stdin and the directory of the profiles', async () => {
    const cwd = await home('cat; echo "$SVC_CREDENTIAL-$1-$2-$(basename "$PWD")"');
    const basic = Buffer.from('ada:basic-one-two-config').toString('base64');
    expect(await sendRequest(callStart, cwd)).toMatchObject({ code: 0, authorization: `Basic ${basic}` });
    expect(await sendRequest(chat, cwd)).toMatchObject({ code: 0, authorization: 'Bearer bearer-one-two-config' });
    const status = await svc(['auth', 'status', '--format', 'text'], { cwd });
    expect(status.stdout.split('\n').slice(-3)).toEqual([
      'basic (ada): from the credential_command of profile "default", for https://svc.test',
      'bearer: from the credential_command of profile "default", for https://svc.test',
      '',
    ]);
    expect(ran(cwd)).toBe('basic\nbearer\n');
  });

  it.each([
    ['one line end', "printf 'tok\\n'", 'Bearer tok'],
    ['one line end of Windows', "printf 'tok\\r\\n'", 'Bearer tok'],
    ['no line end', 'printf tok', 'Bearer tok'],
    ['64 KiB', 'head -c 65536 /dev/zero | tr "\\0" x', `Bearer ${'x'.repeat(65536)}`],
  ])('prints a token with %s', async (_, script, authorization) => {
    expect(await sendRequest(chat, await home(script))).toMatchObject({ code: 0, authorization });
  });

  it.each([
    ['fails', 'echo secret-1; echo secret-2 >&2; exit 3', 'ended with exit code 3'],
    ['is killed', 'echo secret-1; kill -9 $$', 'was ended by SIGKILL'],
    ['prints nothing', 'echo', 'printed nothing'],
    ['prints too much', 'head -c 65537 /dev/zero | tr "\\0" x', 'printed more than 64 KiB'],
    ['prints no text', 'printf "\\377secret-1"', 'printed bytes that are not UTF-8'],
    ['prints two lines', 'printf "secret-1\\nsecret-2\\n"', 'contains a line feed'],
    ['takes too long', 'printf secret-1; exec sleep 30', 'took longer than 10 s'],
    ['leaves a child that holds its stdout', 'printf secret-1; sleep 30', 'took longer than 10 s'],
  ])('that %s is exit 4, and its output is not shown', async (_, script, why) => {
    const cwd = await home(script);
    // The limit passes as soon as the command has begun.
    const runtime: Setting['runtime'] = {
      after: (milliseconds, action) =>
        after(milliseconds === 10_000 && why.includes('longer') ? 50 : milliseconds, action),
    };
    const result = await sendRequest(chat, cwd, { runtime });
    expect(result).toMatchObject({ code: 4, stdout: '', authorization: undefined });
    expect(result.stderr).toContain(why);
    expect(result.stderr).toContain(why.startsWith('contains') ? 'the credential_command of' : join(cwd, 'give'));
    expect(result.stderr).not.toMatch(/secret-\d|xxx|one/);
  });

  it('whose background process keeps stdout open ends with --timeout', async () => {
    const cwd = await home(`printf secret-1; sleep 60 &\necho $! >${'$'}{0%give}pid`);
    const result = await sendRequest([...chat, '--timeout', '1s'], cwd);
    process.kill(Number(readFileSync(join(cwd, 'pid'), 'utf8')));
    expect(result).toMatchObject({ code: 4, stdout: '', authorization: undefined });
    expect(result.stderr).toContain('a background process kept its stdout open for longer than 1 s');
    expect(result.stderr).not.toContain('secret-1');
  });

  it('does not inherit the secrets of svc', async () => {
    const cwd = await home(`env >${'$'}{0%give}env; printf tok`);
    const env = {
      SVC_CONFIG_DIR: join(cwd, 'config'),
      SVC_PASSWORD: 'pw-1',
      SVC_USERNAME: 'ada',
      PATH: process.env.PATH,
    };
    expect((await sendRequest(chat, cwd, { env: { ...env, SVC_UPSTREAM_TOKEN: 'up-1' } })).code).toBe(0);
    const inherited = readFileSync(join(cwd, 'env'), 'utf8');
    expect(inherited).toContain('SVC_CREDENTIAL=bearer');
    expect(inherited).not.toMatch(/pw-1|up-1/);
  });

  it.each([
    [{ env: {} }, 'correct the output of the credential_command of profile "default"; to see'],
    [{ env: { SVC_TOKEN: 'tok-en-1' } }, 'correct or unset SVC_TOKEN; to see'],
  ])('is corrected where it comes from after a 401: %j', async ({ env }, hint) => {
    const cwd = await home('echo tok');
    const send = async () => ({
      status: 401,
      statusText: 'Unauthorized',
      headers: [],
      body: (async function* () {})(),
    });
    expect(await svc(chat, { cwd, send, env })).toMatchObject({ code: 4, stderr: expect.stringContaining(hint) });
  });

  it.each([
    [
      { SVC_BASE_URL: 'https://other.test/a$b/v1' },
      "NEW_NAME --base-url 'https://other.test/a$b' (--no-token if it needs none), or set SVC_TOKEN",
    ],
    [{ SVC_BASE_URL: 'https://svc.test' }, 'default (--no-token if it needs none), or set SVC_TOKEN'],
  ])('is missing: the hint names a new profile for a base URL that is not in the profile: %j', async (env, hint) => {
    const cwd = temporaryDirectory();
    await svc(['profile', 'set', 'default', '--base-url', 'https://svc.test'], { cwd });
    const { code, stderr } = await svc(chat, { cwd, env });
    expect({ code, hint: stderr.split('\n')[1] }).toEqual({
      code: 4,
      hint: `  run: svc auth login --profile ${hint}`,
    });
  });

  it('that does not exist is exit 4', async () => {
    const cwd = temporaryDirectory();
    const set = ['profile', 'set', 'default', '--base-url', 'https://svc.test', '--credential-command'];
    await svc([...set, '["no-such-program","show me"]'], { cwd });
    expect(await sendRequest(chat, cwd)).toMatchObject({
      code: 4,
      stderr:
        'svc: the credential_command no-such-program was not found\n  correct the path of the program, or add its directory to PATH\n',
    });
  });

  it.each([
    ['--dry-run', [...chat, '--dry-run'], 0],
    ['--curl', [...chat, '--curl'], 0],
    ['--local', [...chat, '--local'], 0],
    ['another origin', [...chat, '--base-url', 'https://evil.test'], 4],
    ['plain http', [...chat, '--profile', 'plain'], 13],
    ['help', ['chat', '--help'], 0],
    ['the status', ['auth', 'status'], 0],
    ['a body that is wrong', [...chat, '--temperature', 'x'], 3],
  ])('is not run for %s', async (_, args, code) => {
    const cwd = await home('printf tok');
    const plain = ['profile', 'set', 'plain', '--base-url', 'http://svc.test', '--credential-command', './give'];
    await svc(plain, { cwd });
    expect((await sendRequest(args, cwd)).code).toBe(code);
    expect(ran(cwd)).toBe('');
  });

  it('comes after the environment and before stored credentials, which login reports', async () => {
    const cwd = await home('printf from-command');
    const login = await svc(['auth', 'login', '--token-stdin'], { cwd, stdin: 'from-store' });
    expect(login.stderr).toContain(
      'credential_command of profile "default" takes precedence over the stored credentials',
    );
    expect((await sendRequest(chat, cwd)).authorization).toBe('Bearer from-command');
    const env = { SVC_CONFIG_DIR: join(cwd, 'config'), SVC_TOKEN: 'from-env' };
    expect((await sendRequest(chat, cwd, { env })).authorization).toBe('Bearer from-env');
    await svc(['profile', 'set', 'default', '--credential-command='], { cwd });
    expect((await sendRequest(chat, cwd)).authorization).toBe('Bearer from-store');
  });

  it('gives credentials to the origins it was set for: a password to one service, a token to the others', async () => {
    const cwd = await home('printf tok', ['--chat-base-url', 'https://chat.test']);
    expect((await sendRequest([...chat, '--base-url', 'https://svc.test'], cwd)).code).toBe(0);
    expect((await sendRequest([...callStart, '--base-url', 'https://chat.test'], cwd)).code).toBe(4);
    const moved = await svc(['profile', 'set', 'default', '--chat-base-url', 'https://new.test'], { cwd });
    expect(moved.stderr).toContain('credential_command of profile "default" belongs to another base URL');
    expect((await sendRequest(chat, cwd)).code).toBe(4);
    expect((await sendRequest(callStart, cwd)).code).toBe(0);
  });

  it('without a user gives tokens only', async () => {
    const cwd = await home('printf tok', ['--username=']);
    expect((await sendRequest(chat, cwd)).code).toBe(0);
    expect(await sendRequest(callStart, cwd)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('profile set default --username'),
    });
  });

  it.each([
    ['/usr/bin/pass  show svc', ['/usr/bin/pass', 'show', 'svc']],
    ['pass show svc', ['pass', 'show', 'svc']],
    ['["pass","my svc","$x"]', ['pass', 'my svc', '$x']],
    ['bin/give now', ['{cwd}/bin/give', 'now']],
    ['["pass"', /is not valid JSON/],
    ['["pass",1]', /must be an array of strings/],
    ['["a\\u0000b"]', /must be an array of strings/],
    ['[]', /does not name a program/],
    ['[""]', /does not name a program/],
    [' ', /does not name a program/],
    ['pass "my svc"', /contains ", which needs a shell/],
    ['pass $HOME', /contains \$/],
    ['pass | head -1', /contains \|/],
    ['~/bin/pass', /contains ~/],
  ])('given as %s is read as %j', async (given, words) => {
    const cwd = temporaryDirectory();
    const set = ['profile', 'set', 'p', '--base-url', 'https://svc.test', '--credential-command', given];
    const result = await svc(set, { cwd });
    if (words instanceof RegExp) return expect(result).toMatchObject({ code: 2, stderr: expect.stringMatching(words) });
    const { profiles } = JSON.parse(readFileSync(join(cwd, 'config', 'config.json'), 'utf8'));
    expect(profiles.p.credential_command).toEqual(words.map((word) => word.replace('{cwd}', cwd)));
  });
});
