import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { cleanEnv, type Finished, program, waitForExit } from './process.ts';

/** A system call of a run: its name, and its number among the calls of this name in its thread (on `paths`, if any). */
export interface Call {
  readonly name: string;
  readonly count: number;
  readonly paths: readonly string[];
}

/** What happens instead of a system call: the process is killed, or the call fails. */
export type Fault = 'signal=KILL' | `error=${string}` | `retval=${number}`;

export interface Traced {
  readonly status: number | null;
  readonly stderr: string;
}

const FILE_CALLS =
  'openat,read,pread64,write,pwrite64,fsync,fdatasync,close,rename,link,unlink,chmod,fchmod,mkdir,getdents64,readlink,statx';

/** Why strace cannot be used here, or undefined where it can. */
export function noStrace(): string | undefined {
  const { status, error, stderr } = spawnSync('strace', [
    '-f',
    '-o',
    '/dev/null',
    '-e',
    'inject=fsync:error=EIO',
    'true',
  ]);
  return status === 0 ? undefined : `strace does not run here: ${error?.message ?? stderr}`;
}

/**
 * Runs the program and returns its calls on `directory` or the files in it. Only calls on names that are known
 * beforehand can be counted without the many calls of a start.
 */
export function callsOf(
  args: readonly string[],
  stdin: string,
  home: string,
  directory: string,
  names: readonly string[],
): Call[] {
  const known = [directory, ...names.map((name) => join(directory, name))];
  const isKnown = (line: string): boolean =>
    known.some((path) => line.includes(`"${path}"`) || line.includes(`<${path}>`));
  return [known, []].flatMap((paths) => {
    const log = join(home, 'strace.log');
    traced(['-y', ...onPaths(paths), '-o', log, '-e', `trace=${FILE_CALLS}`], args, stdin, home);
    const counts = new Map<string, number>();
    return readFileSync(log, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [, thread, name = ''] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
        if (thread === undefined) return [];
        const count = (counts.get(`${thread} ${name}`) ?? 0) + 1;
        counts.set(`${thread} ${name}`, count);
        return paths.length > 0 || (line.includes(directory) && !isKnown(line)) ? [{ name, count, paths }] : [];
      });
  });
}

/** Runs the program and returns how many bytes it read from the files. */
export function bytesRead(args: readonly string[], home: string, paths: readonly string[]): number {
  const log = join(home, 'strace.log');
  traced([...onPaths(paths), '-o', log, '-e', 'trace=read,pread64,readv,preadv'], args, '', home);
  const counts = [...readFileSync(log, 'utf8').matchAll(/ = (\d+)$/gm)].map(([, count]) => Number(count));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Runs the program with a fault at a call. */
export function withFault(call: Call, fault: Fault, args: readonly string[], stdin: string, home: string): Traced {
  return traced(faultOptions(call, fault), args, stdin, home);
}

/** Runs the program with a fault at a call, while a server in this process serves it. */
export function runWithFault(
  call: Call,
  fault: Fault,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Finished> {
  const child = spawn('strace', straceArgs(faultOptions(call, fault), args), { cwd, env: tracedEnv(cwd, env) });
  onTestFinished(() => void child.kill('SIGKILL'));
  return waitForExit(child);
}

function faultOptions({ name, count, paths }: Call, fault: Fault): string[] {
  return [...onPaths(paths), '-o', '/dev/null', '-e', `trace=${name}`, '-e', `inject=${name}:${fault}:when=${count}`];
}

function onPaths(paths: readonly string[]): string[] {
  return paths.flatMap((path) => ['-P', path]);
}

function traced(options: readonly string[], args: readonly string[], stdin: string, home: string): Traced {
  return spawnSync('strace', straceArgs(options, args), {
    cwd: home,
    env: tracedEnv(home),
    input: stdin,
    encoding: 'utf8',
  });
}

const straceArgs = (options: readonly string[], args: readonly string[]): string[] => [
  '-f',
  '--seccomp-bpf',
  ...options,
  process.execPath,
  program,
  ...args,
];

// One thread for files, so that a call has the same number in every run.
const tracedEnv = (home: string, more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  ...cleanEnv(home, more),
  UV_THREADPOOL_SIZE: '1',
});
