import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const clone = mkdtempSync(join(tmpdir(), 'svc-release-'));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

beforeAll(() => {
  execFileSync('git', ['clone', '--quiet', '--shared', root, clone]);
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  appendFileSync(join(clone, '.git/info/exclude'), 'node_modules\n');
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

function edit(path: string, from: string | RegExp, to: string): void {
  const text = readFileSync(join(clone, path), 'utf8');
  expect(text).toMatch(from);
  writeFileSync(join(clone, path), text.replace(from, to));
}

function commit(): void {
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.test'];
  execFileSync('git', [...identity, 'commit', '--quiet', '--allow-empty', '--all', '--message', 'test'], {
    cwd: clone,
  });
}

function check(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const { GITHUB_REF_TYPE, ...own } = process.env;
  const options = { cwd: clone, encoding: 'utf8', env: { ...own, ...env } } as const;
  return spawnSync('npm', ['run', '--silent', 'release:check', '--', ...args], options);
}

describe('npm run release:check in a fresh clone', () => {
  it('rejects a version that differs, also from the tag', () => {
    edit('src/version.ts', version, '9.9.9');
    expect(check()).toMatchObject({ status: 1, stderr: expect.stringContaining('src/version.ts has version 9.9.9') });
    edit('src/version.ts', '9.9.9', version);
    const tag = { GITHUB_REF_TYPE: 'tag', GITHUB_REF_NAME: 'v9.9.8' };
    expect(check([], tag)).toMatchObject({ status: 1, stderr: expect.stringContaining('the tag has version 9.9.8') });
  });

  it('rejects a changelog without a date of this version', () => {
    edit('CHANGELOG.md', /^## .*$/m, `## ${version} (2026-02-30)`);
    expect(check()).toMatchObject({ status: 1, stderr: expect.stringContaining('write "## ') });
  });

  it('rejects a tree with changes', () => {
    edit('CHANGELOG.md', /^## .*$/m, `## ${version} (2026-01-01)`);
    expect(check()).toMatchObject({ status: 1, stderr: expect.stringContaining('commit or remove these files:') });
  });

  it('builds, packs, installs and demonstrates the package, and writes what is published', () => {
    commit();
    const { status, stdout, stderr } = check(['--destination', 'release']);
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(/ok: install\nok: the installed version\nok: the demo\nsvc-cli \S+ can be released\n$/);
    const checked = spawnSync('sha256sum', ['--check', 'SHA256SUMS'], {
      cwd: join(clone, 'release'),
      encoding: 'utf8',
    });
    expect(checked.stdout).toBe(`svc-cli-${version}.tgz: OK\nsbom.cdx.json: OK\n`);
  });
});
