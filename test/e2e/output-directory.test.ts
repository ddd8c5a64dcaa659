import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const inputs = { 'a single request': ['hi', '-m', 'm'], 'a batch': ['--batch', 'in.jsonl'] };

it.each(Object.entries(inputs))('%s does not create a directory that -o names', async (_, input) => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'in.jsonl'), '{"model":"m","messages":[{"role":"user","content":"hi"}]}\n');
  const server = await countingServer(
    () => 'request',
    (_body, response) => answerJson(response, { choices: [{ message: { content: 'ok' } }] }),
  );
  const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url };
  // Newer lines of Node keep compiled code in the home directory.
  const names = (): string[] => readdirSync(cwd).filter((name) => name !== '.cache');
  const before = names();
  for (const output of ['none/', 'none/x/', './none/.', `${cwd}/none/`]) {
    const { code, stderr } = await runBuilt(['chat', ...input, '-o', output], { cwd, env });
    expect({ output, code, stderr }).toEqual({ output, code: 12, stderr: expect.stringContaining(output) });
  }
  expect(names()).toEqual(before);
  expect(server.counts.size).toBe(0);
});

it('names mkdir for a directory that is missing, and not where that fails', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'file'), '');
  for (const [output, hint] of [
    ['none/x', 'create the directory: mkdir -p none\n'],
    ['file/x', 'check the path and its directory\n'],
  ] as const) {
    const { code, stderr } = await runBuilt(['chat', 'hi', '--local', '--no-stdin', '-o', output], { cwd });
    expect([code, stderr]).toEqual([12, expect.stringContaining(hint)]);
  }
});
