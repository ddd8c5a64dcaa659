import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { figure } from '../support/figure.ts';
import { withPeak } from '../support/memory.ts';
import { start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const GIBIBYTE = 1024 ** 3;
const MEBIBYTE = 1024 ** 2;
const MAX_MEBIBYTES = 150;
const LIMIT_MS = 3_600_000;

// About 4 KiB: quotes, line breaks and characters of several bytes in a cell.
const text = 'Great, ""really"" – ä€😀,\r\n\tsecond line '.repeat(80);

/** Writes a table of 1 GiB, and returns the number of its rows. */
async function writeTable(path: string): Promise<number> {
  const file = createWriteStream(path);
  file.write('\ufeffid,text,digits\r\n');
  let count = 0;
  for (let bytes = 0; bytes < GIBIBYTE; count += 1) {
    const row = `${count + 1},"${text}",${9_007_199_254_740_993n + BigInt(count)}\r\n`;
    bytes += Buffer.byteLength(row);
    if (!file.write(row)) await once(file, 'drain');
  }
  await new Promise((resolve) => file.end(resolve));
  return count;
}

describe('1 GiB of rows', () => {
  it(
    'takes bounded memory: counted, sampled, sent and resumed',
    async () => {
      const cwd = temporaryDirectory();
      const rows = await writeTable(join(cwd, 'rows.csv'));
      let wrong = 0;
      const { url, counts } = await countingServer(
        (body) => {
          const { content } = JSON.parse(body).messages[0];
          if (content.slice(content.indexOf(' ') + 1) !== text.replaceAll('""', '"')) wrong += 1;
          return content.slice(0, content.indexOf(' '));
        },
        (_, response) =>
          answerJson(response, { choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }] }),
      );
      const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
      const send = ['chat', '-m', 'm', '--rows', 'rows.csv', '--exact', '--prompt', '{{digits}} {{text}}', '-q'];
      const peakOf = async (args: readonly string[]): Promise<number> => {
        const child = start([...send, ...args], { cwd, env });
        const { code, stderr, peak } = await withPeak(child, waitForExit(child));
        expect(code, stderr).toBe(0);
        return peak;
      };
      for (const [name, args, sent] of [
        ['counted', ['--dry-run'], 0],
        ['sampled', ['--sample', '1000', '--id-column', 'id', '-o', 'sample.jsonl'], 1000],
        ['sent', ['--id-column', 'id', '-o', 'out.jsonl'], rows],
        ['resumed', ['--id-column', 'id', '-o', 'out.jsonl', '--resume'], rows],
      ] as const) {
        const peak = await peakOf(args);
        figure(`1 GiB of rows (${rows}), ${name}: ${Math.ceil(peak / MEBIBYTE)} MiB of memory`);
        expect([counts.size, wrong]).toEqual([sent, 0]);
        expect.soft(peak).toBeLessThan(MAX_MEBIBYTES * MEBIBYTE);
      }
    },
    LIMIT_MS,
  );
});
