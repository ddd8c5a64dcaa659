import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { lineSplitter, openBatchInput } from '../../src/batch/read/batch-input.ts';
import type { Runtime } from '../../src/runtime.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

it('lines end without an error if they are stopped while the input is being opened', async () => {
  const cwd = temporaryDirectory();
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
  const runtime = { cwd, stdin: Readable.from([]), after: () => () => {}, elapsed: () => 0 };
  const input = await openBatchInput('pipe', runtime, lineSplitter(1000));
  const first = input.lines[Symbol.asyncIterator]().next();
  input.stop();
  expect(await first).toEqual({ done: true, value: undefined });
});

it.each([['--resume', '-o', 'out.jsonl'], ['--dry-run']])(
  'one signal ends a batch that reads a pipe: %s',
  async (...flags) => {
    const cwd = temporaryDirectory();
    const line = '{"start":{"project_id":"a/b","op_name":"x"}}\n';
    const words = ['call', 'start', '--local', '--batch', '-'];
    expect(await svc([...words, '-o', 'out.jsonl'], { cwd, stdin: line })).toMatchObject({ code: 0 });
    const listeners: ((signal: never) => void)[] = [];
    const onSignal: Runtime['onSignal'] = (listener) => {
      listeners.push(listener);
      return () => {};
    };
    let reads = 0;
    // The second read waits for more than the line.
    const stdin = new Readable({
      read() {
        reads += 1;
        if (reads === 1) this.push(line);
        else setImmediate(() => listeners[0]?.('SIGTERM' as never));
      },
    });
    // No time passes: nothing but the signal ends the batch.
    const runtime = { onSignal, after: () => () => {}, elapsed: () => 0 };
    expect(await svc([...words, ...flags], { cwd, stdin, runtime })).toMatchObject({ code: 143 });
  },
);

it('a directory as input is an error before the credentials are checked, and leaves no checkpoint', async () => {
  const cwd = temporaryDirectory();
  const env = { SVC_BASE_URL: 'http://127.0.0.1:9' };
  expect(await svc(['chat', '--batch', '.', '-o', 'out.jsonl'], { cwd, env })).toMatchObject({
    code: 12,
    stderr: 'svc: cannot read .: it is a directory\n  name a file\n',
  });
  expect(readdirSync(cwd)).toEqual([]);
});
