import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serve, waitForExit } from '../support/process.ts';

const peers = new URL('../peers/', import.meta.url).pathname;
const isMissing = !existsSync(`${peers}node_modules`);
if (isMissing) process.stderr.write('skipped: the examples of SDKs: run npm ci --prefix test/peers\n');

describe.skipIf(isMissing)('the tool-using example of', () => {
  it.each(['openai', 'openai-stream', 'ai', 'ai-stream', 'langchain', 'agents', 'openai-models'])(
    '%s runs against svc serve, also through --upstream',
    async (sdk) => {
      const direct = await serve();
      const front = await serve(['--upstream', direct.url], {
        env: { SVC_UPSTREAM_TOKEN: direct.env.SVC_TOKEN ?? '' },
      });
      for (const { url, env } of [direct, front]) {
        const child = spawn(process.execPath, [`${peers}tools.js`, sdk, url, env.SVC_TOKEN ?? ''], {
          env: { PATH: process.env.PATH ?? '', HOME: peers },
        });
        onTestFinished(() => void child.kill('SIGKILL'));
        const { code, stdout, stderr } = await waitForExit(child);
        expect(code, stderr).toBe(0);
        const result = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
        expect(result.calls).toEqual([{ city: '' }]);
        expect(result.text).toMatch(/svc/);
      }
    },
    120_000,
  );
});
