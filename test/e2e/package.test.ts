import { execFileSync, spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grownParts, HEADROOM } from '../support/bundle-parts.ts';
import { cleanEnv } from '../support/process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'svc-package-'));
const installed = join(directory, 'node_modules');
const home = join(directory, 'home');
let packed = { filename: '', size: 0, unpackedSize: 0, files: [{ path: '' }] };

// As an installation without scripts leaves it: the package, and what it depends on, links to what is installed here.
beforeAll(() => {
  mkdirSync(home);
  const args = ['pack', '--ignore-scripts', '--silent', '--json', '--pack-destination', directory];
  [packed] = JSON.parse(
    execFileSync('npm', args, { cwd: root, encoding: 'utf8', env: { ...process.env, HOME: home } }),
  );
  mkdirSync(join(installed, 'svc-cli'), { recursive: true });
  execFileSync('tar', [
    'xzf',
    join(directory, packed.filename),
    '--strip-components=1',
    '-C',
    join(installed, 'svc-cli'),
  ]);
  for (const name of dependenciesOf(join(installed, 'svc-cli'))) {
    mkdirSync(join(installed, name, '..'), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(installed, name));
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function dependenciesOf(path: string): string[] {
  const { dependencies = {}, optionalDependencies = {} }: { [kind: string]: Record<string, string> } = JSON.parse(
    readFileSync(join(path, 'package.json'), 'utf8'),
  );
  return Object.keys({ ...dependencies, ...optionalDependencies });
}

function svc(args: readonly string[]) {
  const program = join(installed, 'svc-cli/bin/svc.js');
  return spawnSync(process.execPath, [program, ...args], {
    cwd: home,
    env: cleanEnv(home),
    encoding: 'utf8',
    input: 'tok-en-1',
  });
}

describe('the package', () => {
  it.each<[string, RegExp]>([
    ['--version', /^svc \d/],
    ['--help', /Operations:/],
    ['help exit-codes', /130/],
    ['chat hi --local --no-stdin', /^You said "hi"/],
    ['chat hi --local --no-stdin --stream --format jsonl', /"delta"/],
    ['call start --project-id a/b --op-name x --local', /trace_id/],
    [`feedback replace -f ${root}test/demo/feedback.json --local`, /"created_at"/],
    [`train -f ${root}test/demo/job.json --local`, /"id"/],
    ['feedback schema --project-id a/b --since 1d --local', /"paths"/],
    ['profile set work --base-url https://svc.test', /^/],
    ['profile list', /work/],
    ['profile show work', /svc\.test/],
    ['profile use work', /^/],
    ['auth login --profile work --base-url https://svc.test --token-stdin', /^/],
    ['auth status', /work/],
    ['auth logout --profile work', /^/],
    ['profile remove work --yes', /^/],
    ['spec chat', /"\$schema"/],
    ['spec --openapi', /"openapi"/],
    ['completion zsh', /#compdef svc/],
    ['__complete chat --temp', /^--temperature\t/m],
    ['doctor --local', /./],
  ])('installed alone does: svc %s', (line, wanted) => {
    const { status, stdout, stderr } = svc(line.split(' '));
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(wanted);
  });

  it('is small: about 880 kB packed, 2.6 MB installed with what it needs, native code aside', () => {
    expect(packed.size, grownParts()).toBeLessThan(880_000 * HEADROOM);
    const others = ['libsql', '@neon-rs/load', 'detect-libc', '@napi-rs/keyring'];
    const bytes = others.map((name) => bytesIn(join(root, 'node_modules', name)));
    expect(
      bytes.reduce((sum, some) => sum + some, packed.unpackedSize),
      grownParts(),
    ).toBeLessThan(2_600_000 * HEADROOM);
  });

  it('contains every guide that its README names', () => {
    const text = readFileSync(join(installed, 'svc-cli/README.md'), 'utf8');
    const guides = [...text.matchAll(/\]\((docs\/[\w-]+\.md)\)/g)].map(([, path]) => path);
    expect(guides.length).toBeGreaterThan(10);
    expect(packed.files.map(({ path }) => path)).toEqual(expect.arrayContaining(guides));
  });

  it('contains code and documents, and the license of everything bundled', () => {
    const directories = new Set(
      packed.files.map(({ path }) => (path.includes('/') ? path.replace(/\/.*/, '/') : path)),
    );
    expect([...directories].sort()).toEqual([
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'bin/',
      'completions/',
      'dist/',
      'docs/',
      'package.json',
    ]);
    expect(packed.files.map(({ path }) => path)).not.toContain('dist/meta.json');
    const notices = readFileSync(join(installed, 'svc-cli/dist/notices.txt'), 'utf8');
    const { inputs }: { inputs: object } = JSON.parse(readFileSync(join(root, 'dist/meta.json'), 'utf8'));
    for (const file of Object.keys(inputs)) {
      const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1];
      if (name) expect(notices).toMatch(new RegExp(`^${name} \\d`, 'm'));
    }
  });
});

it('a printed stack trace names source files', () => {
  const program = `
    import { main } from ${JSON.stringify(pathToFileURL(join(root, 'dist/main.js')).href)};
    const env = { get SVC_CONFIG_DIR() { throw new TypeError('unforeseen'); } };
    const { stdin, stdout, stderr } = process;
    const later = () => () => {};
    process.exitCode = await main({ argv: ['profile', 'list'], env, stdin, stdout, stderr, after: later, onSignal: later });`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toMatch(/unforeseen[\s\S]*\(src\/config\/directories\.ts:\d+:\d+\)/);
  expect(stderr).not.toContain('/dist/');
});

function bytesIn(path: string): number {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => lstatSync(join(path, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}
