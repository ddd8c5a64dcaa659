import { readFileSync } from 'node:fs';

/** The peak memory of a process so far, in MiB; undefined if the system does not report it or the process ended. */
export function peakOf(pid: number | undefined): number | undefined {
  try {
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return peak === undefined ? undefined : Number(peak) / 1024;
  } catch {
    return undefined;
  }
}
