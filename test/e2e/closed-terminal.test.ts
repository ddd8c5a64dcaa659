import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { program } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runLineOnTerminal, runUntilTerminalCloses } from '../support/terminal.ts';

if (!hasTerminal) process.stderr.write('skipped: closed terminals; script of util-linux is missing\n');

const login = ['auth', 'login', '--base-url', 'http://127.0.0.1:9'];
const callRun = ['call', 'run', '--local', '--project-id', 'a/b', '--spool=only'];

describe.skipIf(!hasTerminal)('a terminal that is closed', () => {
  it.each<readonly [name: string, text: string, codes: readonly number[], args: readonly string[]]>([
    // All of a short response may be printed by then.
    ['after the first output of a response', 'The', [129, 0], ['chat', '--local', 'hi']],
    ['at the prompt of a session', '> ', [129], ['chat', '--local']],
    ['at the prompt for a password', 'Password', [129], [...login, '--username', 'u']],
    ['at the first prompt of a login', 'What is the server for', [129], login],
    ['during a batch', '"line":1,', [129], ['chat', '--local', '--batch', 'in.jsonl']],
    ['during a traced command', 'ready', [129], [...callRun, '--', 'sh', '-c', 'echo ready; exec sleep 60']],
    [
      'during a traced command that handles SIGHUP',
      'ready',
      [3],
      [...callRun, '--', 'sh', '-c', 'trap "exit 3" HUP; echo ready; while :; do sleep 0.05; done'],
    ],
  ])('ends svc by SIGHUP, or with the code of the command: %s', async (_, text, codes, args) => {
    const run = (): Promise<number> => {
      const cwd = temporaryDirectory();
      writeFileSync(join(cwd, 'in.jsonl'), '{"messages":[{"role":"user","content":"hi"}]}\n'.repeat(500));
      return runUntilTerminalCloses(args, text, cwd);
    };
    for (const code of await Promise.all([run(), run(), run(), run()])) expect(codes).toContain(code);
  });
});

it.skipIf(!hasTerminal)('svc leaves the terminal modes that a traced command sets', async () => {
  const words = [process.execPath, program, ...callRun].join(' ');
  const { screen } = await runLineOnTerminal(`stty echo; ${words} -- stty -echo; stty -a`);
  expect(screen).toMatch(/ -echo /);
});
