import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled, type Peer } from './peer.ts';

/** What benchmarks need. */
export interface BenchContext {
  /** The URL of the service. */
  readonly url: string;
  /** An empty directory, which is also the home of all peers. */
  readonly home: string;
  readonly peer: (name: string, ...command: Peer['command']) => Peer;
  readonly node: (name: string, ...args: string[]) => Peer;
  /** The built program. */
  readonly svc: (...args: string[]) => Peer;
  /** A line of a shell, in which `svc` is the built program; it runs in the empty directory. */
  readonly shell: (name: string, line: string) => Peer;
  /** The path of a script that is a peer. */
  readonly script: (name: string) => string;
  /** Peers that need a program, if it is installed. */
  readonly installed: (program: string, ...peers: Peer[]) => Peer[];
}

/** The context for a package in a directory and a service at a URL. */
export function createBenchContext(root: string, url: string): BenchContext {
  const home = mkdtempSync(join(tmpdir(), 'svc-bench-home-'));
  const account = { SVC_BASE_URL: url, SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1' };
  const env = { PATH: process.env.PATH ?? '', HOME: home, ...account };
  const peer: BenchContext['peer'] = (name, ...command) => ({ name, command, env, until: 'end' });
  const node: BenchContext['node'] = (name, ...args) => peer(name, process.execPath, ...args);
  const program = join(root, 'bin/svc.js');
  return {
    url,
    home,
    peer,
    node,
    svc: (...args) => node(`svc ${args.join(' ')}`, program, ...args),
    shell: (name, line) =>
      peer(name, 'bash', '-c', `cd '${home}'; svc() { exec '${process.execPath}' '${program}' "$@"; }; ${line}`),
    script: (name) => join(root, 'test/bench/peers', name),
    installed: (program, ...peers) => (isInstalled(program) ? peers : []),
  };
}
