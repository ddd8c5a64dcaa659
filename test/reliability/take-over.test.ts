import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { answerJson, countingServer, holdingServer } from '../support/counting-server.ts';
import { figure } from '../support/figure.ts';
import { cleanEnv, program } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const reply = { choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }] };

/** A machine: what differs from the other one. */
interface Machine {
  readonly name: string;
  /** Where it has the shared directory. */
  readonly mountPoint: string;
  /** Seconds that its clocks without sleep, with sleep, and of the day are ahead. */
  readonly monotonic: number;
  readonly boottime: number;
  readonly wall: number;
}

const first: Machine = { name: 'one', mountPoint: '/mnt', monotonic: 500_000, boottime: 700_000, wall: -420 };
const second: Machine = { name: 'two', mountPoint: '/media', monotonic: 90, boottime: 300, wall: 420 };

const namespaces = ['--user', '--map-root-user', '--uts', '--mount', '--pid', '--fork', '--mount-proc', '--time'];
const canSplit = spawnSync('unshare', [...namespaces, '--monotonic', '1', 'true']).status === 0;
if (!canSplit) process.stderr.write('skipped: take-over; namespaces cannot be created here\n');
// Debian's package faketime; the program of the same name would be the parent of svc.
const faketime = spawnSync('sh', ['-c', 'ls /usr/lib/*/faketime/libfaketimeMT.so.1']).stdout.toString().trim();
if (canSplit && !faketime) process.stderr.write('take-over with one clock of the day; faketime is not installed\n');

/** Starts svc on a machine: a host name, process ids, mounts and clocks of its own, and a directory that machines share. */
function onMachine(
  machine: Machine,
  args: readonly string[],
  shared: string,
  env: Record<string, string>,
): ChildProcess {
  const script =
    'hostname "$1" && mount -t tmpfs none /dev/shm && mount --bind "$2" "$3" && cd "$3" && shift 3 && exec "$@"';
  const day = `${machine.wall > 0 ? '+' : ''}${machine.wall}`;
  const clock = faketime ? [`LD_PRELOAD=${faketime}`, `FAKETIME=${day}`, 'FAKETIME_DONT_FAKE_MONOTONIC=1'] : [];
  const clocks = ['--monotonic', String(machine.monotonic), '--boottime', String(machine.boottime)];
  const command = ['env', ...clock, process.execPath, program, ...args];
  const words = ['sh', '-c', script, 'sh', machine.name, shared, machine.mountPoint, ...command];
  const child = spawn('unshare', [...namespaces, '--kill-child', ...clocks, ...words], { env });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** The first process of a machine, which is svc: a signal to `unshare` does not reach it. */
function processOn({ pid }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}

interface TakeOver {
  /** Requests that the stopped process sends when it continues. */
  readonly sentAfter: number;
  /** Lines that the service received more than once. */
  readonly twice: number;
}

/**
 * Stops the process of a batch after 10 responses, when `heldCount` requests are in flight and others wait to be retried; another
 * machine takes the batch over, and then the process continues.
 */
async function takeOver(lineCount: number, heldCount: number, takeOverFlags: readonly string[]): Promise<TakeOver> {
  const shared = temporaryDirectory();
  const lines = Array.from({ length: lineCount }, (_, at) => ({
    model: 'm',
    messages: [{ role: 'user', content: `p${at}` }],
  }));
  writeFileSync(join(shared, 'in.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  let isHeld = true;
  const held: (() => void)[] = [];
  const server = await countingServer(
    (body) => JSON.parse(body).messages[0].content,
    (_, response) => {
      const answer = (): void => answerJson(response, reply);
      // Less than a round, after which a batch tries another number of requests in flight.
      if (!isHeld || server.counts.size <= 3) answer();
      else if (held.length < heldCount) held.push(answer);
      else answerJson(response, { detail: 'later' }, 429, { 'Retry-After': '30' });
    },
  );
  const env = cleanEnv(shared, { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url });
  const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '4', '--exact'];
  const holder = onMachine(first, [...args, '--verbose'], shared, env);
  const holderEnd = once(holder, 'close');
  let holderErrors = '';
  holder.stderr?.on('data', (piece) => {
    holderErrors += piece;
  });
  await expect.poll(() => holderErrors, { timeout: 60_000 }).toContain('retrying in 30');
  await expect.poll(() => server.counts.size, { timeout: 60_000 }).toBe(7);
  process.kill(processOn(holder), 'SIGSTOP');
  isHeld = false;

  const taker = onMachine(second, [...args, '--resume', ...takeOverFlags], shared, env);
  const takerErrors = taker.stderr && text(taker.stderr);
  const [takerCode] = await once(taker, 'exit');
  expect(await takerErrors).toMatch(/out.jsonl is locked by process 1 on one, .*; waiting 65 s/);
  // The lines in flight are unknown: a chat costs money, so only --retry-unknown sends them again.
  expect({ takerCode, errors: await takerErrors }).toEqual({
    takerCode: 10,
    errors: expect.stringContaining(`${lineCount - 4} done, 0 failed, 4 unknown, 0 not sent`),
  });
  const requests = (): number => [...server.counts.values()].reduce((sum, count) => sum + count, 0);
  const requestsBefore = requests();
  process.kill(processOn(holder), 'SIGCONT');
  for (const answer of held) answer();
  const [holderCode] = await holderEnd;
  expect({ holderCode, errors: holderErrors }).toEqual({
    holderCode: 13,
    errors: expect.stringContaining('could not be renewed for 60 s'),
  });
  expect(server.counts.size).toBe(lineCount);
  const results = readFileSync(join(shared, 'out.jsonl'), 'utf8').trimEnd().split('\n');
  expect(results.map((line) => JSON.parse(line).line)).toEqual(lines.map((_, at) => at + 1));
  return {
    sentAfter: requests() - requestsBefore,
    twice: [...server.counts.values()].filter((count) => count > 1).length,
  };
}

// Two containers of a pod: one host name, process ids of their own.
const containers = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];
function inContainer(args: readonly string[], cwd: string, env: Record<string, string>): ChildProcess {
  const child = spawn('unshare', [...containers, process.execPath, program, ...args], { cwd, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

it.skipIf(!canSplit).each([0, 1, 2, 3])(
  'a batch that runs in another PID namespace is left alone by a second one there: run %i',
  async (round) => {
    const cwd = temporaryDirectory();
    const lines = Array.from({ length: 60 }, (_, at) => ({
      model: 'm',
      messages: [{ role: 'user', content: `p${at}` }],
    }));
    writeFileSync(join(cwd, 'in.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const server = await holdingServer(reply);
    const env = cleanEnv(cwd, { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url });
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '4', '--exact'];
    // Both directions: the holder in a namespace of its own and the other outside of it, and the other way round.
    const outside = (words: readonly string[]): ChildProcess => {
      const child = spawn(process.execPath, [program, ...words], { cwd, env });
      onTestFinished(() => void child.kill('SIGKILL'));
      return child;
    };
    const inside = (words: readonly string[]): ChildProcess => inContainer(words, cwd, env);
    const [startHolder, startOther] = round % 2 === 0 ? [inside, outside] : [outside, inside];
    const holder = startHolder(args);
    await expect.poll(() => server.counts.size, { timeout: 60_000 }).toBe(7);
    const other = startOther([...args, '--resume']);
    const otherErrors = other.stderr && text(other.stderr);
    const [otherCode] = await once(other, 'exit');
    expect({ otherCode, errors: await otherErrors }).toMatchObject({
      otherCode: 13,
      errors: expect.stringMatching(/waiting 65 s.*\n.*out.jsonl is in use by process \d+ on /),
    });
    server.release();
    expect((await once(holder, 'exit'))[0]).toBe(0);
    expect([...server.counts.values()].filter((count) => count > 1)).toEqual([]);
    expect(server.counts.size).toBe(60);
  },
);

// In 65 s of a real clock: a paused process cannot be simulated.
it.skipIf(!canSplit)(
  'a batch whose process is stopped is taken over by another machine, and sends nothing more when it continues',
  async () => {
    // With lines that were not sent, and with nothing left but retries.
    const ends = await Promise.all([takeOver(60, 3, []), takeOver(7, 1, ['--take-over', '65s'])]);
    figure(`take-over: ${ends.map((end) => JSON.stringify(end)).join(' ')}`);
    for (const end of ends) expect(end).toMatchObject({ sentAfter: 0, twice: 0 });
  },
  900_000,
);
