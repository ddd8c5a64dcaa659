import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serve } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const root = new URL('../../', import.meta.url).pathname;
const readme = readFileSync(join(root, 'README.md'), 'utf8');

// A newcomer has an empty home, the installed package and the README; nothing else is typed here.
describe('from an empty home, with the README only', () => {
  it('each command works as printed, in its order', { timeout: 240_000 }, async () => {
    const { home, run } = installPackage();
    // The copy of the examples in which README runs its commands.
    cpSync(join(root, 'test/demo'), home, { recursive: true });
    const { url, env } = await serve();
    const secrets = { EXAMPLE_TOKEN: env.SVC_TOKEN ?? '' };
    const commands = readmeCommands();
    expect(commands.length).toBeGreaterThan(5);
    for (const command of commands) {
      const { status, stderr } = run(command.replaceAll('https://api.example.com', url), secrets);
      expect({ status, stderr }, command).toMatchObject({ status: 0 });
    }
    expect(readFileSync(join(home, '.config/svc/config.json'), 'utf8')).toContain(url);
    expect(readFileSync(join(home, 'out.jsonl'), 'utf8').trim().split('\n')).toHaveLength(2);
    expect(readFileSync(join(home, 'r.xml'), 'utf8')).toContain('failures="0"');
  });

  it('the five results come from the demo', { timeout: 240_000 }, () => {
    const home = temporaryDirectory();
    const setting = { cwd: root, env: { PATH: process.env.PATH ?? '', HOME: home }, encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync('bash', ['test/demo/demo.sh'], setting);
    expect({ status, stderr }).toMatchObject({ status: 0 });
    for (const command of ['feedback replace', 'feedback schema', 'chat', 'train', 'call start'])
      expect(stdout).toContain(`$ svc ${command}`);
    // Node 22 and later keep compiled code there (docs/configuration.md).
    expect(readdirSync(home).filter((name) => name !== '.cache')).toEqual([]);
  });
});

/** What `npm install -g` of the packed package leaves, and bash with nothing but it in an empty home. */
function installPackage() {
  const home = temporaryDirectory();
  const store = temporaryDirectory();
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', store];
  const file = execFileSync('npm', args, { cwd: root, encoding: 'utf8' }).trim();
  const installed = join(store, 'node_modules');
  mkdirSync(join(installed, 'svc-cli'), { recursive: true });
  execFileSync('tar', ['xzf', join(store, file), '--strip-components=1', '-C', join(installed, 'svc-cli')]);
  for (const name of readdirSync(join(root, 'node_modules')).filter((one) => !one.startsWith('.')))
    symlinkSync(join(root, 'node_modules', name), join(installed, name));
  mkdirSync(join(store, 'bin'));
  symlinkSync(join(installed, 'svc-cli/bin/svc.js'), join(store, 'bin/svc'));
  const path = `${join(store, 'bin')}:${join(process.execPath, '..')}:${process.env.PATH}`;
  return {
    home,
    run: (command: string, env: Readonly<Record<string, string>> = {}) => {
      const setting = { cwd: home, env: { PATH: path, HOME: home, ...env }, encoding: 'utf8', input: '' } as const;
      const { status, stdout, stderr } = spawnSync('bash', ['-c', command], setting);
      return { status, stdout, stderr };
    },
  };
}

/** The commands of terminal sessions, and the scripts, in their order. */
function readmeCommands(): string[] {
  return [...readme.matchAll(/^```(console|sh)\n([\s\S]*?)^```$/gm)].flatMap(({ 1: language, 2: text = '' }) => {
    if (text.startsWith('npm ')) return [];
    return language === 'sh'
      ? [`set -e\n${text}`]
      : Array.from(text.matchAll(/^\$ ((?:.*\\\n)*.*)$/gm), ([, line = '']) => line);
  });
}
