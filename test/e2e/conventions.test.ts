import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { allOperations } from '../../src/operations/all-operations.ts';
import { runBuilt } from '../support/built.ts';
import { type Finished, inShell, start, waitForExit } from '../support/process.ts';
import { connectProxy, listening } from '../support/secure-servers.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runOnTerminal } from '../support/terminal.ts';

const root = new URL('../../', import.meta.url).pathname;
const credentials = { SVC_USERNAME: 'ada', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1' };
const schema = ['feedback', 'schema', '--project-id', 'acme/bot', '--since', '7d'];
const escapeCharacter = String.fromCharCode(27);

/** A service on loopback that responds with one body, and counts its requests. */
async function service(body: string | undefined) {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    if (body !== undefined) response.end(body);
  });
  const port = await listening(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { env: { ...credentials, SVC_BASE_URL: `http://127.0.0.1:${port}` }, requests: () => requests };
}

// What users of other command-line tools expect, each with the command that shows it.
describe('the 20 conventions', () => {
  it.each([
    ['profile', 'list'],
    ['auth', 'status'],
    ['train', 'log'],
    ['spec', 'chat'],
    ['help', '--json'],
    [...schema, '--local'],
    ['call', 'start', '--local', '--project-id', 'acme/bot', '--op-name', 'x'],
  ])('1. results in pipes are JSON: svc %s %s', async (...args) => {
    expect(JSON.parse((await runBuilt(args)).stdout)).toBeDefined();
  });

  it('2. shared flags stand before or after the command', async () => {
    const [before, after] = await Promise.all([
      runBuilt(['--local', '--json', ...schema]),
      runBuilt([...schema, '--local', '--json']),
    ]);
    expect(before).toEqual(after);
  });

  it('3. help starts with usage and examples, and -h fits a screen', async () => {
    const [long, short] = await Promise.all([runBuilt(['chat', '--help']), runBuilt(['chat', '-h'])]);
    expect(long.stdout.indexOf('Examples:')).toBeGreaterThan(long.stdout.indexOf('Usage:'));
    expect(long.stdout.indexOf('Examples:')).toBeLessThan(long.stdout.indexOf('--temperature'));
    expect(short.stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(24);
  });

  it.each(allOperations.map(({ command }) => command.join(' ')))(
    '3. the first example of svc %s runs as printed, in an empty home',
    async (name) => {
      const { stdout } = await runBuilt([...name.split(' '), '-h']);
      const [, example = ''] = /^ {2}(svc [^#\n]*--local.*?)(?: {2,}#.*)?$/m.exec(stdout) ?? [];
      const { code, stdout: result, stderr } = await inShell(`${example} --no-input`, { cwd: temporaryDirectory() });
      expect([code, result === '', stderr.includes('svc:')], stderr).toEqual([0, false, false]);
    },
  );

  it('3. help names the guides as installed, and needs no valid configuration', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'));
    writeFileSync(join(cwd, 'config/config.json'), '{');
    for (const args of [['-h'], ['--help'], ['chat', '-h'], ['chat', '--help'], ['call', '-h']]) {
      const { code, stdout } = await runBuilt(args, { cwd, env: { SVC_CONFIG_DIR: join(cwd, 'config') } });
      const [, guides = ''] = /Guides:\s(\S+)/.exec(stdout) ?? [];
      expect([code, existsSync(join(guides, 'chat.md'))], args.join(' ')).toEqual([0, true]);
      expect(stdout.trimEnd().endsWith(guides), args.join(' ')).toBe(true);
      // Without a repository there is no address.
      expect(stdout).not.toMatch(/https?:\/\/\S*OWNER/);
    }
  });

  it.skipIf(!hasTerminal)('4. TERM=dumb and CI draw nothing', async () => {
    for (const env of [{ TERM: 'dumb' }, { CI: '1', NO_COLOR: '1' }])
      expect((await runOnTerminal([...schema, '--local'], { env })).screen).not.toContain(escapeCharacter);
  });

  it.skipIf(!hasTerminal)('5. NO_COLOR removes all color, --color always overrides it', async () => {
    const [plain, colored] = await Promise.all([
      runOnTerminal(['chta'], { env: { NO_COLOR: '1' } }),
      runOnTerminal(['chta', '--color', 'always'], { env: { NO_COLOR: '1' } }),
    ]);
    expect(plain.screen).not.toContain(escapeCharacter);
    expect(colored.screen).toContain(`${escapeCharacter}[31msvc:${escapeCharacter}[39m unknown command`);
  });

  it('6. every command has a man page, and the package installs it', () => {
    const { man, files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const pages = readdirSync(join(root, 'docs/man')).map((name) => `docs/man/${name}`);
    expect([...man].sort()).toEqual(pages.sort());
    expect(files).toContain('docs/man');
  });

  it('7. JSON errors have a schema version', async () => {
    const { stderr } = await runBuilt(['chta', '--error-format', 'json']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { schema_version: 1, code: 'usage', exit_code: 2 } });
  });

  it('8. svc writes only the files that its guide on uninstalling lists', async () => {
    const home = temporaryDirectory();
    const line = 'svc profile set work --base-url https://svc.invalid && svc chat --local hi --no-stdin';
    const { code } = await inShell(`unset SVC_CONFIG_DIR SVC_DATA_DIR; ${line}`, { cwd: home });
    expect(code).toBe(0);
    const directories = ['.config/svc', '.local/share/svc', '.cache/svc'];
    const written = spawnSync('find', [home, '-type', 'f'], { encoding: 'utf8' }).stdout.trim().split('\n');
    const paths = written.map((path) => path.slice(home.length + 1));
    expect(paths.filter((path) => !directories.some((directory) => path.startsWith(directory)))).toEqual([]);
    const guide = readFileSync(join(root, 'docs/configuration.md'), 'utf8');
    for (const directory of directories) expect(guide).toContain(`~/${directory}`);
  });

  it('9. stdout has the result and nothing else', async () => {
    const { env } = await service('{"paths":[],"surprise":1}');
    const { stdout, stderr } = await runBuilt([...schema, '-v'], { env });
    expect(stdout).toBe('{"paths":[],"surprise":1}\n');
    expect(stderr).toContain('POST ');
  });

  it('10. the XDG directories are used', async () => {
    const home = temporaryDirectory();
    const line = 'unset SVC_CONFIG_DIR; XDG_CONFIG_HOME="$PWD/xdg" svc profile set work --base-url https://svc.invalid';
    await inShell(line, { cwd: home });
    expect(existsSync(join(home, 'xdg/svc/config.json'))).toBe(true);
  });

  it('11. there is no telemetry: nothing but the service is contacted', async () => {
    const proxy = await connectProxy('403 Forbidden');
    const url = `http://127.0.0.1:${proxy.port}`;
    const { env, requests } = await service('{"paths":[]}');
    expect((await runBuilt(schema, { env: { ...env, HTTPS_PROXY: url, HTTP_PROXY: url } })).code).toBe(0);
    expect([requests(), proxy.seen]).toEqual([1, []]);
  });

  it('12. HTTPS_PROXY and NO_PROXY are obeyed', async () => {
    const proxy = await connectProxy('403 Forbidden');
    const env = { ...credentials, SVC_BASE_URL: 'https://svc.invalid', HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
    const args = [...schema, '--retries', '0'];
    await Promise.all([runBuilt(args, { env }), runBuilt(args, { env: { ...env, NO_PROXY: 'svc.invalid' } })]);
    expect(proxy.seen.map((head) => head.split('\r\n')[0])).toEqual(['CONNECT svc.invalid:443 HTTP/1.1']);
  });

  it('13. a signal ends svc by the signal, and the message says whether the request was sent', async () => {
    const { env, requests } = await service(undefined);
    const child = start(schema, { env });
    const end = waitForExit(child);
    while (requests() === 0) await new Promise((resolve) => setImmediate(resolve));
    child.kill('SIGINT');
    const { signal, stderr } = await end;
    expect([signal, stderr.split('\n')[0]]).toEqual(['SIGINT', 'svc: interrupted; the request was sent']);
  });

  it('14. a dry run prints the body, and sends nothing', async () => {
    const { env, requests } = await service('{}');
    const { code, stdout } = await runBuilt(['chat', '-m', 'm', 'hi', '--dry-run'], { env });
    expect([code, JSON.parse(stdout), requests()]).toEqual([
      0,
      { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
      0,
    ]);
  });

  it('15. secrets never appear, not even with -v', async () => {
    const { env } = await service('{"paths":[]}');
    const results = await Promise.all([runBuilt([...schema, '-v'], { env }), runBuilt([...schema, '--curl'], { env })]);
    const text = results.map(({ stdout, stderr }) => stdout + stderr).join('');
    const basic = Buffer.from('ada:pass-word-1').toString('base64');
    for (const secret of ['pass-word-1', 'tok-en-1', basic]) expect(text).not.toContain(secret);
  });

  it('16. the exit code says what to do next', async () => {
    const unreachable = { ...credentials, SVC_BASE_URL: 'http://127.0.0.1:1', SVC_RETRIES: '0' };
    const results: Finished[] = await Promise.all([
      runBuilt([...schema, '--local']),
      runBuilt(['chta']),
      runBuilt([...schema, '--sample-limit', '0', '--local']),
      runBuilt(schema, { env: { SVC_BASE_URL: 'https://svc.invalid' } }),
      runBuilt(schema, { env: unreachable }),
      runBuilt([...schema, '--cacert', 'none.pem'], { env: unreachable }),
    ]);
    expect(results.map(({ code }) => code)).toEqual([0, 2, 3, 4, 7, 12]);
  });

  it('17. times are ISO 8601, in UTC', async () => {
    const { stdout } = await runBuilt('call start --local --project-id a/b --op-name x --dry-run'.split(' '));
    expect(JSON.parse(stdout).start.started_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  });

  it('18. text of a service cannot control the terminal', async () => {
    const { env } = await service('{"detail":"no choices here"}\u001b[2J');
    const { stderr } = await runBuilt(schema, { env });
    expect(stderr).not.toContain(escapeCharacter);
  });

  it.each(['bash', 'zsh', 'fish'])('19. there is completion for %s', async (shell) => {
    const { code, stdout } = await runBuilt(['completion', shell]);
    expect([code, stdout.includes('svc __complete')]).toEqual([0, true]);
    if (shell === 'bash') expect(spawnSync('bash', ['-n'], { input: stdout }).status).toBe(0);
    expect((await runBuilt(['__complete', 'chat', '--temp'])).stdout).toMatch(/^--temperature\tSampling temperature$/m);
  });

  it('20. a setting comes from the flag, the environment, or the profile, in this order, and doctor names the source', async () => {
    const cwd = temporaryDirectory();
    await runBuilt(['profile', 'set', 'work', '--base-url', 'http://127.0.0.1:1/profile'], { cwd });
    const sourceOf = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> => {
      const { stdout } = await runBuilt(['doctor', '--json', '--profile', 'work', ...args], { cwd, env });
      const { settings }: { settings: { name: string; source: string }[] } = JSON.parse(stdout);
      return settings.find(({ name }) => name === 'chat_base_url')?.source ?? '';
    };
    const env = { SVC_BASE_URL: 'http://127.0.0.1:1/environment' };
    const sources = [sourceOf(['--base-url', 'http://127.0.0.1:1/flag'], env), sourceOf([], env), sourceOf([], {})];
    expect(await Promise.all(sources)).toEqual(['--base-url', 'SVC_BASE_URL', 'base_url of profile "work"']);
  });
});
