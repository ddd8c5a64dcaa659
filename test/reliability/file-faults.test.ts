import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cleanEnv, program, run, waitForExit } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { callStart, temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runOnTerminal } from '../support/terminal.ts';

const credentials = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1', SVC_RETRIES: '0' };
// Longer than it takes a spinner to appear.
const SLOW = 600;
const reply = httpAnswer('{"id":"i","trace_id":"t"}');

/** The URL of a server that accepts connections and never sends anything. */
async function silentServer(): Promise<string> {
  const server = createServer((socket) => void socket.on('error', () => {}));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}

/** Starts the program with the null device as stdin, and sends it a signal when the server allows it. */
async function interrupted(args: readonly string[], url: string, signal: 'SIGINT' | 'SIGTERM', when: Promise<unknown>) {
  const cwd = temporaryDirectory();
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: cleanEnv(cwd, { ...credentials, SVC_BASE_URL: url }),
    stdio: [openSync('/dev/null', 'r'), 'pipe', 'pipe'],
  });
  const result = waitForExit(child);
  await when;
  child.kill(signal);
  return result;
}

/** Runs the program in a shell that redirects one of its streams. */
async function redirected(redirection: string, args: readonly string[], url: string) {
  const cwd = temporaryDirectory();
  const child = spawn('bash', ['-c', `"$0" "$@" ${redirection}`, process.execPath, program, ...args], {
    cwd,
    env: cleanEnv(cwd, { ...credentials, SVC_BASE_URL: url }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return waitForExit(child);
}

describe('before the connection is made', () => {
  it.each([
    ['TLS that is never answered', {}],
    ['a proxy that never answers', { proxied: true }],
  ])('%s ends at the deadline', async (_, { proxied = false }: { proxied?: boolean }) => {
    const silent = await silentServer();
    const env = proxied
      ? { SVC_BASE_URL: 'https://svc.test', HTTPS_PROXY: `http://${silent}` }
      : { SVC_BASE_URL: `https://${silent}` };
    const { code, stderr } = await run([...callStart, '--timeout', '1s', '--error-format', 'json'], {
      env: { ...credentials, ...env },
    });
    expect(code).toBe(7);
    expect(JSON.parse(stderr).error).toMatchObject({ applied: 'no', attempts: 1, phase: 'nothing', bytes_sent: 0 });
    expect(stderr).toContain('the time limit of 1 s was reached');
  });
});

describe('a signal', () => {
  it.each([
    ['SIGINT', ['chat', 'hi', '-m', 'm'], 'may be charged twice'],
    ['SIGTERM', ['chat', 'hi', '-m', 'm'], 'may be charged twice'],
    ['SIGINT', [...callStart, '--retries', '3'], 'with the same ids'],
    ['SIGTERM', [...callStart, '--retries', '3'], 'with the same ids'],
  ] as const)('%s while svc waits for a response, with a file as stdin: %s', async (signal, args, advice) => {
    let arrived = (): void => {};
    const when = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const { url, received } = await rawServer(() => arrived());
    const { code, stderr } = await interrupted([...args, '--error-format', 'json'], url, signal, when);
    expect(code).toBe(signal === 'SIGINT' ? 130 : 143);
    expect(JSON.parse(stderr).error).toMatchObject({ applied: 'unknown', phase: 'all', attempts: 1 });
    expect(stderr).toContain(advice);
    expect(received.length).toBe(1);
  });
});

describe('an applied request is never reported as not applied', () => {
  it('a disk that is full after the response', async () => {
    const { url } = await rawServer((socket) => socket.end(reply));
    const result = await redirected('>/dev/full', [...callStart, '--error-format', 'json'], url);
    expect(result.code).toBe(12);
    const { error } = JSON.parse(result.stderr);
    expect(error).toMatchObject({ applied: 'yes', attempts: 1 });
    expect(Object.keys(error.ids)).toEqual(['call', 'trace']);
  });

  it('a closed stderr does not keep a request from being sent', async () => {
    const { url, received } = await rawServer((socket) => socket.end(reply));
    const { code, stdout } = await redirected('2>&-', [...callStart, '--set', 'foo=1', '-v'], url);
    expect({ code, stdout, requests: received.length }).toEqual({
      code: 0,
      stdout: '{"id":"i","trace_id":"t"}\n',
      requests: 1,
    });
  });
});

describe.runIf(hasTerminal)('a terminal that does not know its width', () => {
  it('is not filled by a spinner', async () => {
    const { url } = await rawServer((socket) => void setTimeout(() => socket.end(reply), SLOW));
    const { code, screen } = await runOnTerminal([...callStart, '-q'], {
      columns: 0,
      env: { ...credentials, SVC_BASE_URL: url },
    });
    expect(code).toBe(0);
    expect(screen.length).toBeLessThan(200);
  });
});
