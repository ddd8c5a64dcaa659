import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { openBatchInput } from '../../src/batch/batch-input.ts';
import { folder } from '../support/svc.ts';

it('lines end without an error when they are stopped while the input is opened', async () => {
  const cwd = folder();
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
  const runtime = { cwd, stdin: Readable.from([]), after: () => () => {} };
  const input = await openBatchInput('pipe', runtime, 1000);
  const first = input.lines[Symbol.asyncIterator]().next();
  input.stop();
  expect(await first).toEqual({ done: true, value: undefined });
});
