import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

it.each([
  ['call', 'start', '--project-id', 'a/b', '--op-name', 'x'],
  ['call', 'run', '--project-id', 'a/b', '--', 'true'],
  ['chat', 'hi', '-m', 'm'],
  ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl'],
  ['train', '--dry-run', '-f', 'in.jsonl'],
])('a clock before 1970 is exit 2, before ids are made and anything is sent or written: svc %s %s', async (...args) => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'in.jsonl'), '{"model":"m","messages":[{"role":"user","content":"hi"}]}\n');
  const { url, counts } = await countingServer(
    () => 'any',
    (_, response) => answerJson(response, {}),
  );
  const env = { SVC_BASE_URL: url, SVC_TOKEN: 'tok-en-1', SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1' };
  const end = await svc(args, { cwd, env, runtime: { now: () => -1 } });
  expect(end).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the clock of this machine is set before 1970'),
  });
  expect(end.stdout).toBe('');
  expect(counts.size).toBe(0);
  expect(readdirSync(cwd)).toEqual(['in.jsonl']);
});
