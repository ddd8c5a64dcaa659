import { existsSync, readFileSync } from 'node:fs';

/** The most a running process has had of the machine's memory, in bytes; 0 where the system does not tell. */
export function memoryOf(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return Number(/VmHWM:\s+(\d+) kB/.exec(text)?.[1] ?? 0) * 1024;
}
