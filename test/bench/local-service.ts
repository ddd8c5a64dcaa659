import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../src/local-service/store/open-store.ts';
import { postgresServer } from '../support/postgres.ts';

/** A `svc serve` on a database of its own. */
export interface LocalService {
  readonly url: string;
  /** How many feedback records it began with. */
  readonly records: number;
  /** Milliseconds of processor time it has taken so far (Linux). */
  readonly processorMs: () => number;
  readonly close: () => Promise<void>;
}

/** Starts it with a number of feedback records, of 3,000 triggers and 3 types. A million takes some seconds. */
export async function localService(root: string, records: number): Promise<LocalService> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-bench-data-'));
  const data = join(directory, 'svc.db');
  await fill(data, records);
  return serve(root, directory, data, records);
}

/** Starts it on an empty database of a PostgreSQL server that ends with it. */
export async function postgresService(root: string): Promise<LocalService> {
  const server = await postgresServer();
  const service = await serve(root, mkdtempSync(join(tmpdir(), 'svc-bench-data-')), server.newDatabase(), 0);
  const close = async (): Promise<void> => {
    await service.close();
    await server.remove();
  };
  return { ...service, close };
}

async function serve(root: string, directory: string, data: string, records: number): Promise<LocalService> {
  const child = spawn(
    process.execPath,
    [join(root, 'bin/svc.js'), 'serve', '--no-auth', '--format', 'text', '--data', data],
    {
      env: { PATH: process.env.PATH ?? '', HOME: directory },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const [line] = await once(child.stdout, 'data');
  const close = async (): Promise<void> => {
    const closed = once(child, 'close');
    child.kill();
    await closed;
    rmSync(directory, { recursive: true, force: true });
  };
  return { url: String(line).trim(), records, processorMs: () => processorMsOf(child.pid), close };
}

// Fields 14 and 15 of the kernel's table are ticks of 10 ms.
function processorMsOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

async function fill(data: string, records: number): Promise<void> {
  const store = await openStore(data);
  store.run(
    `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
     insert into feedback (project_id, id, feedback_type, trigger_ref, payload, record, svc_user_id, created_at)
     select 'acme/support-bot', printf('%08d', i), 't' || (i % 3),
       printf('svc:///acme/support-bot/object/monitor-%d:v1', i * 48271 % 65537 % 3000),
       printf('{"score":%d,"output":{"length":%d,"tone":"friendly"},"flags":[true,false]}', i % 10, i), '{}', 'local',
       1700000000000 + i * 10
     from n`,
    records,
  );
  store.close();
}
