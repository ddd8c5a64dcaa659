import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/svc.ts';

const root = new URL('../../', import.meta.url).pathname;
const isClone = existsSync(join(root, '.git'));
if (!isClone) process.stderr.write('skipped: the installation from a clone: this is not a clone\n');

/** The script of a section of a document. */
function scriptOf(document: string, section: string): string {
  const [, text = ''] = readFileSync(join(root, document), 'utf8').split(`\n## ${section}\n`);
  return /^```sh\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? '';
}

it.runIf(isClone)('a clone is installed as README says, and uninstalled without a trace', { timeout: 600_000 }, () => {
  const home = temporaryDirectory();
  const clone = join(home, 'svc');
  execFileSync('git', ['clone', '--quiet', root, clone]);
  // The registry and the cache of this machine, and no settings or files of svc.
  const cache = execFileSync('npm', ['config', 'get', 'cache'], { cwd: tmpdir(), encoding: 'utf8' }).trim();
  const npm = { npm_config_cache: cache, npm_config_prefer_offline: 'true' };
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(SVC|XDG)_/.test(name)));
  const env: Record<string, string | undefined> = { ...own, ...npm, HOME: home };
  const runIn = (cwd: string, script: string): string => {
    const { status, stdout, stderr } = spawnSync('bash', ['-e', '-c', script], { cwd, env, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
    return stdout;
  };
  expect(runIn(clone, scriptOf('README.md', 'Install'))).toMatch(/^svc \d+\.\d+\.\d+/m);
  env.PATH = `${home}/.local/bin:${process.env.PATH}`;
  runIn(home, 'svc profile set work --model m && svc chat --local hi');
  expect(runIn(home, 'man --path >/dev/null 2>&1; ls .local/share/man/man1')).toContain('svc-chat.1');
  runIn(home, scriptOf('docs/configuration.md', 'Uninstall'));
  const left = runIn(home, 'find .local .config .cache \\( -name "svc*" \\) 2>/dev/null || true');
  expect(left).toBe('');
});
