import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cleanEnv, firstLine, program, run, start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const token = 'tok-en-canary-1';

// Loaded before the program: an event handler that fails as one of svc or of a library would.
const events = {
  'an exception in an event handler': `throw new Error('boom ' + process.env.SVC_TOKEN);`,
  'a value that is not an error': `throw 'boom ' + process.env.SVC_TOKEN;`,
  'a promise that nobody waits for': `Promise.reject(new Error('boom ' + process.env.SVC_TOKEN));`,
  'an error event without a listener': `new (require('node:events'))().emit('error', new Error('boom ' + process.env.SVC_TOKEN));`,
  'errors without end': `setInterval(() => { throw new Error('boom'); }, 0); throw new Error('boom ' + process.env.SVC_TOKEN);`,
};

function environment(cwd: string, action: string, when = `process.on('SIGUSR2', () => { ${action} });`) {
  writeFileSync(join(cwd, 'preload.cjs'), when);
  return {
    SVC_TOKEN: token,
    SVC_USERNAME: 'ada',
    SVC_PASSWORD: 'pass-word-1',
    NODE_OPTIONS: '--require ./preload.cjs',
  };
}

/** A server that passes each request on and never responds. */
async function silentServer(onRequest: () => void): Promise<string> {
  const server = createServer(onRequest).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

// Node prints the line of the source and its version; the bundle has one line of many kilobytes.
function expectReport(code: number | null, stderr: string): void {
  expect([code, stderr]).toEqual([1, expect.stringMatching(/this is a bug in svc: .*boom \[redacted\]/s)]);
  expect(stderr).not.toContain(token);
  expect(stderr).not.toMatch(/Node\.js v\d|\(Use `node --trace|^\s*throw |\^\n/m);
  expect(stderr.length).toBeLessThan(4000);
}

describe.each(Object.entries(events))('%s', (_, action) => {
  it('ends the local service with a message of svc', async () => {
    const cwd = temporaryDirectory();
    const child = start(['serve', '--json'], { cwd, env: environment(cwd, action) });
    const end = waitForExit(child);
    await firstLine(child);
    child.kill('SIGUSR2');
    const { code, stderr } = await end;
    expectReport(code, stderr);
  });

  it('ends a request and a batch with a message of svc, and --resume continues', async () => {
    const cwd = temporaryDirectory();
    const env = environment(cwd, action);
    writeFileSync(join(cwd, 'in.jsonl'), '{"messages":[{"role":"user","content":"x"}]}\n');
    for (const args of [['hi'], ['--batch', 'in.jsonl', '-o', 'out.jsonl']]) {
      let kill = (): void => {};
      const url = await silentServer(() => kill());
      const all = ['chat', ...args, '-m', 'm', '--base-url', url];
      const child = start(all, { cwd, env });
      kill = () => void child.kill('SIGUSR2');
      child.stdin?.end();
      const { code, stderr } = await waitForExit(child);
      expectReport(code, stderr);
      expect(stderr).toMatch(args[0] === 'hi' ? /may have been|charged twice/ : /continue the run with --resume/);
    }
    expect(existsSync(join(cwd, 'out.jsonl'))).toBe(true);
    const resumed = await run(
      ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '-m', 'm', '--local', '--resume', '--accept-base-url'],
      { cwd, env: { SVC_TOKEN: token } },
    );
    expect(resumed.stderr).not.toContain('bug in svc');
  });
});

it('before a command runs, only the kind of an error is printed', async () => {
  const cwd = temporaryDirectory();
  const env = environment(cwd, '', `setImmediate(() => { throw new TypeError('boom ' + process.env.SVC_TOKEN); });`);
  const { code, stderr } = await run(['chat', 'hi', '--local'], { cwd, env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^svc: this is a bug in svc: TypeError/);
  expect(stderr).not.toContain(token);
});

describe('an installation of which a part', () => {
  it.each<[string, (file: string) => void]>([
    ['is missing', (file) => rmSync(file)],
    [
      'cannot be read',
      (file) => {
        rmSync(file);
        symlinkSync(file, file);
      },
    ],
  ])('%s is named as such, and not as a bug', async (_, damage) => {
    const root = temporaryDirectory();
    for (const name of ['bin', 'dist', 'package.json'])
      cpSync(join(dirname(program), '..', name), join(root, name), { recursive: true });
    const part = readdirSync(join(root, 'dist')).find((name) => /^profile-[A-Z0-9]+\.js$/.test(name)) ?? '';
    damage(join(root, 'dist', part));
    const child = spawn(process.execPath, [join(root, 'bin/svc.js'), 'profile', 'list'], {
      cwd: root,
      env: cleanEnv(root),
    });
    const { code, stderr } = await waitForExit(child);
    expect([code, stderr]).toEqual([
      12,
      expect.stringMatching(/^svc: a part of svc could not be loaded: .*\n {2}run it again.*\n$/),
    ]);
    expect(stderr).toContain(part);
  });
});
