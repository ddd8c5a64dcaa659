import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A PostgreSQL server on a Unix socket and a port of 127.0.0.1, with data of its own. */
export interface PostgresServer {
  /** The URL of an empty database, made at each call. */
  readonly newDatabase: () => string;
  /** The rows of a query in the database of a URL, as text. */
  readonly query: (url: string, sql: string) => string;
  /** Ends the server without notice, like a crash: by an immediate shutdown, by SIGKILL, or, as at a restart, by SIGINT. */
  readonly kill: (signal?: 'SIGQUIT' | 'SIGKILL' | 'SIGINT') => Promise<void>;
  readonly start: () => Promise<void>;
  readonly remove: () => Promise<void>;
}

const SOCKET_PORT = 5432;
const MAX_START_ATTEMPTS = 50;
// The ids of all rows of a long soak.
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

/** Why PostgreSQL cannot be run here, or undefined where it can. */
export function noPostgres(): string | undefined {
  if (!binaryDirectory()) return 'PostgreSQL is not installed (apt-get install postgresql)';
  if (process.geteuid?.() === 0 && !userId()) return 'there is no user postgres to run PostgreSQL as';
  return undefined;
}

/** Creates a database cluster and starts its server. */
export async function postgresServer(): Promise<PostgresServer> {
  const binaries = binaryDirectory() ?? '';
  const root = mkdtempSync(join(tmpdir(), 'svc-postgres-'));
  const data = join(root, 'data');
  const identity = process.geteuid?.() === 0 ? userId() : undefined;
  if (identity) chownSync(root, identity.uid, identity.gid);
  const options = { cwd: root, env: { PATH: process.env.PATH ?? '', HOME: root, LC_ALL: 'C' }, ...identity };
  execFileSync(join(binaries, 'initdb'), ['-D', data, '-U', 'svc', '-A', 'trust', '-E', 'UTF8'], {
    ...options,
    stdio: 'ignore',
  });
  let server: ChildProcess | undefined;
  const psql = (database: string, sql: string): string =>
    execFileSync(join(binaries, 'psql'), ['-h', root, '-U', 'svc', '-d', database, '-Atqc', sql], {
      ...options,
      maxBuffer: MAX_OUTPUT_BYTES,
    }).toString();
  const startOnce = async (): Promise<boolean> => {
    const args = ['-D', data, '-k', root, '-c', 'listen_addresses=', '-c', `port=${SOCKET_PORT}`];
    const child = spawn(join(binaries, 'postgres'), args, { ...options, stdio: 'ignore' });
    server = child;
    while (spawnSync(join(binaries, 'pg_isready'), ['-h', root, '-U', 'svc'], options).status !== 0) {
      // Node learns of the end of a process in a turn of its own.
      await new Promise((resolve) => setImmediate(resolve));
      if (child.exitCode !== null) return false;
    }
    return true;
  };
  const start = async (): Promise<void> => {
    // After SIGKILL the processes of the old server hold its memory until they notice.
    for (let attempt = 0; attempt < MAX_START_ATTEMPTS; attempt++) if (await startOnce()) return;
    throw new Error('PostgreSQL does not start');
  };
  const kill = async (signal: NodeJS.Signals = 'SIGQUIT'): Promise<void> => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const closed = once(server, 'close');
    // An immediate shutdown: no checkpoint, and recovery from the write-ahead log at the next start.
    server.kill(signal);
    await closed;
  };
  await start();
  let count = 0;
  return {
    newDatabase: () => {
      count += 1;
      psql('postgres', `create database test_${count}`);
      return `postgres://svc@localhost/test_${count}?host=${root}`;
    },
    query: (url, sql) => psql(new URL(url).pathname.slice(1), sql).trim(),
    kill,
    start,
    remove: async () => {
      await kill();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function binaryDirectory(): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root) : [];
  return versions.map((version) => join(root, version, 'bin')).find((path) => existsSync(join(path, 'initdb')));
}

function userId(): { uid: number; gid: number } | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, 'postgres']).stdout?.toString()));
  return uid && gid ? { uid, gid } : undefined;
}
