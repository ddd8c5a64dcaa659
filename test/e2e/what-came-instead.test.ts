import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { done, event, streamHead } from '../support/event-stream.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';

async function chat(answer: string, args: readonly string[] = []) {
  const { url } = await rawServer((socket) => socket.end(answer));
  return runBuilt(['chat', '-m', 'm', 'x', '--no-stdin', ...args], {
    env: { SVC_TOKEN: 'token-1', SVC_BASE_URL: url },
  });
}

const usage = { prompt_tokens: 3, completion_tokens: 8 };

const streamOf = (chunks: readonly object[]): string =>
  streamHead + chunks.map((chunk) => event(JSON.stringify(chunk))).join('') + done;

describe('a response without text', () => {
  it.each([
    ['images', { images: [{ type: 'image_url', image_url: { url: 'data:,' } }] }, usage],
    ['audio', { content: null, audio: { id: 'a', data: 'AAAA' } }, usage],
    ['a content part of type image', { content: [{ type: 'image', image: 'x' }] }, usage],
    ['reasoning', { content: '', reasoning_content: 'r' }, usage],
    ['although it used 8 tokens', { content: '' }, usage],
    ['and nothing else', { content: null, tool_calls: [] }, {}],
  ])('says what it has instead: %s', async (what, message, used) => {
    const body = JSON.stringify({ model: 'm', choices: [{ message, finish_reason: 'stop' }], usage: used });
    const whole = await chat(httpAnswer(body));
    expect(whole).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('the response has no text') });
    expect(whole.stderr).toContain(what);
    if (Array.isArray(Object.values(message)[0]) && 'content' in message) return;
    const stream = streamOf([
      { choices: [{ delta: message }] },
      { choices: [{ delta: {}, finish_reason: 'stop' }], usage: used },
    ]);
    expect((await chat(stream, ['--stream'])).stderr).toContain(what);
  });

  it('says nothing about a response with text, or with a refusal', async () => {
    const message = (fields: object) =>
      httpAnswer(JSON.stringify({ model: 'm', choices: [{ message: fields, finish_reason: 'stop' }], usage }));
    expect((await chat(message({ content: 'x', images: [{}] }))).stderr).toBe('');
    expect((await chat(message({ content: '', refusal: 'no' }))).stderr).not.toContain('no text');
  });
});

it.each([
  ['choices', { choices: [{ delta: {}, finish_reason: 'stop', usage }] }],
  ['x_groq', { choices: [{ delta: {}, finish_reason: 'stop' }], x_groq: { usage } }],
])('usage in %s counts', async (_, last) => {
  const { stderr } = await chat(streamOf([{ choices: [{ delta: { content: 'x' } }] }, last]), [
    '--stream',
    '--stats',
    '-v',
  ]);
  expect(stderr).toContain('3 tokens in, 8 out');
  expect(stderr).toContain('prompt tokens: 3\ncompletion tokens: 8\n');
});

it('counts the lost values beyond the first ones', async () => {
  const fields = (value: number) => Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`field_${at}`, value]));
  const chunk = (value: number) => ({ choices: [{ delta: { content: 'x' } }], nested: fields(value) });
  const last = { choices: [{ delta: {}, finish_reason: 'stop' }] };
  const { stderr } = await chat(streamOf([chunk(1), chunk(2), last]), ['--stream']);
  expect(stderr.match(/was left out of the merged response/g)).toHaveLength(21);
  expect(stderr).toContain('a value of each of 5 more fields was left out');
});
