import { readFileSync } from 'node:fs';

/** The most memory a process has used so far, in MiB; undefined where the system does not say or it is gone. */
export function peakOf(pid: number | undefined): number | undefined {
  try {
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return peak === undefined ? undefined : Number(peak) / 1024;
  } catch {
    return undefined;
  }
}
