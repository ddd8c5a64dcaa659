import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runOnTerminal } from '../support/terminal.ts';

const history = { SVC_HISTORY: '1' };
const login = ['auth', 'login', '--base-url', 'https://svc.test'];

// The command, the exit code, what svc cannot do, and the next step.
const prompts: readonly (readonly [args: readonly string[], code: number, problem: string, hint: string])[] = [
  [['auth', 'login'], 2, 'cannot prompt {why}: Base URL', 'add --base-url'],
  [login, 4, 'cannot prompt for credentials {why}', 'pass --token-stdin'],
  [[...login, '--username', 'ada'], 4, 'cannot prompt {why}: Password of ada', 'pass --password-stdin'],
  [['profile', 'remove', 'work'], 2, 'cannot prompt {why}: Remove the profile "work"', 'add --yes'],
  [['log', 'clear'], 2, 'cannot prompt {why}: Remove all recorded requests (1)?', 'add --yes'],
  [['chat', '--local'], 2, 'cannot start an interactive chat {why}', 'give a prompt: svc chat --local <prompt>'],
];

/** A home with a profile and a recorded request. */
async function createHome(): Promise<string> {
  const cwd = temporaryDirectory();
  await svc(['profile', 'set', 'work', '--base-url', 'https://svc.test'], { cwd, stdin: '' });
  await svc(['chat', '--local', 'hi'], { cwd, env: history, stdin: '' });
  return cwd;
}

describe.skipIf(!hasTerminal)('at a terminal (skipped where `script` of util-linux is missing)', () => {
  it.each(prompts)('svc %j never prompts with --no-input or CI', async (args, code, problem, hint) => {
    const cwd = await createHome();
    for (const [more, env, why] of [
      [['--no-input'], {}, 'with --no-input'],
      [[], { CI: 'true' }, 'with CI set'],
    ] as const) {
      const ended = await runOnTerminal([...args, ...more], { cwd, env });
      expect(ended).toMatchObject({ code, screen: expect.stringContaining(problem.replace('{why}', why)) });
      expect(ended.screen).toContain(hint);
    }
    expect(JSON.parse((await svc(['log', '--json'], { cwd, stdin: '' })).stdout)).toHaveLength(1);
  });

  it('long help does not wait in a pager', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'pager'), '#!/bin/sh\ncat\ntouch paged\n', { mode: 0o755 });
    const PAGER = join(cwd, 'pager');
    for (const line of [
      ['chat', '--help', '--no-input'],
      ['help', 'chat', '--no-input'],
    ]) {
      expect((await runOnTerminal(line, { cwd, env: { PAGER } })).screen).toContain('svc help connection');
      expect(existsSync(join(cwd, 'paged'))).toBe(false);
    }
    await runOnTerminal(['help', 'chat'], { cwd, env: { PAGER } });
    expect(existsSync(join(cwd, 'paged'))).toBe(true);
  });

  it('svc log clear asks, and removes the history only after yes', async () => {
    const cwd = await createHome();
    const answer = (text: string) =>
      runOnTerminal(['log', 'clear', '--json', '--no-color'], { cwd, typed: [['(1)? [y/N] ', `${text}\r`]] });
    expect((await answer('')).screen).toContain('"removed": 0');
    expect((await answer('y')).screen).toContain('"removed": 1');
  });

  it('--no-color is --color never, and the last of them counts', async () => {
    const colored = async (...flags: string[]): Promise<boolean> =>
      (await runOnTerminal(['help', 'exit-codes', ...flags])).screen.includes('\x1b[');
    expect(await colored()).toBe(true);
    expect(await colored('--no-color')).toBe(false);
    expect(await colored('--color=always', '--no-color')).toBe(false);
    expect(await colored('--no-color', '--color', 'always')).toBe(true);
    expect((await runOnTerminal(['--no-color', 'nothing'])).screen).not.toContain('\x1b[');
  });
});

it('svc log clear needs --yes where there is no terminal', async () => {
  const cwd = await createHome();
  expect(await runBuilt(['log', 'clear'], { cwd })).toMatchObject({ code: 2, stdout: '' });
  const { code, stdout } = await runBuilt(['log', 'clear', '-y'], { cwd });
  expect({ code, removed: JSON.parse(stdout) }).toMatchObject({ code: 0, removed: { removed: 1, removed_prompts: 0 } });
});

it('-n is --dry-run', async () => {
  expect(await runBuilt(['chat', 'hi', '-n'])).toMatchObject(await runBuilt(['chat', 'hi', '--dry-run']));
  expect(await runBuilt(['chat', '-n', 'hi'])).toMatchObject({
    code: 0,
    stdout: '{"messages":[{"role":"user","content":"hi"}]}',
  });
});
