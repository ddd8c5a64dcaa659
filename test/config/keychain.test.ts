import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Runtime } from '../../src/runtime.ts';
import { after } from '../support/clock.ts';
import { recording } from '../support/service.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

const script = new URL('../support/keychain.js', import.meta.url).pathname;
const login = ['auth', 'login', '--base-url', 'https://svc.test', '--token-stdin', '--keychain'];
const chat = ['chat', 'x', '--no-stdin', '-q'];

type Mode = 'works' | 'locked' | 'silent';

const read = (...path: readonly string[]) => JSON.parse(readFileSync(join(...path), 'utf8'));
const profileIn = (cwd: string) => read(cwd, 'config', 'config.json').profiles.default;
const keychainIn = (cwd: string): string[] => Object.values(read(cwd, 'keychain'));

/** A runtime whose keychain is a file; the time limit of a silent one ends at once. */
function world(cwd: string, mode: Mode): Partial<Runtime> {
  return {
    keychain: [process.execPath, script, join(cwd, 'keychain'), mode],
    after: (milliseconds, action) => after(mode === 'silent' && milliseconds === 3000 ? 50 : milliseconds, action),
  };
}

async function run(args: readonly string[], cwd: string, mode: Mode = 'works', stdin = 'tok-en-1'): Promise<Result> {
  return svc(args, { cwd, stdin, runtime: world(cwd, mode) });
}

async function sendRequest(cwd: string, mode: Mode = 'works'): Promise<Result & { authorization: unknown }> {
  const { send, recorded } = recording(async () => ({
    status: 200,
    statusText: '',
    headers: [],
    body: (async function* () {})(),
  }));
  const result = await svc(chat, { cwd, send, runtime: world(cwd, mode) });
  return { ...result, authorization: recorded[0]?.headers.find(([name]) => name === 'Authorization')?.[1] };
}

describe('auth login --keychain', () => {
  it('keeps secrets in the keychain, and their names only in the profile', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'pw'), 'pass-word-1');
    const both = [...login, '--username', 'ada', '--password-file', 'pw'];
    expect(await run(both, cwd)).toMatchObject({ code: 0, stderr: expect.not.stringContaining('warning') });
    expect(profileIn(cwd)).toEqual({
      base_url: 'https://svc.test',
      username: 'ada',
      password_key: expect.stringMatching(/^default password [0-9a-f]{16}$/),
      basic_origins: ['https://svc.test'],
      token_key: expect.stringMatching(/^default token [0-9a-f]{16}$/),
      bearer_origins: ['https://svc.test'],
    });
    expect(keychainIn(cwd).sort()).toEqual(['pass-word-1', 'tok-en-1']);
    expect((await sendRequest(cwd)).authorization).toBe('Bearer tok-en-1');
    const status = await run(['auth', 'status', '--format', 'text'], cwd);
    expect(status.stdout).toContain('bearer: from profile "default" in the keychain, for https://svc.test');
  });

  it('leaves nothing in the keychain that no profile names', async () => {
    const cwd = temporaryDirectory();
    await run(login, cwd);
    await run(login, cwd, 'works', 'tok-en-2');
    expect(keychainIn(cwd)).toEqual(['tok-en-2']);
    await run(login.slice(0, -1), cwd, 'works', 'tok-en-3');
    expect(keychainIn(cwd)).toEqual([]);
    expect(profileIn(cwd)).toMatchObject({ token: 'tok-en-3' });
    expect(profileIn(cwd)).not.toHaveProperty('token_key');
    await run(login, cwd);
    expect(profileIn(cwd)).not.toHaveProperty('token');
    expect((await run(['auth', 'logout'], cwd)).stderr).toContain('removed the credentials');
    expect(keychainIn(cwd)).toEqual([]);
    await run(login, cwd);
    await run(['profile', 'remove', 'default', '--yes'], cwd);
    expect(keychainIn(cwd)).toEqual([]);
  });

  it('leaves nothing in the keychain if the profile cannot be saved', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config', 'config.json.next'), { recursive: true });
    expect((await run(login, cwd)).code).toBe(12);
    expect(keychainIn(cwd)).toEqual([]);
  });

  it.each<[Mode, string]>([
    ['locked', 'there is no keychain, or it is locked'],
    ['silent', 'it took longer than 3 s'],
  ])('falls back to the file, with one warning, if the keychain is %s', async (mode, why) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'pw'), 'pass-word-1');
    const result = await run([...login, '--username', 'ada', '--password-file', 'pw'], cwd, mode);
    expect(result.code).toBe(0);
    const warnings = result.stderr.split('\n').filter((line) => line.includes('warning'));
    expect(warnings).toEqual([
      `svc: warning: the secret is stored in the profile file (mode 0600), not in the keychain: ${why}`,
    ]);
    expect(profileIn(cwd)).toMatchObject({ password: 'pass-word-1', token: 'tok-en-1' });
    expect((await sendRequest(cwd, mode)).authorization).toBe('Bearer tok-en-1');
  });

  it.each<[Mode, string]>([
    ['locked', 'there is no keychain, or it is locked'],
    ['silent', 'it took longer than 3 s'],
    ['works', 'there is no such entry'],
  ])('a secret in a keychain that is %s later is exit 4; logout works, and reports what is left', async (mode, why) => {
    const cwd = temporaryDirectory();
    await run(login, cwd);
    if (mode === 'works') rmSync(join(cwd, 'keychain'));
    const result = await sendRequest(cwd, mode);
    expect(result).toMatchObject({ code: 4, authorization: undefined });
    expect(result.stderr).toContain(`: ${why}`);
    const logout = await run(['auth', 'logout'], cwd, mode);
    expect(logout).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('could not remove "default token'),
    });
    expect(profileIn(cwd)).toEqual({ base_url: 'https://svc.test' });
  });

  it.runIf(process.platform === 'linux')('calls the system: without a keychain service it falls back', async () => {
    const cwd = temporaryDirectory();
    const env = { SVC_CONFIG_DIR: join(cwd, 'config'), DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' };
    const result = await svc(login, { cwd, stdin: 'tok-en-1', env });
    expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('there is no keychain, or it is locked') });
    expect(profileIn(cwd)).toMatchObject({ token: 'tok-en-1' });
  });

  it.runIf(process.platform === 'linux')('does not wait for a service that hangs', async () => {
    const cwd = temporaryDirectory();
    const silent = createServer().listen(join(cwd, 'bus'));
    onTestFinished(() => void silent.close());
    const env = { SVC_CONFIG_DIR: join(cwd, 'config'), DBUS_SESSION_BUS_ADDRESS: `unix:path=${join(cwd, 'bus')}` };
    const asked = new Promise<void>((resolve) => silent.once('connection', () => resolve()));
    const runtime: Partial<Runtime> = {
      after: (milliseconds, action) => {
        if (milliseconds !== 3000) return after(milliseconds, action);
        // The limit passes once the service was asked.
        void asked.then(action);
        return () => {};
      },
    };
    const result = await svc(login, { cwd, stdin: 'tok-en-1', env, runtime });
    expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('it took longer than 3 s') });
  });
});
