import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { done, event, streamHead } from '../support/event-stream.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const credentials = { SVC_TOKEN: 'token-1', SVC_USERNAME: 'u', SVC_PASSWORD: 'p' };

const completion = (message: object): string =>
  JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }], usage: {} });

const streamed = (message: object): string =>
  streamHead +
  event(JSON.stringify({ choices: [{ index: 0, delta: message }] })) +
  event(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })) +
  done;

/** Runs a chat against a server that responds to every request with the same message. */
async function chat(message: object, args: readonly string[] = [], cwd = temporaryDirectory(), isStreamed = false) {
  const { url, received } = await rawServer((socket) =>
    socket.end(isStreamed ? streamed(message) : httpAnswer(completion(message))),
  );
  const env = { ...credentials, SVC_BASE_URL: url, SVC_HISTORY: 'bodies' };
  const result = await runBuilt(['chat', '-m', 'm', 'x', '--no-stdin', ...args], { cwd, env });
  const bodies = received.map((request) => JSON.parse(request.toString().split('\r\n\r\n')[1] ?? ''));
  return { ...result, bodies };
}

const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{"x":1}' } };

describe('fields that a server needs back', () => {
  const kept = {
    reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAA', index: 0 }],
    thinking_blocks: [{ type: 'thinking', thinking: 't', signature: 'sig' }],
    extra_content: { google: { thought_signature: 'sig' } },
    reasoning_signature: 'sig',
    tool_calls: [{ id: 'b', type: 'custom', custom: { name: 'run', input: 'ls' } }, call],
  };
  const leftOut = { reasoning: 'r', reasoning_content: 'r', refusal: null, images: [], annotations: [{ type: 'x' }] };
  const sent = { role: 'assistant', content: 'text', ...kept };

  it.each([false, true])('are in the conversation and in what --continue sends (streamed: %s)', async (isStreamed) => {
    const cwd = temporaryDirectory();
    const message = { role: 'assistant', content: 'text', ...kept, ...leftOut };
    const stream = isStreamed ? ['--stream'] : [];
    const first = await chat(message, ['--conversation', 'talk.json', ...stream], cwd, isStreamed);
    expect(first.code, first.stderr).toBe(0);
    expect(JSON.parse(readFileSync(join(cwd, 'talk.json'), 'utf8'))[1]).toEqual(sent);
    const next = await chat(message, ['--continue'], cwd);
    expect(next.bodies[0].messages[1]).toEqual(sent);
  });
});

describe('a call of the legacy form', () => {
  const both = (args: string) => ({
    content: null,
    tool_calls: [call],
    function_call: { name: 'look', arguments: args },
  });
  it('is printed and kept once beside the same tool call', async () => {
    const cwd = temporaryDirectory();
    const { stdout } = await chat(both('{ "x": 1 }'), ['--conversation', 'talk.json'], cwd);
    expect(stdout.trim().split('\n')).toEqual([JSON.stringify(call)]);
    expect(JSON.parse(readFileSync(join(cwd, 'talk.json'), 'utf8'))[1]).not.toHaveProperty('function_call');
  });

  it('is printed beside another one', async () => {
    const { stdout } = await chat(both('{"x":2}'));
    expect(stdout.trim().split('\n')).toHaveLength(2);
  });
});

describe('--extract', () => {
  it.each([
    ['json', '<think>or {"a":0}?\n```json\n{"a":0}\n```\n</think>\n\n{"a":1}', '{"a":1}\n'],
    ['code', '\n<thinking>\n```\nno\n```\n</thinking>\n```js\nyes\n```', 'yes\n'],
    ['code', 'text <think>\n```\nyes\n```\n</think>', 'yes\n'],
  ])('%s skips thoughts at the beginning: %j', async (kind, content, stdout) => {
    expect(await chat({ content }, ['--extract', kind])).toMatchObject({ code: 0, stdout });
  });

  it('finds nothing in thoughts that have no end', async () => {
    const { code, stderr } = await chat({ content: '<think>\n```\nno\n```' }, ['--extract', 'code']);
    expect([code, stderr]).toEqual([13, expect.stringContaining('the response has no code block: <think>')]);
  });
});

describe('trace_auth', () => {
  const body = '{"project_id":"a/b","start":"2026-01-01T00:00:00Z"}';
  const authorizationOf = (request: Buffer | undefined) => /^authorization: (.*)\r$/im.exec(String(request))?.[1];

  it.each([
    ['basic', /^Basic /],
    ['bearer', /^Bearer token-1$/],
  ])('%s selects the credential of feedback and calls', async (scheme, header) => {
    const cwd = temporaryDirectory();
    const { url, received } = await rawServer((socket) => socket.end(httpAnswer('{"paths":[]}')));
    const env = { ...credentials, SVC_PROFILE: 'work' };
    const set = await runBuilt(['profile', 'set', 'work', '--base-url', url, '--trace-auth', scheme], { cwd, env: {} });
    expect(set.code, set.stderr).toBe(0);
    const result = await runBuilt(['feedback', 'schema', '-f', '-'], { cwd, env, stdin: body });
    expect(result.code, result.stderr).toBe(0);
    expect(authorizationOf(received[0])).toMatch(header);
    const shown = await runBuilt(['feedback', 'schema', '-f', '-', '--curl'], { cwd, env, stdin: body });
    expect(shown.stdout).toContain(scheme === 'basic' ? '-u "$SVC_USERNAME' : 'Bearer $SVC_TOKEN');
  });

  it('binds a stored token to the trace host, too', async () => {
    const cwd = temporaryDirectory();
    const { url, received } = await rawServer((socket) => socket.end(httpAnswer('{"paths":[]}')));
    const urls = ['--chat-base-url', 'https://chat.test', '--trace-base-url', url];
    expect((await runBuilt(['profile', 'set', 'work', ...urls, '--trace-auth', 'bearer'], { cwd })).code).toBe(0);
    const login = await runBuilt(['auth', 'login', '--profile', 'work', '--token-stdin'], { cwd, stdin: 'stored-1' });
    expect(login.code, login.stderr).toBe(0);
    const args = ['feedback', 'schema', '-f', '-', '--profile', 'work'];
    expect((await runBuilt(args, { cwd, stdin: body })).code).toBe(0);
    expect(authorizationOf(received[0])).toBe('Bearer stored-1');
  });

  it('rejects other values, also in a file', async () => {
    const cwd = temporaryDirectory();
    const set = ['profile', 'set', 'work', '--base-url', 'http://127.0.0.1:9', '--trace-auth'];
    const env = { SVC_CONFIG_DIR: cwd };
    expect((await runBuilt([...set, 'digest'], { cwd, env })).code).toBe(2);
    expect((await runBuilt([...set, 'bearer'], { cwd, env })).code).toBe(0);
    const path = join(cwd, 'config.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"bearer"', '"digest"'));
    const args = ['feedback', 'schema', '-f', '-', '--profile', 'work'];
    expect(await runBuilt(args, { cwd, stdin: body, env: { ...env, ...credentials } })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('trace_auth'),
    });
  });
});

describe('bodies that existing servers accept', () => {
  const known = {
    service_tier: 'auto',
    prompt_cache_key: 'k',
    safety_identifier: 's',
    verbosity: 'low',
    store: true,
    metadata: { a: 'b' },
    modalities: ['text'],
    prediction: { type: 'content', content: 'x' },
    web_search_options: {},
  };
  const tools = [{ type: 'function', function: { name: 'look', strict: true, defer_loading: false } }];
  const allow = (name: string, mode = 'auto') => ({
    type: 'allowed_tools',
    allowed_tools: { mode, tools: [{ type: 'function', function: { name } }] },
  });
  const send = (fields: object, args: readonly string[]) =>
    runBuilt(['chat', '--local', '--strict', '-f', '-', '--json', ...args], {
      stdin: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }], ...fields }),
    });

  it.each([known, { tools, tool_choice: allow('look') }, { n: 2, stop: ['a', 'b', 'c', 'd'] }])(
    'pass --strict without a warning: %j',
    async (fields) => {
      expect(await send(fields, [])).toMatchObject({ code: 0, stderr: '' });
    },
  );

  it('are understood by the built-in model', async () => {
    const two = [...tools, { type: 'function', function: { name: 'other' } }];
    const { stdout } = await send({ tools: two, tool_choice: allow('other', 'required') }, []);
    expect(JSON.parse(stdout).choices[0].message.tool_calls).toMatchObject([{ function: { name: 'other' } }]);
  });

  it.each([
    ['tool_choice', { tools, tool_choice: allow('absent') }],
    ['stop', { stop: ['a', 'b', 'c', 'd', 'e'] }],
    ['bad_words', { bad_words: Array.from({ length: 1025 }, () => 'a') }],
    ['n', { n: 16_385 }],
    ['mm_processor_kwargs', { mm_processor_kwargs: { crops: 1 } }],
    ['media_io_kwargs', { media_io_kwargs: { video: {} } }],
    [
      'structured_outputs',
      { tools, tool_choice: { type: 'function', function: { name: 'look' } }, structured_outputs: { regex: 'a' } },
    ],
    ['logprob_token_ids', { logprobs: true, logprob_token_ids: [1], use_beam_search: true }],
  ])('a refusal of the inference server is a warning: %s', async (name, fields) => {
    const { code, stderr } = await send(fields, ['--dry-run']);
    expect([code, stderr]).toEqual([3, expect.stringMatching(new RegExp(`^.*\\b${name}\\b`, 'm'))]);
    const lax = await runBuilt(['chat', '--local', '--dry-run', '-f', '-'], {
      stdin: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }], ...fields }),
    });
    expect([lax.code, lax.stderr]).toEqual([0, expect.stringMatching(new RegExp(`warning: .*\\b${name}\\b`))]);
  });
});

describe('a JSON Schema of an older draft', () => {
  const tuple = {
    type: 'array',
    items: [{ type: 'integer' }, { type: 'string' }],
    additionalItems: false,
    minItems: 2,
  };
  const draft = (number: string) => ({ $schema: `http://json-schema.org/draft-${number}/schema#` });
  const reference = { $ref: '#/definitions/a', type: 'string', definitions: { a: { type: 'integer' } } };
  const bound = { id: 'http://x.test/a#', type: 'integer', minimum: 5, exclusiveMinimum: true };
  const named = { properties: { items: { enum: [[1]] }, id: { type: 'integer' } }, required: ['items', 'id'] };
  const cases = [
    [tuple, '[1,"a"]', '[1,2]'],
    [tuple, '[1,"a"]', '[1,"a",3]'],
    [{ ...draft('07'), ...tuple }, '[1,"a"]', '["a",1]'],
    [{ ...draft('06'), ...tuple }, '[1,"a"]', '[1]'],
    [{ $schema: 'https://json-schema.org/draft/2019-09/schema', ...tuple }, '[1,"a"]', '[1,"a",3]'],
    [{ ...draft('07'), ...reference }, '1', '"a"'],
    [{ ...draft('04'), ...bound }, '6', '5'],
    [{ ...draft('04'), type: 'object', ...named }, '{"items":[1],"id":1}', '{"items":[2],"id":1}'],
    [{ ...draft('04'), properties: { a: tuple }, required: ['a'], type: 'object' }, '{"a":[1,"b"]}', '{"a":[1,2]}'],
  ] as const;

  it.each(cases)('is judged by its own draft: %j', async (schema, right, wrong) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 's.json'), JSON.stringify(schema));
    const check = (content: string) => chat({ content }, ['--expect-schema', '@s.json'], cwd);
    expect(await check(right)).toMatchObject({ code: 0 });
    expect(await check(wrong)).toMatchObject({ code: 13 });
    const generated = await runBuilt(
      ['chat', '--local', 'x', '--json-schema', '@s.json', '--expect-schema', '@s.json'],
      {
        cwd,
      },
    );
    expect(generated, generated.stderr).toMatchObject({ code: 0 });
  });

  it('of 2020-12 has no tuples in items', async () => {
    const schema = JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...tuple });
    expect((await chat({ content: '[]' }, ['--expect-schema', schema])).code).toBe(2);
  });
});

// Members of files that other commands read.
it.each([['trajectories'], ['messages_and_choices'], ['resourceSpans'], ['line', 'exit_code', 'applied']])(
  'a whole body with fields that svc does not know is sent with them: %s',
  async (...names) => {
    const cwd = temporaryDirectory();
    const more = Object.fromEntries(names.map((name) => [name, [1]]));
    writeFileSync(join(cwd, 'b.json'), JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], ...more }));
    const { url, received } = await rawServer((socket) => socket.end(httpAnswer(completion({ content: 'ok' }))));
    const env = { ...credentials, SVC_BASE_URL: url };
    const { code, stderr } = await runBuilt(['chat', '-m', 'm', '-f', 'b.json'], { cwd, env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`${names[0]}: is not a known field`) });
    expect(JSON.parse(received[0]?.toString().split('\r\n\r\n')[1] ?? '')).toMatchObject(more);
  },
);
