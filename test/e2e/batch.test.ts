import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { freePort } from '../support/free-port.ts';
import { cleanEnv, program, run, start, waitForExit } from '../support/process.ts';
import { credentials, temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runOnTerminal } from '../support/terminal.ts';
import { calls, chats, entriesIn, writeInput } from './batch.ts';

describe('a batch that is asked to end', () => {
  /** A server that responds to the first twenty requests, and to others only when the test allows it. */
  async function halting() {
    const waiting: (() => void)[] = [];
    let isOpen = false;
    let halted = (): void => {};
    const halts = new Promise<void>((resolve) => {
      halted = resolve;
    });
    let count = 0;
    const server = await countingServer(chats.keyOf, (_, response) => {
      count += 1;
      if (isOpen || count <= 20) return answerJson(response, chats.reply);
      waiting.push(() => answerJson(response, chats.reply));
      if (waiting.length === 4) halted();
    });
    const release = (): void => {
      isOpen = true;
      for (const answer of waiting.splice(0)) answer();
    };
    return { ...server, halts, release };
  }

  const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '4'];

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('by %s finishes the requests in flight, and is resumed later', async (signal, exit) => {
    const cwd = temporaryDirectory();
    writeInput(cwd, 50);
    // The library that reads profiles must not listen for signals.
    writeFileSync(join(cwd, 'config.json'), '{"profiles":{}}');
    const { url, halts, release, counts } = await halting();
    const env = { ...credentials, SVC_BASE_URL: url, SVC_CONFIG_DIR: cwd };
    const child = start(args, { cwd, env });
    const result = waitForExit(child);
    await halts;
    child.kill(signal);
    await readyFor(child.pid);
    release();
    const { code, stderr } = await result;
    expect(code, stderr).toBe(exit);
    // Some responses may arrive before the signal is handled, so that further lines are sent.
    const [, done, unsent] = /50 lines: (\d+) done, 0 failed, 0 unknown, (\d+) not sent/.exec(stderr) ?? [];
    expect(Number(done) + Number(unsent)).toBe(50);
    expect(Number(done)).toBeGreaterThanOrEqual(24);
    expect(Number(unsent)).toBeGreaterThan(0);
    expect(entriesIn(cwd)).toHaveLength(Number(done));
    const resumed = await run([...args, '--resume'], { cwd, env });
    expect(resumed).toMatchObject({ code: 0 });
    expect([...counts.values()]).toEqual(Array(50).fill(1));
  });

  it.each([
    ['a second Ctrl-C', ['SIGINT', 'SIGINT'], 130],
    ['SIGTERM after Ctrl-C', ['SIGINT', 'SIGTERM'], 143],
    ['a second SIGTERM', ['SIGTERM', 'SIGTERM'], 143],
  ] as const)('by %s stops at once, and says what may have been applied', async (_, signals, exit) => {
    const cwd = temporaryDirectory();
    writeInput(cwd, 50);
    const { url, halts, release, counts } = await halting();
    const env = { ...credentials, SVC_BASE_URL: url };
    const child = start(args, { cwd, env });
    const result = waitForExit(child);
    await halts;
    for (const [at, signal] of signals.entries()) {
      child.kill(signal);
      // Two equal signals may be merged. The last one ends the process.
      if (at < signals.length - 1) await readyFor(child.pid);
    }
    const { code, stderr } = await result;
    expect(code, stderr).toBe(exit);
    expect(stderr).toContain('50 lines: 20 done, 0 failed, 4 unknown, 26 not sent');
    const entries = entriesIn(cwd);
    expect(entries.filter(({ applied }) => applied === 'unknown').map(({ exit_code }) => exit_code)).toEqual(
      Array(4).fill(exit),
    );
    release();
    const resumed = await run([...args, '--resume'], { cwd, env });
    expect(resumed.code).toBe(10);
    expect(resumed.stderr).toContain('50 lines: 46 done, 0 failed, 4 unknown, 0 not sent');
    expect([...counts.values()].filter((count) => count > 1)).toEqual([]);
  });
});

it('a batch that is asked to end before its pipe does is continued with --resume', async () => {
  const cwd = temporaryDirectory();
  let child: ReturnType<typeof start> | undefined;
  const { url } = await countingServer(chats.keyOf, ({ key }, response) => {
    answerJson(response, chats.reply);
    if (key === 'p2') response.on('close', () => child?.kill('SIGTERM'));
  });
  const env = { ...credentials, SVC_BASE_URL: url };
  child = start(['chat', '--batch', '-', '-o', 'out.jsonl', '--concurrency', '1'], { cwd, env });
  child.stdin?.write(`${JSON.stringify(chats.line(1))}\n${JSON.stringify(chats.line(2))}\n`);
  const { code, stderr } = await waitForExit(child);
  expect(code, stderr).toBe(143);
  expect(stderr).toContain('2 lines: 2 done, 0 failed, 0 unknown, 0 not sent');
  expect(stderr).toContain('\n  --resume sends lines without a result');
});

// A signal has been delivered when it is no longer pending.
async function readyFor(pid: number | undefined): Promise<void> {
  for (;;) {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    if (/ShdPnd:\s+0{16}/.test(status)) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a line that always fails', () => {
  it('fails alone, and counts add up', async () => {
    const cwd = temporaryDirectory();
    const large = JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(10_000_000) }] });
    const poison = [
      large,
      '{"messages":[{"role":"user","content":"always 500"}]}',
      '\u0000',
      '{"messages":',
      '"é\ud800"',
    ];
    writeInput(cwd, 30, chats, [...poison, JSON.stringify(chats.line(36))]);
    const { url } = await countingServer(chats.keyOf, ({ key }, response) => {
      if (key.length > 1_000_000) answerJson(response, { detail: 'too large' }, 413);
      else if (key === 'always 500') answerJson(response, {}, 500);
      else answerJson(response, chats.reply);
    });
    const env = { ...credentials, SVC_BASE_URL: url };
    const { code, stderr } = await runBuilt(['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl'], { cwd, env });
    expect(code, stderr).toBe(10);
    expect(stderr).toContain('36 lines: 31 done, 4 failed, 1 unknown, 0 not sent');
    const wrong = entriesIn(cwd)
      .filter(({ exit_code }) => exit_code !== 0)
      .sort((left, right) => left.line - right.line);
    expect(wrong.map(({ line, exit_code, applied }) => [line, exit_code, applied])).toEqual([
      [31, 5, 'no'],
      [32, 6, 'unknown'],
      [33, 3, 'no'],
      [34, 3, 'no'],
      [35, 3, 'no'],
    ]);
  });
});

describe('a server that stops', () => {
  it('and returns: every line succeeds in the end, and none twice', async () => {
    const cwd = temporaryDirectory();
    writeInput(cwd, 60, calls);
    let answered = 0;
    const { url, counts } = await countingServer(calls.keyOf, (_, response, request) => {
      answered += 1;
      // It resets every connection for a while, and then accepts them again.
      if (answered > 20 && answered < 30) request.socket.destroy();
      else answerJson(response, calls.reply);
    });
    const env = { ...credentials, SVC_BASE_URL: url };
    const { code, stderr } = await runBuilt(['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl'], { cwd, env });
    expect(code, stderr).toBe(0);
    expect(entriesIn(cwd)).toHaveLength(60);
    expect(counts.size).toBe(60);
  });

  it('and is down for a while: the batch waits for it, and no line fails', async () => {
    const cwd = temporaryDirectory();
    writeInput(cwd, 40, chats);
    const port = await freePort();
    const env = { ...credentials, SVC_BASE_URL: `http://127.0.0.1:${port}` };
    const child = start(['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--retries', '0'], { cwd, env });
    const result = waitForExit(child);
    await new Promise<void>((resolve) => {
      child.stderr?.on('data', (chunk) => String(chunk).includes('the batch waits') && resolve());
    });
    const seen: string[] = [];
    const server = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (chunk) => seen.push(chunk));
      request.on('end', () => answerJson(response, chats.reply));
    });
    server.listen(port, '127.0.0.1');
    onTestFinished(() => void server.close());
    const { code, stderr } = await result;
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('40 lines: 40 done, 0 failed, 0 unknown, 0 not sent');
    expect(seen).toHaveLength(40);
  });

  it.each([[['--retries', '0']], [[]]])(
    'and stays down: the batch gives up after --max-outage, and its lines stay unsent (%j)',
    async (retries) => {
      const cwd = temporaryDirectory();
      writeInput(cwd, 40, chats);
      const env = { ...credentials, SVC_BASE_URL: `http://127.0.0.1:${await freePort()}` };
      const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--max-outage', '1s', ...retries];
      const { code, stderr } = await runBuilt(args, { cwd, env });
      expect(code, stderr).toBe(10);
      expect(stderr).toContain('40 lines: 0 done, 0 failed, 0 unknown, 40 not sent');
      expect(stderr).toContain(`could not connect for 1 s (--max-outage) to ${env.SVC_BASE_URL}: connection refused\n`);
      expect(entriesIn(cwd)).toEqual([]);
    },
  );

  it('and does not return: lines fail slowly, and the rest is sent later', async () => {
    const cwd = temporaryDirectory();
    writeInput(cwd, 200, chats);
    const port = await freePort();
    const env = { ...credentials, SVC_BASE_URL: `http://127.0.0.1:${port}` };
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl'];
    const { code, stderr } = await runBuilt([...args, '--fail-fast', '--retries', '1'], { cwd, env });
    expect(code, stderr).toBe(10);
    expect(stderr).toMatch(/200 lines: 0 done, \d+ failed, 0 unknown, \d+ not sent/);
    expect(entriesIn(cwd).every(({ exit_code, applied }) => exit_code === 7 && applied === 'no')).toBe(true);
    const { url } = await countingServer(chats.keyOf, (_, response) => answerJson(response, chats.reply));
    expect(
      (await runBuilt([...args, '--resume', '--accept-changes'], { cwd, env: { ...env, SVC_BASE_URL: url } })).code,
    ).toBe(0);
  });
});

describe.runIf(hasTerminal)('on a terminal', () => {
  it('shows progress and a summary', async () => {
    const cwd = temporaryDirectory();
    writeInput(cwd, 30);
    const { url } = await countingServer(chats.keyOf, (_, response) => answerJson(response, chats.reply));
    const env = { ...credentials, SVC_BASE_URL: url };
    const { code, screen } = await runOnTerminal(['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--rate', '40/s'], {
      cwd,
      env,
    });
    expect(code, screen).toBe(0);
    expect(screen).toMatch(
      /\d+ of (about )?30 lines \(\d+ %\), \d+\/s, \d+ s left, (\d+ in flight(, growing)?|held at \d+: --rate)/,
    );
    expect(screen).toContain('30 lines: 30 done');
  });
});

it('a reader that leaves stops the batch, which reports what was sent and lost', async () => {
  const cwd = temporaryDirectory();
  writeInput(cwd, 200);
  const { url, counts } = await countingServer(chats.keyOf, (_, response) => answerJson(response, chats.reply));
  const env = { ...credentials, SVC_BASE_URL: url };
  const child = start(['chat', '--batch', 'in.jsonl'], { cwd, env });
  const result = waitForExit(child);
  child.stdout?.once('data', () => child.stdout?.destroy());
  const { code, stderr } = await result;
  expect({ code, stderr }).toMatchObject({ code: 12, stderr: expect.stringContaining('its reader closed it') });
  const [, sent, lost] = /(\d+) lines were sent, and (\d+) results were lost/.exec(stderr) ?? [];
  expect(Number(sent)).toBe([...counts.values()].length);
  expect(Number(sent)).toBeLessThan(200);
  expect(Number(lost)).toBeGreaterThan(0);
});

it('a closed or discarded stdout is an error before anything is sent', async () => {
  const cwd = temporaryDirectory();
  writeInput(cwd, 20);
  const { url, counts } = await countingServer(chats.keyOf, (_, response) => answerJson(response, chats.reply));
  const env = cleanEnv(cwd, { ...credentials, SVC_BASE_URL: url });
  const inShell = (redirection: string) =>
    waitForExit(
      spawn('sh', ['-c', `"${process.execPath}" "${program}" chat --batch in.jsonl ${redirection}`], { cwd, env }),
    );
  // A parent that discards the output opens /dev/null for reading and writing, as Node does for a closed stdout.
  for (const redirection of ['>&-', '1<>/dev/null']) {
    const { code, stderr } = await inShell(redirection);
    expect({ code, stderr }).toMatchObject({
      code: 12,
      stderr: expect.stringContaining('stdout is closed or discarded'),
    });
  }
  expect(counts.size).toBe(0);
  expect((await inShell('>/dev/null')).code).toBe(0);
  expect(counts.size).toBe(20);
});
