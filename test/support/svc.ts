import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { complete } from '../../src/cli/complete.ts';
import type { Send } from '../../src/http/message.ts';
import { main } from '../../src/main.ts';
import type { Runtime } from '../../src/runtime.ts';
import { after } from './clock.ts';

/** The output of a run of the program, and its exit code. */
export interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
}

export interface Setting {
  /** What is piped in; a terminal without it. */
  readonly stdin?: string | Uint8Array | Readable;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** stdout is a terminal. */
  readonly terminal?: boolean;
  /** Its width; 80 without it. */
  readonly columns?: number;
  readonly send?: Send;
  readonly runtime?: Partial<Runtime>;
}

/** What `bin/svc.js` loads. */
interface Program {
  readonly main: (runtime: Runtime) => ReturnType<typeof main>;
  readonly complete: (runtime: Runtime) => Promise<string>;
}

/** Credentials of every request, as a user sets them in the environment. */
export const credentials = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1' };

/** A command whose flags are a complete body. */
export const callStart = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x'];

const docs = new URL('../../docs', import.meta.url).pathname;
const keychain = new URL('../../bin/keychain.js', import.meta.url).pathname;

/** A directory that is removed after the test. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-test-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs a command line from the source in this process, in an empty home unless the setting has another. */
export async function svc(args: readonly string[], setting: Setting = {}): Promise<Result> {
  return runHere({ main, complete }, args, setting);
}

/** Runs a command line by the given program in this process, in an empty home unless the setting has another. */
export async function runHere({ main, complete }: Program, args: readonly string[], setting: Setting): Promise<Result> {
  const home = setting.cwd ?? temporaryDirectory();
  const stdout = sink(setting.terminal, setting.columns);
  const stderr = sink(false);
  const runtime: Runtime = {
    argv: args,
    env: { SVC_CONFIG_DIR: join(home, 'config'), SVC_DATA_DIR: join(home, 'data'), ...setting.env },
    stdin: stdinOf(setting.stdin),
    stdout,
    stderr,
    cwd: home,
    home,
    platform: 'linux',
    pid: process.pid,
    host: hostname(),
    node: process.versions.node,
    isRunning: (pid) => pid === process.pid,
    processScope: undefined,
    processStart: () => undefined,
    isStdoutClosed: () => false,
    now: Date.now,
    elapsed: () => performance.now(),
    uptime: () => performance.now(),
    after,
    randomBytes,
    keychain: [process.execPath, keychain],
    docs,
    onSignal: () => () => {},
    stopProcess: () => {},
    ...(setting.send ? { send: setting.send } : {}),
    ...setting.runtime,
  };
  if (args[0] === '__complete') stdout.write(await complete(runtime));
  const end = args[0] === '__complete' ? 0 : await main(runtime);
  const code = typeof end === 'number' ? end : 128 + constants.signals[end.signal];
  return { code, stdout: stdout.bytes().toString(), stderr: stderr.bytes().toString(), bytes: stdout.bytes() };
}

/** A stdout whose reader closed the pipe. */
export function closedPipe(): Runtime['stdout'] {
  const write: Writable['_write'] = (_chunk, _encoding, done) =>
    done(Object.assign(new Error('EPIPE'), { code: 'EPIPE' }));
  return new Writable({ write });
}

function stdinOf(given: Setting['stdin']): Runtime['stdin'] {
  if (given === undefined) return Object.assign(Readable.from([]), { isTTY: true });
  return given instanceof Readable ? given : Readable.from([Buffer.from(given)], { objectMode: false });
}

function sink(isTTY = false, columns = 80): Runtime['stdout'] & { bytes: () => Buffer } {
  const pieces: Buffer[] = [];
  const stream = new Writable({
    write: (chunk, _, done) => {
      pieces.push(Buffer.from(chunk));
      done();
    },
  });
  return Object.assign(stream, { isTTY, columns, bytes: () => Buffer.concat(pieces) });
}
