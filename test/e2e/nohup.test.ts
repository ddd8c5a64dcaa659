import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { cleanEnv, program, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

// Runs a program in a session with a controlling terminal, its streams in files, and prints its process id and its end.
const script = `
import os, pty, fcntl, sys, termios
parent, child = pty.openpty()
pid = os.fork()
if pid == 0:
    os.setsid()
    if sys.argv[1] == 'terminal': fcntl.ioctl(child, termios.TIOCSCTTY, 0)
    os.dup2(os.open('/dev/null', os.O_RDONLY), 0)
    os.dup2(os.open('log.txt', os.O_WRONLY | os.O_CREAT), 1)
    os.dup2(1, 2)
    os.execvp(sys.argv[2], sys.argv[2:])
print(pid, flush=True)
_, status = os.waitpid(pid, 0)
print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 'exit %d' % os.WEXITSTATUS(status))
`;
const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0;
if (!hasPython) process.stderr.write('skipped: nohup; python3 is missing\n');

it.skipIf(!hasPython).each([
  ['a terminal of its own', 'terminal', 'SIGHUP', 'exit 0'],
  ['a terminal of its own', 'terminal', 'SIGTERM', '15'],
  ['no terminal', 'none', 'SIGHUP', '1'],
] as const)('a batch without a stream on %s (%s) that gets %s ends with %s', async (_, kind, signal, end) => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'in.jsonl'), '{"messages":[{"role":"user","content":"hi"}]}\n'.repeat(3));
  let respond = (): void => {};
  const held = new Promise<void>((resolve) => {
    respond = resolve;
  });
  const server = await countingServer(String, (_, response) => {
    void held.then(() =>
      answerJson(response, { choices: [{ index: 0, message: { role: 'assistant', content: 'ok' } }] }),
    );
  });
  const words = [
    process.execPath,
    program,
    'chat',
    '-m',
    'm',
    '--batch',
    'in.jsonl',
    '-o',
    'out.jsonl',
    '--concurrency',
    '1',
  ];
  const env = cleanEnv(cwd, { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url });
  const child = spawn('python3', ['-c', script, kind, ...words], { cwd, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = waitForExit(child);
  const [line] = await new Promise<string[]>((resolve) =>
    child.stdout.once('data', (bytes) => resolve([String(bytes)])),
  );
  await expect.poll(() => server.counts.size, { timeout: 60_000 }).toBe(1);
  process.kill(Number(line), signal);
  // The batch waits for its request in flight; a SIGHUP that counts ends it all the same.
  if (end !== '1') respond();
  const { stdout } = await ended;
  expect({ end: stdout.trim().split('\n').at(-1), log: readFileSync(join(cwd, 'log.txt'), 'utf8') }).toMatchObject({
    end,
  });
});
