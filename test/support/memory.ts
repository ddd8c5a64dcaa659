import { existsSync, readFileSync } from 'node:fs';

/** The peak resident memory of a running process in bytes; 0 if the system does not report it. */
export function memoryOf(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return Number(/VmHWM:\s+(\d+) kB/.exec(text)?.[1] ?? 0) * 1024;
}
