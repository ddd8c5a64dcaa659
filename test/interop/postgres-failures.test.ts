import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parsePostgresUrl } from '../../src/config/postgres-address.ts';
import { collectBody } from '../../src/http/body-chunks.ts';
import { getHeader } from '../../src/http/message.ts';
import { openLocalService } from '../../src/local-service/open-local-service.ts';
import { filePostgres } from '../support/file-postgres.ts';
import { listening } from '../support/secure-servers.ts';
import { temporaryDirectory } from '../support/svc.ts';

const { reason, server } = filePostgres('failures of PostgreSQL');

const job = {
  model_id: '0199f3c0-5f3a-7c21-9b6e-000000000001',
  trajectory_groups: [{ trajectories: [{ reward: 1 }] }],
};
const sample = { project_id: 'a/b', start: '2026-01-01T00:00:00Z' };
const feedback = {
  ...{ project_id: 'a/b', feedback_id: 'none', feedback_type: 't', svc_ref: 'svc:///a/b/object/n:v' },
  payload: {},
};

async function openService(url: string, databaseFile = join(temporaryDirectory(), 'svc.db')) {
  const postgres = { address: parsePostgresUrl(url, 'svc'), password: undefined };
  const { send, close } = await openLocalService({ databaseFile, postgres }, { now: () => 1, randomBytes });
  onTestFinished(close);
  return async (path: string, body?: object) => {
    const { status, headers, ...response } = await send({
      method: body ? 'POST' : 'GET',
      url: `http://localhost${path}`,
      headers: [['content-type', 'application/json']],
      body: Buffer.from(body ? JSON.stringify(body) : ''),
    });
    const text = (await collectBody(response.body, 1e9)).toString();
    return { status, retryAfter: getHeader(headers, 'retry-after'), text };
  };
}

/** How a connection ends: as at a shutdown, or as at a crash. */
type Cut = 'end' | 'resetAndDestroy';

/** Passes connections on to the database of a URL; after `cutNext` it ends one instead of passing on the response to a statement. */
async function cuttingProxy(databaseUrl: string) {
  const url = new URL(databaseUrl);
  const target = join(url.searchParams.get('host') ?? '', '.s.PGSQL.5432');
  let armed: { readonly statement: string; readonly cut: Cut } | undefined;
  const proxy = createServer((client) => {
    const upstream = createConnection(target);
    let cutting: Cut | undefined;
    client.on('data', (bytes) => {
      if (armed && bytes.toString('latin1').includes(armed.statement)) {
        cutting = armed.cut;
        armed = undefined;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (cutting) client[cutting]();
      else client.write(bytes);
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy());
  });
  onTestFinished(() => void proxy.close());
  const port = await listening(proxy);
  return {
    url: `postgres://svc@127.0.0.1:${port}${url.pathname}`,
    cutNext: (statement: string, cut: Cut) => {
      armed = { statement, cut };
    },
  };
}

describe.skipIf(reason)('a service on PostgreSQL', () => {
  it.each([
    ['/v1/preview/training-jobs', job, 'jobs'],
    ['/feedback/replace', feedback, 'feedback'],
  ])(
    'responds 500 without Retry-After to %s where the connection is lost during the commit',
    async (path, body, table) => {
      const url = server()?.newDatabase() ?? '';
      const proxy = await cuttingProxy(url);
      const send = await openService(proxy.url);
      proxy.cutNext('commit', 'end');
      const { status, retryAfter, text } = await send(path, body);
      expect({ status, retryAfter }).toEqual({ status: 500, retryAfter: undefined });
      expect(text).toContain('during a commit');
      expect(server()?.query(url, `select count(*) from svc.${table}`)).toBe('1');
      expect((await send(path, body)).status).toBe(200);
    },
  );

  it.each<[Cut, string, object, string]>([
    ['end', '/feedback/replace', feedback, 'insert into svc.feedback'],
    ['resetAndDestroy', '/feedback/replace', feedback, 'insert into svc.feedback'],
    ['end', '/feedback/payload_schema', sample, 'set transaction'],
    ['resetAndDestroy', '/feedback/payload_schema', sample, 'set transaction'],
  ])('goes on after it lost connections within transactions: %s, %s', async (cut, path, body, statement) => {
    const proxy = await cuttingProxy(server()?.newDatabase() ?? '');
    const send = await openService(proxy.url);
    // More often than the pool has connections.
    for (let count = 0; count < 8; count++) {
      proxy.cutNext(statement, cut);
      expect(await send(path, body)).toMatchObject({ status: 503, retryAfter: expect.any(String) });
      const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await send(path, body)).status));
      expect(new Set(statuses)).toEqual(new Set([200]));
    }
  });

  it('does not start with a server that ends each connection at once', async () => {
    const port = await listening(createServer((socket) => void socket.end()));
    const opened = openService(`postgres://svc@127.0.0.1:${port}/svc`);
    await expect(opened).rejects.toMatchObject({ code: 'local_file', message: expect.stringContaining('closed') });
  });

  it('is not healthy while the database is read-only', async () => {
    const url = server()?.newDatabase() ?? '';
    expect((await (await openService(url))('/healthz')).status).toBe(200);
    const name = new URL(url).pathname.slice(1);
    server()?.query(url, `alter database ${name} set default_transaction_read_only = on`);
    const send = await openService(url);
    expect(await send('/healthz')).toMatchObject({ status: 503, text: expect.stringContaining('read-only') });
    expect((await send('/feedback/replace', feedback)).status).toBe(503);
  });

  it('does not start without a directory to stage training jobs in', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    const opened = openService(server()?.newDatabase() ?? '', join(file, 'data', 'svc.db'));
    await expect(opened).rejects.toMatchObject({ code: 'local_file', message: expect.stringContaining(file) });
  });
});
