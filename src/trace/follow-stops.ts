import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Runtime } from '../runtime.ts';

const POLL_INTERVAL_MS = 200;

/**
 * Stops svc when its child has stopped, until svc is continued, and then continues the child: a shell gets its prompt back
 * only if its own child stops. Returns a function that ends this. Without /proc it has no effect.
 */
export function followStops(
  child: ChildProcess,
  { after, stopProcess }: Pick<Runtime, 'after' | 'stopProcess'>,
): () => void {
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
