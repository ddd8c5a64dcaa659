import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RequestBody } from '../../src/http/message.ts';
import { openLocalService } from '../../src/local-service/open-local-service.ts';
import { openStore } from '../../src/local-service/store/open-store.ts';
import { start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const messages = [{ role: 'user', content: 'x' }];
const long = { messages, n: 20, min_tokens: 30_000, stream: true };

/** The local service as `--local` calls it, and a signal of its requests. */
async function local() {
  const data = join(temporaryDirectory(), 'svc.db');
  const { send, close } = await openLocalService({ databaseFile: data }, { now: Date.now, randomBytes });
  onTestFinished(close);
  const controller = new AbortController();
  const post = (path: string, body: RequestBody) =>
    send({
      method: 'POST',
      url: `http://localhost${path}`,
      headers: [['Content-Type', 'application/json']],
      body,
      signal: controller.signal,
    });
  const stop = (): void => controller.abort(new Error('enough'));
  return { data, post, stop };
}

describe('a request in process that is aborted', () => {
  it('ends a stream at once', async () => {
    const { post, stop } = await local();
    const reply = await post('/v1/chat/completions', Buffer.from(JSON.stringify(long)));
    let count = 0;
    const reading = (async () => {
      for await (const _ of reply.body) {
        if (count === 0) setImmediate().then(stop);
        count += 1;
      }
    })();
    await expect(reading).rejects.toThrow('enough');
    expect(count).toBeLessThan(100);
  });

  it('ends an upload from memory at once', async () => {
    const { post, stop } = await local();
    let count = 0;
    async function* chunks(): AsyncGenerator<Uint8Array> {
      for (; ; count++) yield Buffer.alloc(1024, ' ');
    }
    const outcome = post('/v1/preview/training-jobs', { length: undefined, chunks });
    setImmediate().then(stop);
    await expect(outcome).rejects.toThrow('enough');
    expect(count).toBeLessThan(100);
  });

  it('is not applied once it is over', async () => {
    const { data, post, stop } = await local();
    const body = '{"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trajectory_groups":[]}';
    const outcome = post('/v1/preview/training-jobs', Buffer.from(body));
    stop();
    await expect(outcome).rejects.toThrow('enough');
    const store = await openStore(data);
    expect(store.all('select * from jobs')).toEqual([]);
    store.close();
  });
});

describe('--local', () => {
  it.each<[string, object, readonly string[], NodeJS.Signals | undefined, number]>([
    ['Ctrl-C', { ...long, n: 1 }, [], 'SIGINT', 130],
    ['a deadline', long, ['--timeout', '10'], undefined, 11],
  ])('%s ends a long response quickly', async (_, body, args, signal, code) => {
    const child = start(['chat', '--local', '-q', '-f', '-', '--format', 'text', ...args]);
    const end = waitForExit(child);
    child.stdin?.end(JSON.stringify(body));
    if (signal && child.stdout) {
      await once(child.stdout, 'data');
      child.kill(signal);
    }
    expect((await end).code).toBe(code);
  });
});
