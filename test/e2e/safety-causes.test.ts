import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { temporaryDirectory } from '../support/svc.ts';

const chat = (content: string) => `${JSON.stringify({ messages: [{ role: 'user', content }] })}\n`;
const batch = ['chat', '--local', '--batch', 'in.jsonl', '-o', 'out.jsonl', '-q'];

// Exit code 13 has several causes, which a script can branch on.
it.each([
  ['expectation', ['chat', '--local', 'hi', '--expect-text', 'zebra']],
  ['expectation', ['chat', '--local', 'hi', '--extract', 'json']],
  ['expectation', ['train', 'lint', 'one.jsonl', '--fail-on', 'any']],
  ['insecure_transport', ['chat', 'hi', '--base-url', 'http://192.0.2.1']],
  ['changed_input', [...batch, '--resume']],
  ['other_batch', [...batch, '--resume', '--seed', '7']],
])('%s is the cause of a failure of %j', async (cause, args) => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'one.jsonl'), '{"trajectories":[{"reward":1}]}\n');
  writeFileSync(join(cwd, 'in.jsonl'), chat('before'));
  await runBuilt(batch, { cwd });
  if (cause === 'changed_input') writeFileSync(join(cwd, 'in.jsonl'), chat('after'));
  const env = { SVC_TOKEN: 'tok-en-1' };
  const { code, stderr } = await runBuilt([...args, '--error-format', 'json'], { cwd, env });
  expect(code).toBe(13);
  expect(JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error).toMatchObject({ code: 'safety_check', cause });
});
