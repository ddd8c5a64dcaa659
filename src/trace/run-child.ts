import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { ProcessEnd } from '../command.ts';
import { childExitCodes } from '../errors.ts';
import { describeFileError, errorCode } from '../files/file-errors.ts';
import type { Runtime } from '../runtime.ts';

interface ChildResult {
  readonly end: ProcessEnd;
  readonly startError?: string;
}

// Sent to svc for the command. With a terminal, Ctrl-C and Ctrl-\ reach the command directly.
const FORWARDED_SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;
const TERMINAL_SIGNALS = ['SIGINT', 'SIGQUIT'] as const;

/** Runs a command on the streams of svc, with its signals. Exit code 126 or 127 if it cannot be started. Never throws. */
export async function runChild([program = '', ...args]: readonly string[], env: Runtime['env'], runtime: Runtime) {
  const isOnTerminal = hasTerminal();
  let child: ChildProcess | undefined;
  // Listening comes first: without a listener, SIGUSR1 would open Node's inspector and SIGHUP would end svc.
  const release = runtime.onSignal(
    (signal) => {
      if (!isOnTerminal || !TERMINAL_SIGNALS.some((one) => one === signal)) child?.kill(signal);
    },
    [...FORWARDED_SIGNALS, ...TERMINAL_SIGNALS],
  );
  let endFollowing = (): void => {};
  try {
    return await new Promise<ChildResult>((resolve) => {
      child = spawn(program, args, { stdio: 'inherit', env: { ...env } });
      if (isatty(0)) endFollowing = followStops(child, runtime);
      child.on('error', (error) => resolve(startFailure(error)));
      child.on('exit', (code, signal) => resolve({ end: signal ? { signal } : (code ?? 0) }));
    });
  } catch (error) {
    return startFailure(error);
  } finally {
    endFollowing();
    release();
  }
}

// True in the session of a terminal, even if all streams are redirected.
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return [0, 1, 2].some((fd) => isatty(fd));
  }
}

function startFailure(error: unknown): ChildResult {
  // An empty name is an invalid argument for Node.
  return ['ENOENT', 'ERR_INVALID_ARG_VALUE'].includes(errorCode(error) ?? '')
    ? { end: childExitCodes.notFound.code, startError: 'command not found' }
    : { end: childExitCodes.notExecutable.code, startError: describeFileError(error) };
}

const POLL_INTERVAL_MS = 200;

/**
 * Stops svc when its child has stopped, until svc is continued, and then continues the child: a shell gets its prompt back
 * only if its own child stops. Returns a function that ends this. Without /proc it has no effect.
 */
function followStops(child: ChildProcess, { after, stopProcess }: Pick<Runtime, 'after' | 'stopProcess'>): () => void {
  let wasStopped = false;
  const poll = (): void => {
    const isStopped = child.pid !== undefined && isStoppedJob(child.pid);
    // Seen twice: Ctrl-Z and fg reach svc and the child one after the other.
    if (isStopped && wasStopped) {
      stopProcess();
      // A child in a process group of its own receives nothing from the shell.
      child.kill('SIGCONT');
    }
    wasStopped = isStopped && !wasStopped;
    cancel = after(POLL_INTERVAL_MS, poll);
  };
  let cancel = after(POLL_INTERVAL_MS, poll);
  return () => cancel();
}

// In the process group of the session's leader, no shell waits for a stopped job.
function isStoppedJob(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in parentheses, may have spaces.
    const [state, , group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'T' && group !== session;
  } catch {
    return false;
  }
}
