import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** The peak resident memory of a running process in bytes; 0 if the system does not report it. */
export function memoryOf(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return Number(/VmHWM:\s+(\d+) kB/.exec(text)?.[1] ?? 0) * 1024;
}

/** Watches the memory of a process until its promised end, every 20 ms; returns both. */
export async function withPeak<End extends object>(
  { pid }: ChildProcess,
  ended: Promise<End>,
): Promise<End & { readonly peak: number }> {
  let peak = 0;
  const looking = setInterval(() => {
    peak = Math.max(peak, memoryOf(pid));
  }, 20);
  try {
    const end = await ended;
    return { ...end, peak };
  } finally {
    clearInterval(looking);
  }
}
