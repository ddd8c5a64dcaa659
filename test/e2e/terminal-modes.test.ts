import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { cleanEnv, program } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

// Runs a program on a terminal, signals it once a text appeared and the echo is off, and prints what tcgetattr says before and after.
const script = `
import json, os, pty, select, signal, sys, termios
name, text, *words = sys.argv[1:]
parent, child = pty.openpty()
before = termios.tcgetattr(child)
pid = os.fork()
if pid == 0:
    os.setsid()
    for fd in range(3): os.dup2(child, fd)
    os.execvp(words[0], words)
screen = b''
is_raw = False
is_signaled = False
while True:
    ready, _, _ = select.select([parent], [], [], 0.05)
    if ready: screen += os.read(parent, 65536)
    is_raw = not termios.tcgetattr(child)[3] & termios.ECHO
    if not is_signaled and is_raw and text.encode() in screen:
        is_signaled = True
        os.kill(pid, getattr(signal, name))
    done, status = os.waitpid(pid, os.WNOHANG)
    if done: break
# What the program wrote last may be unread.
while select.select([parent], [], [], 0)[0]: screen += os.read(parent, 65536)
after = termios.tcgetattr(child)
show = lambda modes: repr(modes)
print(json.dumps({'signaled': is_signaled, 'signal': os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
    'before': show(before), 'after': show(after), 'screen': screen.decode('utf8', 'replace')}))
`;
const hasPython = spawnSync('python3', ['-c', 'import pty, termios']).status === 0;
if (!hasPython) process.stderr.write('skipped: modes of the terminal; python3 is missing\n');

const login = ['auth', 'login', '--base-url', 'http://127.0.0.1:9'];
const prompts: readonly (readonly [string, string, readonly string[]])[] = [
  ['a hidden prompt', 'Password', [...login, '--username', 'u']],
  ['a prompt', 'What is the server for', login],
  ['a y/N prompt', '[y/N]', ['profile', 'remove', 'work']],
  ['a session', '> ', ['chat', '--local']],
];
const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

it
  .skipIf(!hasPython)
  .each(
    prompts.flatMap(([name, text, args]) =>
      Object.entries(signals).map(([signal, number]) => [name, signal, number, text, args] as const),
    ),
  )('%s gives the terminal back on %s', (_, signal, number, text, args) => {
  const cwd = temporaryDirectory();
  const words = ['-c', script, signal, text, process.execPath, program, ...args];
  const env = cleanEnv(cwd, { TERM: 'xterm-256color' });
  spawnSync(process.execPath, [program, 'profile', 'set', 'work', '--base-url', 'http://127.0.0.1:9'], { cwd, env });
  const { stdout, stderr } = spawnSync('python3', words, { cwd, env, encoding: 'utf8', timeout: 120_000 });
  const { before, screen, ...rest } = JSON.parse(stdout || JSON.stringify({ stderr }));
  expect({ ...rest, screen }).toEqual({
    signaled: true,
    signal: number,
    after: before,
    screen: expect.stringContaining(text),
  });
  // The marks of pastes are off as well.
  expect(screen.lastIndexOf('\x1b[?2004h')).toBeLessThanOrEqual(screen.lastIndexOf('\x1b[?2004l'));
});
