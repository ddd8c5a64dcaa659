import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/local-service/store/open-store.ts';
import { run, serve, start, waitForExit } from '../support/process.ts';
import { bodyOf, httpAnswer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const groups = '{"trajectories":[{"reward":1},{"reward":0}]}\n';
const train = ['train', 'g.jsonl', '--model-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05'];

function home(): string {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'g.jsonl'), groups);
  return cwd;
}

/** The outcome of each job in the job history of a home. */
async function outcomes(cwd: string): Promise<string[]> {
  const { stdout } = await run(['train', 'log'], { cwd });
  return JSON.parse(stdout).map(({ outcome }: { outcome: string }) => outcome);
}

describe('many processes with the same job', () => {
  it.each([[train], [['train', '-', ...train.slice(2)]]])('send it once: svc %j', async (args) => {
    const data = join(temporaryDirectory(), 'served.db');
    const { env } = await serve(['--data', data]);
    const cwd = home();
    const all = await Promise.all(Array.from({ length: 8 }, () => run(args, { cwd, env, stdin: groups })));
    expect(all.map(({ code }) => code).sort((left, right) => Number(left) - Number(right))).toEqual([
      0,
      ...Array.from({ length: 7 }, () => 13),
    ]);
    const store = await openStore(data);
    expect(store.all('select id from jobs')).toHaveLength(1);
    store.close();
    expect(await outcomes(cwd)).toEqual(['applied']);
  });
});

describe('a job that is in flight', () => {
  it('is refused elsewhere; once its process is killed its outcome is unknown', async () => {
    const server = await rawServer(() => {});
    const cwd = home();
    const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1' };
    const child = start(train, { cwd, env });
    while (bodyOf(server.received[0]).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const meanwhile = await run(train, { cwd, env });
    expect(meanwhile).toMatchObject({ code: 13, stderr: expect.stringContaining(`in process ${child.pid} on`) });
    expect(await outcomes(cwd)).toEqual(['in-flight']);
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(await outcomes(cwd)).toEqual(['unknown']);
    expect(await run(train, { cwd, env })).toMatchObject({
      code: 13,
      stderr: expect.stringMatching(/and may have been applied.*\n.*check the service first/),
    });
    expect(server.received).toHaveLength(1);
  });

  it.each<[NodeJS.Signals, number]>([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])('and ended by %s has an outcome that is unknown', async (signal, code) => {
    const server = await rawServer(() => {});
    const cwd = home();
    const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1' };
    const child = start(train, { cwd, env });
    const end = waitForExit(child);
    while (bodyOf(server.received[0]).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill(signal);
    expect((await end).code).toBe(code);
    // Whether or not it still recorded that.
    expect(await outcomes(cwd)).toEqual(['unknown']);
    expect((await run(train, { cwd, env })).code).toBe(13);
  });

  it('can be sent again if the service was never reached', async () => {
    const cwd = home();
    const env = { SVC_BASE_URL: 'http://127.0.0.1:1', SVC_TOKEN: 'tok-en-1', SVC_RETRIES: '0' };
    expect((await run(train, { cwd, env })).code).toBe(7);
    expect((await run(train, { cwd, env })).code).toBe(7);
    expect(await outcomes(cwd)).toEqual(['not-applied', 'not-applied']);
  });

  it('that svc itself retries is one job', async () => {
    let count = 0;
    const server = await rawServer((socket) => {
      count += 1;
      socket.end(
        count === 1
          ? httpAnswer('{"detail":"later"}', '429 Too Many Requests', 'Retry-After: 0\r\n')
          : httpAnswer('{"id":"0199aaaa-5f3a-7c21-9b6e-2f1d7a4c8e05"}'),
      );
    });
    const cwd = home();
    const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1' };
    expect(await run(train, { cwd, env })).toMatchObject({ code: 0 });
    expect(count).toBe(2);
    expect(await outcomes(cwd)).toEqual(['applied']);
  });
});
