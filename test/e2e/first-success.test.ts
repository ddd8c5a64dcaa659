import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serve } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const root = new URL('../../', import.meta.url).pathname;
const readme = readFileSync(join(root, 'README.md'), 'utf8');

// A newcomer has an empty home, the installed package, the files of test/demo, and the README; nothing else is typed here.
describe('from an empty home, with the steps of the README only', () => {
  it('come the five results, then a profile for a service, then the script for CI', { timeout: 240_000 }, async () => {
    const { home, run } = installPackage();
    cpSync(join(root, 'test/demo'), home, { recursive: true });
    const [quickStart = '', withService = ''] = sectionBlocks('Quick start', 'console');
    const [script = ''] = sectionBlocks('In scripts and CI', 'sh');

    const results = commandsOf(quickStart).map((command) => ({ command, ...run(command) }));
    expect(results.map(({ command, status }) => `${command.split(' --')[0]}: ${status}`)).toEqual([
      'svc chat: 0',
      'svc feedback replace: 0',
      'svc feedback schema: 0',
      'svc train: 0',
      'svc call start: 0',
    ]);
    expect(results.every(({ stdout }) => stdout.trim() !== '')).toBe(true);

    const { url, env } = await serve();
    const secrets = {
      EXAMPLE_USERNAME: env.SVC_USERNAME ?? '',
      EXAMPLE_PASSWORD: env.SVC_PASSWORD ?? '',
      EXAMPLE_TOKEN: env.SVC_TOKEN ?? '',
    };
    const atService = (text: string): string => text.replaceAll('https://api.example.com', url);
    for (const command of commandsOf(withService))
      expect(run(atService(command), secrets), command).toMatchObject({ status: 0 });
    expect(readFileSync(join(home, '.config/svc/config.json'), 'utf8')).toContain('"svc-local"');

    expect(run(atService(script), secrets)).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(readFileSync(join(home, 'call.out'), 'utf8'))).toMatchObject({ id: expect.any(String) });
    expect(readdirSync(join(home, '.local/share/svc')).length).toBeGreaterThan(0);
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

/** The blocks of a language in a section of the README. */
function sectionBlocks(heading: string, language: string): string[] {
  const section = readme.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(({ 1: found, 2: text = '' }) =>
    found === language ? [text] : [],
  );
}

function commandsOf(block: string): string[] {
  return block.split('\n').flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []));
}
