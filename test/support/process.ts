import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from './svc.ts';

/** The built program, as a user starts it. */
export const program = new URL('../../bin/svc.js', import.meta.url).pathname;

export interface Finished {
  /** The exit code as a shell sees it: 128+n after signal n. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProcessSetting {
  readonly stdin?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Starts the built program in an empty home, or in the given one. It ends with the test. */
export function start(
  args: readonly string[],
  { env = {}, cwd = temporaryDirectory() }: ProcessSetting = {},
): ChildProcess {
  const child = spawn(process.execPath, [program, ...args], { cwd, env: cleanEnv(cwd, env) });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Runs the built program to its end. Without stdin it is empty, not a terminal. */
export async function run(args: readonly string[], setting: ProcessSetting = {}): Promise<Finished> {
  const child = start(args, setting);
  const result = waitForExit(child);
  // A program that does not read its input may end before the input is written.
  child.stdin?.on('error', () => {}).end(setting.stdin ?? '');
  return result;
}

/** Runs a line of bash, in which `svc` is the built program, and `asNobody` the same, by root, as a user that does not exist. */
export async function inShell(
  line: string,
  { env = {}, cwd = temporaryDirectory(), stdin = '' }: ProcessSetting = {},
): Promise<Finished> {
  const words = `"${process.execPath}" "${program}" "$@"`;
  const script = `svc() { ${words}; }\nasNobody() { setpriv --reuid 54321 --regid 54321 --clear-groups ${words}; }\n${line}`;
  const child = spawn('bash', ['-c', script], { cwd, env: cleanEnv(cwd, env) });
  onTestFinished(() => void child.kill('SIGKILL'));
  const result = waitForExit(child);
  child.stdin.on('error', () => {}).end(stdin);
  return result;
}

/** Waits for a process to end and collects its output. */
export async function waitForExit(child: ChildProcess): Promise<Finished> {
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => {
    const pieces: Buffer[] = [];
    stream?.on('data', (piece: Buffer) => pieces.push(piece));
    return () => Buffer.concat(pieces).toString();
  });
  const [code, signal] = await once(child, 'close');
  return {
    code: signal ? 128 + constants.signals[signal as NodeJS.Signals] : code,
    signal,
    stdout: stdout?.() ?? '',
    stderr: stderr?.() ?? '',
  };
}

/** The environment of a machine where nothing of svc is set. */
export function cleanEnv(home: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: home,
    SVC_CONFIG_DIR: join(home, 'config'),
    SVC_DATA_DIR: join(home, 'data'),
    ...more,
  };
}

/** A started `svc serve`, and the environment in which the program finds it. */
export interface Served {
  readonly url: string;
  readonly child: ChildProcess;
  readonly env: Record<string, string>;
}

/** Starts `svc serve` with credentials of its own and waits until it listens. */
export async function serve(args: readonly string[] = [], setting: ProcessSetting = {}): Promise<Served> {
  const credentials = { SVC_USERNAME: 'ada', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1' };
  const child = start(['serve', '--json', ...args], { ...setting, env: { ...credentials, ...setting.env } });
  const line = await firstLine(child);
  const { url } = JSON.parse(line);
  return { url, child, env: { ...credentials, SVC_BASE_URL: url } };
}

/** The first line a process prints. Throws when it ends without one. */
export async function firstLine(child: ChildProcess): Promise<string> {
  let text = '';
  let errors = '';
  child.stderr?.on('data', (piece) => {
    errors += piece;
  });
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (piece) => {
      text += piece;
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')));
    });
    child.once('close', (code) => reject(new Error(`ended with ${code}: ${errors}`)));
  });
}
