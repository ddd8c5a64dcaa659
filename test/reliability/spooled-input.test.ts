import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { chats } from '../e2e/batch.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { type Finished, run, start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const chat = JSON.stringify(chats.line(1));
const trajectory = '{"trajectories":[{"reward":1,"logs":[]}]}';
const modelId = '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05';
const inputs: readonly [name: string, args: readonly string[], line: string, start?: string][] = [
  ['a resumed batch', ['chat', '-o', 'out', '--resume', '--batch'], chat],
  ['a sample of a batch', ['chat', '-o', 'sample', '--sample', '1', '--batch'], chat],
  ['a batch of rows', ['chat', '-m', 'm', '-o', 'rows', '--prompt', '{{line}}', '--rows'], 'hello there'],
  ['spans', ['call', 'import', '-o', 'spans', '--sample', '1', '--project-id', 'a/b'], '{"resourceSpans":[]}'],
  ['trajectories', ['train', '--model-id', modelId], trajectory],
  ['a training body', ['train', '-f'], `${trajectory},`, `{"model_id":"${modelId}","trajectory_groups":[`],
];

/** A directory with the output of one line, and a service that nothing more is to be sent to. */
async function directory(cwd = temporaryDirectory()) {
  const { url, counts } = await countingServer(chats.keyOf, (_, response) => answerJson(response, chats.reply));
  const env = { SVC_TOKEN: 'tok-en-1', SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_BASE_URL: url };
  const first = await run(['chat', '--batch', '-', '-o', 'out'], { cwd, env, stdin: chat });
  expect(first.code, first.stderr).toBe(0);
  return { cwd, env, sent: () => [...counts.values()].reduce((sum, count) => sum + count, -1) };
}

/** Runs a command whose input never ends. */
function endless(
  kind: string,
  [, args, line, first = '']: (typeof inputs)[number],
  flags: readonly string[],
  at: Awaited<ReturnType<typeof directory>>,
): Promise<Finished> {
  const name = kind === 'a pipe' ? '-' : 'in.txt';
  if (kind === 'a FIFO') expect(spawnSync('mkfifo', [join(at.cwd, name)]).status).toBe(0);
  if (kind === 'a device') symlinkSync('/dev/zero', join(at.cwd, name));
  const child = start([...args, name, ...flags], at);
  const ended = waitForExit(child);
  if (kind === 'a device') return ended;
  const script = 'printf %s "$1"; exec yes "$2"';
  const write = kind === 'a FIFO' ? `exec >${name}; ${script}` : script;
  const writer = spawn('sh', ['-c', write, 'sh', first, line], { cwd: at.cwd, stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void writer.kill('SIGKILL'));
  if (kind === 'a pipe' && child.stdin) writer.stdout.pipe(child.stdin.on('error', () => {}));
  return ended;
}

const kinds = ['a pipe', 'a FIFO'];

it.each(kinds.flatMap((kind) => inputs.map((input) => [input[0], kind, input] as const)))(
  'the copy of %s from %s ends at its limit and at --timeout, and nothing is sent',
  async (_, kind, input) => {
    for (const [flags, message] of [
      [['--max-spool', '100K'], 'it has more than 100 KiB, the limit\n  raise the limit with --max-spool'],
      [['--timeout', '2s', '--max-spool', '900G'], 'within 2 s; nothing was sent'],
    ] as const) {
      const at = await directory();
      const { code, stderr } = await endless(kind, input, flags, at);
      expect({ code, stderr }).toEqual({ code: 12, stderr: expect.stringContaining(message) });
      expect(at.sent()).toBe(0);
      expect(readdirSync(at.cwd).filter((file) => file.includes('spool') || file.endsWith('.lock'))).toEqual([]);
    }
  },
);

it.each(inputs.slice(0, 2))('the copy of %s from a device ends at its limit', async (...input) => {
  const at = await directory();
  const { code, stderr } = await endless('a device', input, ['--max-spool', '10M'], at);
  expect({ code, stderr }).toEqual({ code: 12, stderr: expect.stringContaining('it has more than 10 MiB, the limit') });
  expect(at.sent()).toBe(0);
});

it.each(inputs.slice(0, 5))('the copy of %s takes at most half of the free space', async (...input) => {
  const disk = join(temporaryDirectory(), 'disk');
  mkdirSync(disk);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk]).status !== 0) return;
  onTestFinished(() => void spawnSync('umount', ['-l', disk]));
  const at = await directory(disk);
  writeFileSync(join(disk, 'used'), Buffer.alloc(2 * 1024 * 1024));
  const { code, stderr } = await endless('a pipe', input, [], at);
  expect({ code, stderr }).toEqual({
    code: 12,
    stderr: expect.stringMatching(/it has more than (2\.\d|3) MiB, half of the free/),
  });
  expect(at.sent()).toBe(0);
});

it('a copy within the limit is sent', async () => {
  const at = await directory();
  const stdin = `${chat}\n${JSON.stringify(chats.line(2))}\n`;
  const resumed = await run(['chat', '--batch', '-', '-o', 'out', '--resume', '--max-spool', '1K'], { ...at, stdin });
  expect(resumed).toMatchObject({ code: 0, stderr: expect.stringContaining('2 lines: 2 done') });
  expect(at.sent()).toBe(1);
  expect(await run(['chat', 'hi', '--max-spool', '1K'], at)).toMatchObject({ code: 2 });
  expect(await run(['chat', '--batch', '-', '--max-spool', 'much'], at)).toMatchObject({ code: 2 });
});
