import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { listening } from '../support/secure-servers.ts';
import { temporaryDirectory } from '../support/svc.ts';

const reply = JSON.stringify({
  ...{ id: 'c', object: 'chat.completion', model: 'm', created: 12_345_678_901_234_567n.toString() },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Two days' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
});

/** Runs `svc chat` against a server with this response. */
async function chat(
  body: string | Uint8Array,
  headers: { readonly [name: string]: string },
  flags: readonly string[] = [],
) {
  const cwd = temporaryDirectory();
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, headers).end(body));
  });
  onTestFinished(() => void server.close());
  const port = await listening(server);
  const env = { SVC_TOKEN: 't', SVC_MODEL: 'm', SVC_BASE_URL: `http://127.0.0.1:${port}` };
  return { cwd, ...(await runBuilt(['chat', 'x', ...flags], { cwd, env })) };
}

const json = { 'Content-Type': 'application/json' };
const twice = (text: string): Buffer => gzipSync(gzipSync(text));

describe('a response whose Content-Encoding', () => {
  it.each<[string, Uint8Array | string, string | undefined, string]>([
    ['is gzip', gzipSync(reply), 'gzip', ''],
    ['is x-gzip', gzipSync(reply), 'x-gzip', ''],
    ['is deflate', deflateSync(reply), 'deflate', ''],
    ['is deflate, of raw data', deflateRawSync(reply), 'deflate', ''],
    ['is br', brotliCompressSync(reply), 'br', ''],
    ['is a list', gzipSync(brotliCompressSync(reply)), 'br, gzip', ''],
    ['is gzip twice', twice(reply), 'gzip, gzip', ''],
    ['has identity in it', gzipSync(reply), 'identity, gzip', ''],
    ['is none', reply, 'none', 'Content-Encoding: none, but its body is not encoded'],
    ['is utf-8', reply, 'UTF-8', 'Content-Encoding: utf-8, but its body is not encoded'],
    ['is aws-chunked', reply, 'aws-chunked', 'Content-Encoding: aws-chunked, but its body is not encoded'],
    ['is aws-chunked and gzip', gzipSync(reply), 'aws-chunked,gzip', 'but its body is gzip'],
    ['is gzip, of a plain body', reply, 'gzip', 'Content-Encoding: gzip, but its body is not encoded'],
    ['is br, of a plain body', reply, 'br', 'Content-Encoding: br, but its body is not encoded'],
    ['is deflate, of a plain body', reply, 'deflate', 'Content-Encoding: deflate, but its body is not encoded'],
    ['is br, of a body in gzip', gzipSync(reply), 'br', 'Content-Encoding: br, but its body is gzip'],
    ['is gzip, of a body in gzip twice', twice(reply), 'gzip', 'but its body is gzip, gzip'],
    ['is missing', gzipSync(reply), undefined, 'no Content-Encoding, but its body is gzip'],
    ['is unknown', reply, 'x-new', 'Content-Encoding: x-new, but its body is not encoded'],
  ])('%s is read as what its bytes are', async (_, body, encoding, note) => {
    const headers = { ...json, ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }) };
    const { code, stdout, stderr } = await chat(body, headers, ['--json']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${reply}\n` });
    if (note === '') expect(stderr).toBe('');
    else expect(stderr).toContain(note);
  });

  it.each(['gzip', 'deflate', 'none'])('is %s, of a stream, is read as it arrives', async (encoding) => {
    const chunk = (delta: object, reason: string | null = null): string =>
      `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
    const text = `${chunk({ role: 'assistant', content: 'Two' })}${chunk({ content: ' days' }, 'stop')}data: [DONE]\n\n`;
    const body = { gzip: gzipSync(text), deflate: deflateRawSync(text), none: text }[encoding] ?? '';
    const headers = { 'Content-Type': 'text/event-stream', 'Content-Encoding': encoding };
    expect(await chat(body, headers, ['--stream'])).toMatchObject({ code: 0, stdout: 'Two days\n' });
  });

  it('is valid up to a broken byte keeps what came before it', async () => {
    const body = gzipSync(Buffer.concat([Buffer.from(reply.slice(0, -1)), Buffer.alloc(50_000, ' ')]));
    body.fill(0xff, body.length - 30);
    const { cwd, code, stderr } = await chat(body, { ...json, 'Content-Encoding': 'gzip' }, [
      '--json',
      '-o',
      'out.json',
    ]);
    expect(code).toBe(11);
    expect(stderr).toMatch(/applied/);
    expect(existsSync(join(cwd, 'out.json'))).toBe(false);
    expect(readFileSync(join(cwd, 'out.json.partial'), 'utf8')).toContain('Two days');
  });
});

describe('a stream', () => {
  const chunk = (content: string, reason: string | null = null, more: object = {}): string =>
    JSON.stringify({
      id: 'c',
      model: 'm',
      choices: [{ index: 0, delta: { content }, finish_reason: reason, ...more }],
    });
  const start = `data: ${chunk('Two')}\n\n`;
  const end = `data: ${chunk(' days', 'stop')}\n\n`;

  it.each([
    ['an event with empty data', `${start}data:\n\ndata: \n\n${end}data: [DONE]\n\n`],
    [
      'a ping that is not JSON',
      `event: ping\ndata: 12:00 now\n\n${start}event: ping\ndata: keep\n\n${end}data: [DONE]\n\n`,
    ],
    ['a ping after its end', `${start}${end}event: ping\ndata: still here\n\ndata:\n\ndata: [DONE]\n\n`],
    ['a last event with one line feed', `${start}data: ${chunk(' days', 'stop')}\n`],
    ['a last event without a line feed', `${start}data: ${chunk(' days', 'stop')}`],
  ])('with %s is read to its end', async (_, body) => {
    const result = await chat(body, { 'Content-Type': 'text/event-stream' }, ['--stream']);
    expect(result).toMatchObject({ code: 0, stdout: 'Two days\n', stderr: '' });
  });

  it.each(['-Infinity', 'NaN', 'Infinity'])(
    'with %s in it is a warning, and its texts keep the word',
    async (number) => {
      const body = `data: ${chunk('In', null, { logprobs: { content: [{ token: number, logprob: 0 }] } }).replace('"logprob":0', `"logprob":${number}`)}\n\ndata: ${chunk(`finity ${number}`, 'stop')}\n\n`;
      const { code, stdout, stderr } = await chat(body, { 'Content-Type': 'text/event-stream' }, [
        '--stream',
        '--json',
      ]);
      expect({ code, text: JSON.parse(stdout).choices[0].message.content }).toEqual({
        code: 0,
        text: `Infinity ${number}`,
      });
      expect(JSON.parse(stdout).choices[0].logprobs.content).toEqual([{ token: number, logprob: null }]);
      expect(stderr).toContain('numbers that are not JSON (NaN or Infinity); they are read as null');
    },
  );

  it('with an error as a bare line of JSON fails with its text', async () => {
    const body = `${start}{"error":"model runner has stopped"}\n\n`;
    const { code, stdout, stderr } = await chat(body, { 'Content-Type': 'text/event-stream' }, ['--stream']);
    expect({ code, stdout }).toEqual({ code: 11, stdout: 'Two\n' });
    expect(stderr).toContain('model runner has stopped');
  });
});
