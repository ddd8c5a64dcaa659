import { expect, it } from 'vitest';
import { collectBody } from '../../src/http/body-chunks.ts';
import { sendWithCopies } from '../../src/local-service/body-copy.ts';

const MAX_COPY_BYTES = 200;
const salt = 'SeCrEt "sält"';
const json = JSON.stringify(salt);
const ascii = json.replace('ä', '\\u00e4');

/** The copies of a request and its response, and what the caller got. */
async function copies(sentBody: string, response = '{}') {
  let copied = '';
  const { body } = await sendWithCopies(
    {
      ...{ method: 'POST', url: 'http://localhost/v1/chat/completions', headers: [] },
      body: {
        length: undefined,
        chunks: async function* () {
          yield Buffer.from(sentBody);
        },
      },
    },
    async (request) => {
      if (!(request.body instanceof Uint8Array)) for await (const _ of request.body.chunks());
      return {
        status: 422,
        statusText: '',
        headers: [],
        body: (async function* () {
          yield Buffer.from(response);
        })(),
      };
    },
    MAX_COPY_BYTES,
    async (sent, _, received) => {
      copied = `${sent}\n${received}`;
    },
  );
  const received = (await collectBody(body, 1e6)).toString();
  return { copied, received };
}

it.each([
  ['valid', `{"cache_salt":${json},"messages":[]}`],
  ['cut after the field', `{"cache_salt":${json},"messages":["${'x'.repeat(MAX_COPY_BYTES)}"]}`],
  ['cut within the field', `{"messages":["${'x'.repeat(MAX_COPY_BYTES - 40)}"],"cache_salt" : ${json}}`],
  ['invalid', `{"cache_salt" :\n${ascii},"messages":[{"role":"user","content":"`],
  ['invalid, twice', `{"cache_salt":"SeCrEt-1","cache_salt":${json},`],
  ['invalid, not a string', `{"cache_salt":5eCrEt12345,`],
  ['invalid in the field', `{"cache_salt":"SeCrEt\\q","messages":[]`],
])('copies a body without its secret field: %s', async (_, body) => {
  const { copied } = await copies(body);
  expect(copied).toContain('[redacted]');
  expect(copied).not.toMatch(/[S5]eCrEt/);
});

it.each([
  ['as it was sent', `{"detail":[{"input":{"cache_salt":${json}}}]}`],
  ['escaped', `{"detail":[{"input":{"cache_salt":${ascii}}}]}`],
  ['cut', `{"detail":"${'x'.repeat(MAX_COPY_BYTES - 20)}${json}`],
])('copies a response without the secret field of its request, %s, and sends it unchanged', async (_, response) => {
  const { copied, received } = await copies(`{"cache_salt":${json},"messages":[]}`, response);
  expect(copied).toContain('[redacted]');
  expect(copied).not.toContain('SeCrEt');
  expect(received).toBe(response);
});

it('copies a response as it is where a secret field of its request is a short word', async () => {
  expect((await copies('{"cache_salt":"none"}', '{"tool_choice":"none"}')).copied).toContain('"none"');
});

it.each([
  ['with a length', [['Content-Length', '2']] as const, 'end, chunk'],
  ['without a length', [], 'chunk, end'],
])('the end is awaited before the last byte of a response %s', async (_, headers, order) => {
  const events: string[] = [];
  const response = { status: 200, statusText: '', headers };
  const { body } = await sendWithCopies(
    { method: 'POST', url: 'http://localhost/call/start', headers: [], body: Buffer.from('{}') },
    async () => ({
      ...response,
      body: (async function* () {
        yield Buffer.from('{}');
      })(),
    }),
    MAX_COPY_BYTES,
    async () => void events.push('end'),
  );
  for await (const _chunk of body) events.push('chunk');
  expect(events.join(', ')).toBe(order);
});
