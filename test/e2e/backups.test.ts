import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { noPostgres, postgresServer } from '../support/postgres.ts';
import { inShell, serve } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

async function storeCall(url: string): Promise<string> {
  const id = randomUUID();
  const start = { project_id: 'a/b', id, trace_id: id, op_name: 'x', started_at: '2026-01-01T00:00:00Z' };
  const response = await fetch(`${url}/call/start`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ start: { ...start, attributes: {}, inputs: {} } }),
  });
  expect(response.status).toBe(200);
  return id;
}

async function storedCalls(url: string): Promise<string[]> {
  const page: { rows: { id: string }[] } = JSON.parse(await (await fetch(`${url}/page/calls`)).text());
  return page.rows.map(({ id }) => id);
}

// The command as the reference gives it, with the names of the test.
function documented(pattern: RegExp, names: Readonly<Record<string, string>>): string {
  const reference = readFileSync(new URL('../../docs/reference/local-service.md', import.meta.url), 'utf8');
  const [, command = ''] = pattern.exec(reference) ?? [];
  return Object.entries(names).reduce((text, [name, value]) => text.replace(name, value), command);
}

const hasSqlite = spawnSync('sqlite3', ['--version']).status === 0;
if (!hasSqlite) process.stderr.write('skipped: a backup of the embedded database: sqlite3 is not installed\n');
const noServer = noPostgres();
if (noServer) process.stderr.write(`skipped: a backup of PostgreSQL: ${noServer}\n`);

describe('a backup as the reference says', () => {
  it.runIf(hasSqlite)('of the embedded database in use has all acknowledged data', async () => {
    const cwd = temporaryDirectory();
    const { url } = await serve(['--no-auth', '--data', 'svc.db'], { cwd });
    const id = await storeCall(url);
    expect(await inShell(documented(/`(sqlite3 svc\.db [^`]*)`/, {}), { cwd })).toMatchObject({ code: 0, stderr: '' });
    await storeCall(url);
    const copy = await serve(['--no-auth', '--data', 'copy.db'], { cwd });
    expect(await storedCalls(copy.url)).toEqual([id]);
  });

  it.runIf(!noServer)('of PostgreSQL is restored in another database', async () => {
    const server = await postgresServer();
    onTestFinished(server.remove);
    const [first, second] = [server.newDatabase(), server.newDatabase()];
    const cwd = temporaryDirectory();
    const { url } = await serve(['--no-auth', '--data', first], { cwd });
    const id = await storeCall(url);
    for (const command of [
      documented(/`(pg_dump [^`]*)`/, { 'postgres://user@host/database': `'${first}'` }),
      documented(/`(psql [^`]*)`/, { 'postgres://user@host/copy': `'${second}'` }),
    ])
      expect(await inShell(command, { cwd })).toMatchObject({ code: 0, stderr: '' });
    const copy = await serve(['--no-auth', '--data', second], { cwd });
    expect(await storedCalls(copy.url)).toEqual([id]);
  });
});
