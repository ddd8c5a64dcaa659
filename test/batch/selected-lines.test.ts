import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lineSplitter, openBatchInput, selectedLines } from '../../src/batch/read/batch-input.ts';
import { compareInput, openPriorResults, openResultStore } from '../../src/batch/store/result-store.ts';
import { after } from '../support/clock.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const runtime = (cwd: string) => ({
  cwd,
  stdin: process.stdin,
  after,
  uptime: () => 0,
  elapsed: () => performance.now(),
  pid: process.pid,
  host: 'here',
  isRunning: () => true,
  processScope: undefined,
  processStart: () => undefined,
  randomBytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
});

/** A completed batch of 12 lines, and its output. */
async function completed() {
  const cwd = temporaryDirectory();
  const lines = Array.from({ length: 12 }, (_, at) => `{"messages":[{"role":"user","content":"p${at + 1}"}]}\n`);
  writeFileSync(join(cwd, 'in.jsonl'), lines.join(''));
  const { url } = await countingServer(String, (_, response) =>
    answerJson(response, { model: 'm', choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }] }),
  );
  const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
  expect(await svc(['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--ordered'], { cwd, env })).toMatchObject({
    code: 0,
  });
  return { cwd, path: join(cwd, 'out.jsonl') };
}

describe('lines that are out of the scope of a run', () => {
  it('keep their results: each is compared, counted and sent from the same selection, and none is removed', async () => {
    const { cwd, path } = await completed();
    const before = readFileSync(path, 'utf8');
    const identity = {
      operation: '/v1/chat/completions',
      shard: '1/1',
      base_url: 'https://x/',
      values: {},
    };
    const options = { isResumed: true, canAcceptChanges: true, takeOverMs: undefined };
    // A filter that is not part of the identity, as `--sample` would be.
    const selection = { shard: { index: 3, count: 5 } };
    const selected: number[] = [];
    const input = await openBatchInput('in.jsonl', runtime(cwd), lineSplitter(1e6));
    for await (const { number } of selectedLines(input, selection)) selected.push(number);
    expect(selected).toEqual([3, 8]);

    const output = { path, displayPath: 'out.jsonl' };
    const prior = await openPriorResults(output, identity, 'x', options, runtime(cwd), { warn: async () => {} });
    const compared = await openBatchInput('in.jsonl', runtime(cwd), lineSplitter(1e6));
    const differences = await compareInput(compared, selection, prior.table, 'out.jsonl', 'accept');
    expect(differences).toEqual({ changedLines: [], removedLines: new Set() });
    const store = await openResultStore(prior, identity, differences);
    await store.finish(() => {});
    await prior.release();
    expect(readFileSync(path, 'utf8')).toBe(before);
  });
});
