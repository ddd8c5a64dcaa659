import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled, type Peer } from './peer.ts';

/** What contests are made with. */
export interface Stage {
  /** The folder of the package. */
  readonly root: string;
  /** The address of the service. */
  readonly url: string;
  /** An empty folder, which is also the home of all peers. */
  readonly home: string;
  readonly peer: (name: string, ...command: Peer['command']) => Peer;
  readonly node: (name: string, ...args: string[]) => Peer;
  /** The built program. */
  readonly svc: (...args: string[]) => Peer;
  /** A line of a shell, in which `svc` is the built program; it works in the empty folder. */
  readonly shell: (name: string, line: string) => Peer;
  /** The path of a script that is a peer. */
  readonly script: (name: string) => string;
  /** Peers that need a program, if it is there. */
  readonly installed: (program: string, ...peers: Peer[]) => Peer[];
}

/** The stage for a package in a folder and a service at an address. */
export function stageOf(root: string, url: string): Stage {
  const home = mkdtempSync(join(tmpdir(), 'svc-bench-home-'));
  const account = { SVC_BASE_URL: url, SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1' };
  const env = { PATH: process.env.PATH ?? '', HOME: home, ...account };
  const peer: Stage['peer'] = (name, ...command) => ({ name, command, env, until: 'end' });
  const node: Stage['node'] = (name, ...args) => peer(name, process.execPath, ...args);
  const program = join(root, 'bin/svc.js');
  return {
    root,
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
