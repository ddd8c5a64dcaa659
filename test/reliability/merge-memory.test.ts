import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { withPeak } from '../support/memory.ts';
import { start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const MIB = 1024 * 1024;
const SHARDS = 200;
const LINES = 1500;

const result = (line: number, shard: number): string =>
  `{"line":${line},"id":null,"status":200,"exit_code":0,"applied":"yes","response":{},"attempts":1,"ms":1,"checkpoint":{"input":"0123456789abcdef","run":"01a1fd65-c7c7-7d58-a39c-000000000000","operation":"/v1/chat/completions","shard":"${shard}/${SHARDS}"}}\n`;

async function peakOfMerge(cwd: string, files: readonly string[], lines: number): Promise<number> {
  const child = start(['batch', 'merge', ...files, '-o', 'all.jsonl'], { cwd });
  const { code, stderr, peak } = await withPeak(child, waitForExit(child));
  // The outputs of other shards are missing.
  const isWhole = files.length === SHARDS;
  expect({ code, stderr }).toEqual({
    code: isWhole ? 0 : 10,
    stderr: expect.stringContaining(`${lines} lines: ${lines} done`),
  });
  return peak;
}

it('a merge of 200 outputs needs little more memory than a merge of one', async () => {
  const cwd = temporaryDirectory();
  const files = Array.from({ length: SHARDS }, (_, at) => `${at + 1}.jsonl`);
  for (const [at, name] of files.entries())
    writeFileSync(
      join(cwd, name),
      Array.from({ length: LINES }, (_, index) => result(at * LINES + index + 1, at + 1)).join(''),
    );
  const one = await peakOfMerge(cwd, files.slice(0, 1), LINES);
  const all = await peakOfMerge(cwd, files, SHARDS * LINES);
  figure(`a merge of 200 outputs: ${((all - one) / MIB).toFixed(0)} MiB above one of ${(one / MIB).toFixed(0)} MiB`);
  // 32 MiB are promised for any number of lines; a buffer per output took 23 for these.
  expect(all - one).toBeLessThan(16 * MIB);
});
