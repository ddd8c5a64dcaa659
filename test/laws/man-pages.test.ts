import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manPages } from '../../scripts/man-pages.ts';
import { allCommands } from '../../src/cli/all-commands.ts';
import { temporaryDirectory } from '../support/svc.ts';

const docs = new URL('../../docs/man/', import.meta.url).pathname;
const hasMan = spawnSync('man', ['--version']).status === 0;

describe('the manual pages', () => {
  it('are all installed by npm', () => {
    const { man } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(man, 'list the pages of docs/man in package.json').toEqual(
      manPages.map(({ file }) => `docs/man/${file}`).sort(),
    );
  });

  it.each(manPages)('$file has the date of the release and no empty paragraph', ({ file }) => {
    const page = readFileSync(join(docs, file), 'utf8');
    expect(page, 'date the heading of the version in CHANGELOG.md').toMatch(/^\.TH \S+ 1 "\d{4}-\d\d-\d\d" /m);
    expect(page).not.toMatch(/^\.PP\n\.S[HS]|^\.S[HS].*\n\.PP/m);
  });

  it.skipIf(!hasMan).each(manPages)('man shows $file without warnings', ({ file }) => {
    const args = ['--warnings=all', '--local-file', '--encoding=UTF-8', join(docs, file)];
    const { status, stdout, stderr } = spawnSync('man', args, {
      env: { ...process.env, MANWIDTH: '80', MANPAGER: 'cat', LC_ALL: 'C.UTF-8' },
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('EXIT STATUS');
  });

  it.each([
    ['svc-call-run.1', ['2', '126', '127']],
    ['svc-profile-list.1', ['0', '1', '2', '11', '12', '13', '129', '130', '143']],
    ['svc-auth-status.1', ['0', '1', '2', '4', '11', '12', '13', '129', '130', '143']],
    ['svc-chat.1', ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '12', '13', '129', '130', '143']],
  ])('%s lists the exit codes of its command', (file, codes) => {
    const [, status = ''] = readFileSync(join(docs, file), 'utf8').split('.SH EXIT STATUS\n');
    expect([...(status.split('.SH ')[0] ?? '').matchAll(/^\\fB(\d+)\\fR$/gm)].map(([, code]) => code)).toEqual(codes);
  });

  it('of commands that run another one list the exit codes of a shell', () => {
    const running = allCommands.filter(({ argument }) => argument?.usage?.startsWith('--')).map(({ words }) => words);
    expect(running).toContainEqual(['call', 'run']);
    for (const words of running)
      expect(readFileSync(join(docs, `svc-${words.join('-')}.1`), 'utf8')).toContain('\\fB127\\fR');
  });

  it.skipIf(!hasMan)('man finds svc-chat by name, with its flags and examples as typed', () => {
    const home = temporaryDirectory();
    mkdirSync(join(home, 'man1'));
    symlinkSync(join(docs, 'svc-chat.1'), join(home, 'man1', 'svc-chat.1'));
    const { stdout } = spawnSync('man', ['svc-chat'], {
      env: { ...process.env, MANPATH: home, MANWIDTH: '80', MANPAGER: 'cat', LC_ALL: 'C.UTF-8' },
      encoding: 'utf8',
    });
    expect(stdout).toMatch(/^NAME\n {7}svc-chat - Create a chat completion$/m);
    expect(stdout).toContain("printf 'Parcels take two days.\\n' | svc chat");
    expect(stdout).toMatch(/^ +--\[no-\]echo$/m);
  });
});
