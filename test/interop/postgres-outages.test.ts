import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { filePostgres } from '../support/file-postgres.ts';
import { serve, waitForExit } from '../support/process.ts';

// The built program: the bundle replaces parts of the PostgreSQL library, which the source does not show.
const { reason, server } = filePostgres('outages of PostgreSQL');

const CLIENTS = 64;

describe.skipIf(reason)('the built svc serve on PostgreSQL', () => {
  it.each([['SIGINT'], ['SIGQUIT'], ['SIGKILL']] as const)(
    `survives a database that ends by %s under ${CLIENTS} clients, and loses no acknowledged write`,
    async (signal) => {
      const database = server()?.newDatabase() ?? '';
      const { url, child } = await serve(['--data', database, '--port', '0']);
      const ended = waitForExit(child);
      const acknowledged: string[] = [];
      const statuses = new Map<number, number>();
      let isOver = false;
      const client = async (number: number): Promise<void> => {
        for (let count = 0; !isOver; count += 1) {
          const id = (number * 1_000_000 + count).toString(16).padStart(16, '0');
          const start = {
            ...{ project_id: 'a/b', op_name: 'op', started_at: '2026-01-01T00:00:00Z', id, trace_id: id.repeat(2) },
            ...{ attributes: {}, inputs: {} },
          };
          const { status } = await fetch(`${url}/call/start`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', authorization: `Basic ${btoa('ada:pass-word-1')}` },
            body: JSON.stringify({ start }),
          });
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (status === 200) acknowledged.push(id);
        }
      };
      const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
      const reach = async (status: number, more: number): Promise<void> => {
        const wanted = (statuses.get(status) ?? 0) + more;
        while ((statuses.get(status) ?? 0) < wanted) await new Promise((resolve) => setImmediate(resolve));
      };
      for (let round = 0; round < 2; round += 1) {
        await reach(200, 200);
        await server()?.kill(signal);
        await reach(503, CLIENTS);
        await server()?.start();
      }
      await reach(200, 200);
      isOver = true;
      await clients;
      child.kill('SIGTERM');
      expect(await ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('TypeError') });
      const stored = new Set(server()?.query(database, 'select id from svc.calls').split('\n'));
      expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    },
  );

  it('ends by SIGTERM with 0 while the database is down, and before it was ever used', async () => {
    const { child } = await serve(['--data', server()?.newDatabase() ?? '', '--port', '0']);
    await server()?.kill('SIGQUIT');
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
    await server()?.start();
  });
});
