import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { svc, temporaryDirectory } from '../support/svc.ts';

function fifo(directory: string, name: string): string {
  const path = join(directory, name);
  execFileSync('mkfifo', [path]);
  return path;
}

const login = ['auth', 'login', '--base-url', 'https://svc.test'];

describe('a FIFO without a writer', () => {
  it('as --token-file ends with the signal', async () => {
    const cwd = temporaryDirectory();
    fifo(cwd, 'token');
    const result = await svc([...login, '--token-file', 'token'], {
      cwd,
      runtime: {
        onSignal: (listener) => {
          const timer = setTimeout(() => Reflect.apply(listener, undefined, ['SIGINT']), 200);
          return () => clearTimeout(timer);
        },
      },
    });
    expect(result.stderr).toContain('interrupted');
  });

  it('as --cacert ends with --timeout', async () => {
    const cwd = temporaryDirectory();
    fifo(cwd, 'ca.pem');
    const request = ['chat', 'x', '--no-stdin', '--base-url', 'https://svc.test', '--timeout', '1s'];
    const result = await svc([...request, '--cacert', 'ca.pem'], { cwd, env: { SVC_TOKEN: 't' } });
    expect(result).toMatchObject({ code: 12, stdout: '' });
    expect(result.stderr).toContain('cannot read ca.pem (--cacert): no data for 1 s');
  });

  it('as --expect ends with --timeout', async () => {
    const cwd = temporaryDirectory();
    fifo(cwd, 'saved.json');
    const request = ['feedback', 'schema', '--since', '1d', '--project-id', 'a/b', '--base-url', 'https://svc.test'];
    const env = { SVC_USERNAME: 'u', SVC_PASSWORD: 'pass-word' };
    const result = await svc([...request, '--expect', 'saved.json', '--timeout', '1s'], { cwd, env });
    expect(result).toMatchObject({ code: 12, stdout: '' });
    expect(result.stderr).toContain('no end of saved.json within 1 s; nothing was sent');
  });

  it('as config.json is an error', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'));
    fifo(join(cwd, 'config'), 'config.json');
    const result = await svc(['profile', 'list'], { cwd });
    expect(result).toMatchObject({ code: 12, stdout: '' });
    expect(result.stderr).toContain('it is not a regular file');
  });
});

describe('a device without an end', () => {
  it.each(['--token-file', '--password-file'])('as %s is an error', async (flag) => {
    const result = await svc([...login, '--username', 'ada', flag, '/dev/zero']);
    expect(result).toMatchObject({ code: 12, stdout: '' });
    expect(result.stderr).toContain('/dev/zero');
  });

  it('as --cacert is an error', async () => {
    const request = ['chat', 'x', '--no-stdin', '--base-url', 'https://svc.test', '--cacert', '/dev/zero'];
    const result = await svc(request, { env: { SVC_TOKEN: 't' } });
    expect(result).toMatchObject({ code: 12, stdout: '' });
    expect(result.stderr).toContain('16 MiB');
  });
});

describe('Basic credentials', () => {
  it.each([
    ['user name', 'a\nb', 'pw', 'a line feed'],
    ['user name', 'a\tb', 'pw', 'a control character'],
    ['password', 'ada', 'p\nw', 'a line feed'],
    ['password', 'ada', 'p\u007fw', 'a control character'],
  ])('with a control character in the %s are rejected', async (what, user, password, found) => {
    const cwd = temporaryDirectory();
    const stored = await svc([...login, '--username', user, '--password-stdin'], { cwd, stdin: password });
    expect(stored.code).toBe(4);
    expect(stored.stderr).toContain(`the ${what} contains ${found}`);
    const env = { SVC_USERNAME: user, SVC_PASSWORD: password };
    const call = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x', '--base-url', 'https://svc.test'];
    expect(await svc(call, { env })).toMatchObject({ code: 4 });
  });

  it('may have an empty password', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'pw'), '\n');
    const stored = await svc([...login, '--username', 'ada', '--password-file', 'pw'], { cwd });
    expect(stored.code).toBe(0);
    const { credentials } = JSON.parse((await svc(['auth', 'status', '--json'], { cwd })).stdout);
    expect(credentials).toMatchObject([{ scheme: 'basic', username: 'ada' }]);
  });
});

describe('a base URL', () => {
  it.each(['https://ex\nample.com', 'https://example.com\n', ' https://example.com', 'https://exam\tple.com/x'])(
    'is rejected with whitespace or control characters: %j',
    async (url) => {
      const result = await svc(['profile', 'set', 'p', '--base-url', url]);
      expect(result).toMatchObject({ code: 2, stdout: '' });
      expect(result.stderr).toContain('is not a valid URL');
    },
  );

  it.each([
    ['127.0.0.1:8080', 'write --base-url http://127.0.0.1:8080'],
    ['localhost', 'write --base-url http://localhost'],
    ['localhost:8080/v1', 'write --base-url http://localhost:8080/v1'],
    ['8080', 'write --base-url http://localhost:8080'],
    [':8080/v1', 'write --base-url http://localhost:8080/v1'],
    ['gpu-1:8000', 'write --base-url http://gpu-1:8000'],
    ['10.0.0.1', 'write --base-url http://10.0.0.1'],
    ['[::1]:8080', "write --base-url 'http://[::1]:8080'"],
    ['api.example.com/x', 'write --base-url https://api.example.com/x'],
    ['http//x', 'write --base-url http://x'],
    ['http:/x', 'write --base-url http://x'],
    ['https:x.com', 'write --base-url https://x.com'],
    ['htps://x.com/v1', 'write --base-url https://x.com/v1'],
    ['//x.com', 'write --base-url https://x.com'],
    ['ws://x.com', 'write --base-url http://x.com'],
    ['ftp://api.example.com', 'write --base-url https://api.example.com'],
    ['<https://x.com>', 'write --base-url https://x.com'],
    ['"https://x.com"', 'write --base-url https://x.com'],
    ['https://x.com/v1?api-version=1#a', 'write --base-url https://x.com/v1'],
    ['ada:pw-1@api.example.com', 'write --base-url https://api.example.com'],
    [
      'https://ada:pw-1@api.example.com',
      'write --base-url https://api.example.com; to store credentials, run: svc auth login',
    ],
    ['nope', 'use a URL like https://api.example.com'],
    ['$BASE_URL', 'use a URL like https://api.example.com'],
  ])('that is none is corrected: %s', async (url, hint) => {
    const { code, stderr } = await svc(['profile', 'set', 'p', '--base-url', url]);
    expect({ code, hint: stderr.split('\n')[1] }).toEqual({ code: 2, hint: `  ${hint}` });
    expect(stderr).not.toContain('pw-1');
  });

  it('of a variable is corrected by setting it', async () => {
    const { stderr } = await svc(['chat', 'hi'], { env: { SVC_BASE_URL: 'localhost:8080' } });
    expect(stderr).toContain('\n  run: export SVC_BASE_URL=http://localhost:8080\n');
  });
});

describe('a missing credential', () => {
  const login = 'svc auth login --profile default --base-url https://x.test';
  it.each([
    ['chat', { SVC_API_KEY: 'k' }, `run: export SVC_TOKEN="$SVC_API_KEY", or run: ${login}`],
    ['chat', { API_KEY: 'k' }, `run: export SVC_TOKEN="$API_KEY", or run: ${login}`],
    ['chat', { A_API_KEY: 'k' }, 'run: export SVC_TOKEN="$A_API_KEY", or add --token-env A_API_KEY, or run: '],
    ['chat', { A_API_KEY: 'k', B_API_KEY: 'k' }, 'or set SVC_TOKEN, or add --token-env <variable>'],
    ['call', { SVC_KEY: 'k' }, `run: export SVC_USERNAME=<name> SVC_PASSWORD="$SVC_KEY", or run: ${login}`],
    ['call', { SVC_AUTH_TOKEN: 'k' }, 'run: export SVC_USERNAME=<name> SVC_PASSWORD="$SVC_AUTH_TOKEN"'],
    ['call', { A_API_KEY: 'k' }, `run: ${login}, or set SVC_USERNAME=<name> SVC_PASSWORD=<password>`],
  ])('of %s is taken from %j', async (command, variables, hint) => {
    const args =
      command === 'chat' ? ['chat', 'hi', '-m', 'm'] : ['call', 'start', '--project-id', 'a/b', '--op-name', 'x'];
    const { code, stderr } = await svc(args, { env: { SVC_BASE_URL: 'https://x.test', ...variables } });
    expect(code).toBe(4);
    expect(stderr).toContain(hint);
  });
});
