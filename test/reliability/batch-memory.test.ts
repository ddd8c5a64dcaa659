import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { calls } from '../e2e/batch.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { figure } from '../support/figure.ts';
import { withPeak } from '../support/memory.ts';
import { start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const MAX_BYTES = 150 * 1024 * 1024;

it('a batch uses bounded memory for a file of any length', async () => {
  const cwd = temporaryDirectory();
  const path = join(cwd, 'in.jsonl');
  const file = createWriteStream(path);
  const lines = 40_000;
  for (let at = 1; at <= lines; at += 1)
    if (!file.write(`${JSON.stringify(calls.line(at))}\n`)) await once(file, 'drain');
  await new Promise((resolve) => file.end(resolve));
  const { url } = await countingServer(
    () => '',
    (_, response) => answerJson(response, calls.reply),
  );
  const env = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_BASE_URL: url };
  const child = start(['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl'], { cwd, env });
  const { code, stderr, peak } = await withPeak(child, waitForExit(child));
  expect(code, stderr).toBe(0);
  figure(`a batch of ${lines} lines: ${Math.ceil(peak / 1024 / 1024)} MiB of memory`);
  expect(peak).toBeLessThan(MAX_BYTES);
});
