import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { memoryOf } from '../support/memory.ts';

/** A program to measure. */
export interface Peer {
  readonly name: string;
  /** The program, by name or path, and its arguments. */
  readonly command: readonly [program: string, ...args: string[]];
  readonly env: Readonly<Record<string, string>>;
  /** When its time ends: at its end, or with the first byte it prints. */
  readonly until: 'end' | 'output';
}

/** The milliseconds a peer takes, from the request to start it. Throws where it fails: a failure may be quick. */
export async function timeOf(peer: Peer): Promise<number> {
  const begin = performance.now();
  const child = started(peer);
  let first: number | undefined;
  child.stdout?.on('data', () => {
    first ??= performance.now();
  });
  await ended(child, peer);
  return ((peer.until === 'output' ? first : undefined) ?? performance.now()) - begin;
}

/** The peak memory of a peer in MiB, sampled every millisecond; 0 if the system does not report it. */
export async function peakOf(peer: Peer): Promise<number> {
  const child = started(peer);
  child.stdout?.resume();
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, memoryOf(child.pid));
  }, 1);
  await ended(child, peer);
  clearInterval(watch);
  return peak / 2 ** 20;
}

/** True where a program can be found. */
export function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(':').some((directory) => existsSync(join(directory, program)));
}

function started({ command: [program, ...args], env }: Peer): ChildProcess {
  return spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function ended(child: ChildProcess, { name }: Peer): Promise<void> {
  let errors = '';
  child.stderr?.on('data', (piece) => {
    errors += piece;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${errors}`);
}
