import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { memoryOf } from '../support/memory.ts';

/** A program that does what others do as well. */
export interface Peer {
  readonly name: string;
  /** The program, by a name that is looked up or a path, and its arguments. */
  readonly command: readonly [program: string, ...args: string[]];
  readonly env: Readonly<Record<string, string>>;
  /** When its time is up: at its end, or with the first byte it prints. */
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

/** The most memory a peer has in MiB, looked up every millisecond; 0 where the system does not tell. */
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
  return (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, program)));
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
