import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answering, serviceEnv as env } from '../support/service.ts';
import { closedPipe, type Result, svc, temporaryDirectory } from '../support/svc.ts';

const completion =
  '{"id":"c1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"No"},"finish_reason":"stop"}]}';
const streamed = completion.replace('"message"', '"delta"');
const firstChunk = streamed.replace('"stop"', 'null');

const schema = ['feedback', 'schema', '--project-id', 'a/b', '--start', '7d', '--end', '1d'];

/** A run whose reader has closed the pipe. */
function piped(args: readonly string[], body: string, more: Record<string, string> = {}, cwd = temporaryDirectory()) {
  const { send } = answering(body, 200, body.startsWith('data:') ? 'text/event-stream' : 'application/json');
  return svc(args, { env: { ...env, ...more }, send, cwd, runtime: { stdout: closedPipe() } });
}
const chat = (body: string, cwd: string, ...flags: string[]): Promise<Result> =>
  piped(['chat', 'hi', '--no-stdin', ...flags], body, { SVC_HISTORY: '1' }, cwd);

describe('with a reader that closed the pipe', () => {
  it.each([
    ['a response', completion, [], 0],
    ['a failed expectation', completion, ['--expect-text', 'zzz'], 13],
    ['a response without a choice', '{"id":"c1","choices":[]}', [], 11],
    ['a stream that is stopped', `data: ${firstChunk}\n\n`, ['--stream'], 0],
    ['a cut stream', `data: ${firstChunk}\n\n`, ['--stream', '--json'], 11],
    ['a failed expectation of a stream', `data: ${streamed}\n\n`, ['--stream', '--json', '--expect-text', 'zzz'], 13],
    ['a failed expectation of a live stream', `data: ${streamed}\n\n`, ['--stream', '--expect-text', 'zzz'], 13],
    ['a failed expectation of chunks', `data: ${streamed}\n\n`, ['--format', 'jsonl', '--expect-text', 'zzz'], 13],
    ['a cut stream with an expectation', `data: ${firstChunk}\n\n`, ['--stream', '--expect-text', 'No'], 11],
  ])('%s has the same exit code, and is in the history', async (_, body, flags, code) => {
    const cwd = temporaryDirectory();
    const result = await chat(body, cwd, ...flags);
    expect(result.code, result.stderr).toBe(code);
    expect(JSON.parse(readFileSync(join(cwd, 'data/requests.jsonl'), 'utf8'))).toMatchObject({ exit_code: code });
  });

  it.each([
    ['a response', completion],
    ['a live stream', `data: ${firstChunk}\n\ndata: ${streamed}\n\n`, '--stream'],
  ])('a conversation is saved, and JUnit reports success, of %s', async (_, body, ...flags) => {
    const cwd = temporaryDirectory();
    expect(await chat(body, cwd, '--conversation', 'c.json', '--junit', 'j.xml', ...flags)).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(join(cwd, 'c.json'), 'utf8'))).toHaveLength(2);
    expect(readFileSync(join(cwd, 'j.xml'), 'utf8')).toContain('tests="1" failures="0" errors="0"');
  });

  it.each([
    ['svc feedback schema', [...schema, '--expect', 'd.json'], {}, 13],
    ['svc doctor', ['doctor', '--format', 'text'], { SVC_BASE_URL: '' }, 2],
    ['svc auth status', ['auth', 'status'], { SVC_TOKEN: '', SVC_USERNAME: '', SVC_PASSWORD: '' }, 4],
    ['svc train lint', ['train', 'lint', 'groups.jsonl'], {}, 3],
  ])('%s fails with the same exit code', async (_, args, more, code) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'd.json'), '{"paths":[{"json_path":"a","value_type":"numeric"}]}');
    writeFileSync(join(cwd, 'groups.jsonl'), '7\n');
    const result = await piped(args, '{"paths":[]}', more, cwd);
    expect(result.code, result.stderr).toBe(code);
  });
});
