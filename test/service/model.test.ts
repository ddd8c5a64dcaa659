import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { collect } from '../../src/http/collect.ts';
import { parseJson } from '../../src/json/document.ts';
import { rootOf } from '../../src/json/node.ts';
import { type Json, RawJson, writeJson } from '../../src/json/write.ts';
import { smallestValue } from '../../src/service/model/smallest.ts';
import { tokensOf } from '../../src/service/model/tokens.ts';
import { localService } from '../support/service.ts';

async function send(body: object): Promise<{ status: number; text: string }> {
  const service = await localService();
  const reply = await service.send({
    method: 'POST',
    url: 'http://localhost/v1/chat/completions',
    headers: [['content-type', 'application/json']],
    body: Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: 'Name three rivers' }], ...body })),
  });
  return { status: reply.status, text: (await collect(reply.body, 1e9)).toString() };
}

interface Choice {
  readonly index: number;
  readonly message: { readonly content: string; readonly reasoning?: string };
  readonly finish_reason: string;
  readonly stop_reason?: number;
  readonly token_ids?: readonly number[];
  readonly logprobs?: {
    readonly content: readonly { token: string; logprob: number; bytes: number[]; top_logprobs: { token: string }[] }[];
  };
}

async function complete(body: object = {}) {
  const { status, text } = await send(body);
  expect(status, text).toBe(200);
  const json: {
    id: string;
    model: string;
    system_fingerprint: string;
    choices: Choice[];
    usage: Record<string, number>;
    prompt_logprobs?: unknown[];
    prompt_token_ids?: number[];
  } = JSON.parse(text);
  const [choice] = json.choices;
  if (!choice) throw new Error(text);
  return { ...json, choice, content: choice.message.content };
}

describe('the built-in model', () => {
  it('is marked as what it is, and says the same to the same seed and messages', async () => {
    const first = await complete({ seed: 1, request_id: 'r-1' });
    expect(first).toMatchObject({ id: 'chatcmpl-r-1', model: 'svc-local', system_fingerprint: expect.any(String) });
    expect((await complete({ seed: 1 })).content).toBe(first.content);
    expect((await complete({ seed: 2 })).content).not.toBe(first.content);
    expect((await complete({ seed: 1, messages: [{ role: 'user', content: 'x' }] })).content).not.toBe(first.content);
    expect((await complete({ n: 3 })).choices.map(({ message }) => message.content)).toHaveLength(3);
  });

  it('stops at texts, at token ids and at limits', async () => {
    const { content } = await complete();
    const tokens = tokensOf(content);
    const word = tokens[12]?.text.trim() ?? '';
    const before = content.slice(0, content.indexOf(word));
    expect(await complete({ stop: [word] })).toMatchObject({ content: before, choice: { finish_reason: 'stop' } });
    expect((await complete({ stop: ['never', word], include_stop_str_in_output: true })).content).toBe(before + word);
    expect((await complete({ stop_token_ids: [tokens[10]?.id] })).choice).toMatchObject({
      stop_reason: tokens[10]?.id,
      finish_reason: 'stop',
    });
    for (const limit of [
      { max_tokens: 3 },
      { max_completion_tokens: 3 },
      { max_tokens: 9, max_completion_tokens: 3 },
    ]) {
      expect(await complete(limit)).toMatchObject({
        content: tokens
          .slice(0, 3)
          .map(({ text }) => text)
          .join(''),
        choice: { finish_reason: 'length' },
      });
    }
    expect(tokensOf((await complete({ min_tokens: 100 })).content).length).toBeGreaterThanOrEqual(100);
    expect((await complete({ stop: [tokens[2]?.text.trim()], min_tokens: 5 })).content.length).toBeGreaterThan(
      before.length / 2,
    );
  });

  it('gives details of tokens', async () => {
    const { choice, content, prompt_token_ids, prompt_logprobs } = await complete({
      logprobs: true,
      top_logprobs: 3,
      return_token_ids: true,
      prompt_logprobs: 2,
    });
    const entries = choice.logprobs?.content ?? [];
    expect(entries.map(({ token }) => token).join('')).toBe(content);
    expect(Buffer.from(entries.flatMap(({ bytes }) => bytes)).toString()).toBe(content);
    expect(
      entries.every(
        ({ logprob, top_logprobs, token }) =>
          logprob < 0 && top_logprobs.length === 3 && top_logprobs[0]?.token === token,
      ),
    ).toBe(true);
    expect(choice.token_ids).toEqual(tokensOf(content).map(({ id }) => id));
    expect(prompt_logprobs?.[0]).toBeNull();
    expect(prompt_logprobs).toHaveLength(prompt_token_ids?.length ?? 0);
    const asIds = await complete({ logprobs: true, return_tokens_as_token_ids: true });
    expect(asIds.choice.logprobs?.content.map(({ token }) => token)).toEqual(
      tokensOf(asIds.content).map(({ id }) => `token_id:${id}`),
    );
  });

  it('reasons unless it is asked not to, echoes and continues', async () => {
    expect((await complete()).choice.message.reasoning).toContain('3 words');
    expect((await complete({ include_reasoning: false })).choice.message).not.toHaveProperty('reasoning');
    const messages = [{ role: 'assistant', content: 'The Danube, ' }];
    expect((await complete({ messages, echo: true })).content).toMatch(/^The Danube, svc-local/);
    expect((await complete({ messages: [{ role: 'user', content: 'x' }], echo: true })).content).toMatch(/^svc-local/);
    expect((await complete({ messages, continue_final_message: true, add_generation_prompt: false })).content).toMatch(
      /^ [a-z]+ /,
    );
  });

  it('never calls tools, and keeps to a choice or a schema', async () => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    expect((await complete({ tools, tool_choice: 'none' })).choice.message).not.toHaveProperty('tool_calls');
    expect(await complete({ structured_outputs: { choice: ['yes', 'no'] } })).toMatchObject({ content: 'yes' });
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 3 } }, required: ['n'] };
    expect(
      await complete({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } }),
    ).toMatchObject({ content: '{"n":3}' });
    expect(await complete({ structured_outputs: { json: JSON.stringify(schema) } })).toMatchObject({
      content: '{"n":3}',
    });
  });

  it('streams the same as it says at once, with usage where it is asked for', async () => {
    const body = { n: 2, logprobs: true, return_token_ids: true, seed: 5 };
    const whole = await complete(body);
    const { text } = await send({ ...body, stream: true, stream_options: { include_usage: true } });
    const events = text
      .trim()
      .split('\n\n')
      .map((line) => line.slice('data: '.length));
    expect(events.at(-1)).toBe('[DONE]');
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event));
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
    expect(chunks.filter((chunk) => 'prompt_token_ids' in chunk)).toHaveLength(1);
    for (const { index, message, token_ids, logprobs } of whole.choices) {
      const mine = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
      expect(mine[0].delta).toMatchObject({ role: 'assistant' });
      expect(mine.map(({ delta }) => delta.content ?? '').join('')).toBe(message.content);
      expect(mine.flatMap((choice) => choice.token_ids ?? [])).toEqual(token_ids);
      expect(mine.flatMap((choice) => choice.logprobs?.content ?? [])).toEqual(logprobs?.content);
      expect(mine.at(-1).finish_reason).toBe('stop');
    }
    const { text: counted } = await send({ stream: true, stream_options: { continuous_usage_stats: true } });
    expect(counted.match(/"usage"/g)?.length).toBe(counted.split('data: {').length - 1);
  });

  it.each([
    [{ priority: 1 }, 'priority'],
    [{ stream_options: {} }, 'stream_options'],
    [{ prompt_logprobs: 1, stream: true }, 'prompt_logprobs'],
    [{ top_logprobs: 1 }, 'top_logprobs'],
    [{ structured_outputs: { regex: 'a', choice: ['a'] } }, 'structured_outputs.regex'],
    [{ structured_outputs: { json: '{' } }, 'structured_outputs.json'],
    [{ cache_salt: '' }, 'cache_salt'],
    [{ n: 0 }, 'n'],
    [{ n: 1000 }, 'n'],
    [{ min_tokens: 1e9 }, 'min_tokens'],
    [{ n: 128, min_tokens: 32_768, logprobs: true, top_logprobs: 100 }, 'together'],
    [{ prompt_logprobs: 100, messages: [{ role: 'user', content: 'a '.repeat(1e6) }] }, 'together'],
    [{ structured_outputs: { choice: ['a '.repeat(1e6)] }, n: 128 }, 'together'],
    [{ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: selfReferring(4) } } }, 'JSON Schema'],
    [{ presence_penalty: 3 }, 'presence_penalty'],
    [{ frequency_penalty: -3 }, 'frequency_penalty'],
    [{ temperature: -1 }, 'temperature'],
    [{ top_p: 0 }, 'top_p'],
    [{ min_tokens: 5, max_tokens: 4 }, 'min_tokens'],
    [{ continue_final_message: true }, 'continue_final_message'],
    [{ tool_choice: 'auto' }, 'tool_choice'],
  ])('refuses %j with 400', async (body, name) => {
    const { status, text } = await send(body);
    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({
      message: expect.stringContaining(name),
      code: 400,
      type: 'invalid_request_error',
    });
  });

  it('ignores members nobody knows', async () => {
    expect((await complete({ unknown: 1, max_tokens: null })).choice.finish_reason).toBe('stop');
  });
});

describe('smallestValue', () => {
  it.each<object>([
    {},
    { type: 'object' },
    { type: ['string', 'null'], minLength: 2 },
    { enum: [3, 'x'] },
    { const: { a: [1] } },
    { type: 'array', items: { type: 'boolean' }, minItems: 2 },
    { type: 'number', exclusiveMinimum: 1 },
    { type: 'integer', minimum: 1.5 },
    { type: 'integer', minimum: 7, multipleOf: 5 },
    { type: 'number', maximum: -4 },
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
    { oneOf: [{ type: 'integer' }, { type: 'string' }] },
    {
      $ref: '#/$defs/a',
      $defs: {
        a: { type: 'object', properties: { b: { $ref: '#/$defs/b' } }, required: ['b'] },
        b: { type: 'string' },
      },
    },
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
        { required: ['b'], properties: { b: { const: 1 } } },
      ],
    },
    {
      type: 'object',
      properties: { a: { type: 'object', properties: { b: { type: 'array' } }, required: ['b'] }, c: {} },
      required: ['a'],
      additionalProperties: false,
    },
    { type: 'object', properties: { next: { anyOf: [{ type: 'null' }, { $ref: '#' }] } }, required: ['next'] },
  ])('of %j is valid', (schema) => {
    const value = smallestValue(rootOf(parseJson(JSON.stringify(schema))));
    expect(new Ajv2020({ strict: false }).validate(schema, JSON.parse(value)), value).toBe(true);
  });

  it.each<[string, Json]>([
    ['members that refer back', selfReferring(4)],
    ['lists of lists', { type: 'array', minItems: 1000, items: { type: 'array', minItems: 1000 } }],
    ['a list without an end', { type: 'array', minItems: 1e300 }],
    ['a long text', { type: 'string', minLength: 1e9 }],
    ['a repeated long constant', { type: 'array', minItems: 100, items: { const: 'x'.repeat(10_000) } }],
    ['parts of parts', { allOf: [new RawJson(`${'{"allOf":['.repeat(100_000)}{}${']}'.repeat(100_000)}`)] }],
    ['names', { required: Array.from({ length: 100_000 }, (_, at) => `n${at}`) }],
    ['names in many parts', { allOf: Array.from({ length: 10_000 }, (_, at) => ({ required: [`n${at}`] })) }],
  ])('is refused where %s make it too large', (_, schema) => {
    const root = rootOf(parseJson(writeJson(schema)));
    expect(() => smallestValue(root)).toThrow(expect.objectContaining({ name: 'Refusal', status: 400 }));
  });

  it.each<[object, unknown]>([
    [{ $ref: '#/$defs/%' }, null],
    [{ $ref: 'https://svc.test/schema' }, null],
    [{ $ref: '#' }, null],
    [{ type: 'string', minLength: -1 }, ''],
    [{ type: 'array', minItems: 1.5 }, [null, null]],
    [{ type: 'number', multipleOf: 0 }, 0],
    [{ required: [5, ['\\q'], 'a'] }, { a: null }],
    [{ type: 'string', format: 'constructor' }, ''],
  ])('of the odd schema %j is %j', (schema, value) => {
    expect(JSON.parse(smallestValue(rootOf(parseJson(JSON.stringify(schema)))))).toEqual(value);
  });

  it('of a schema without an end is something all the same', () => {
    const endless = { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] };
    expect(JSON.parse(smallestValue(rootOf(parseJson(JSON.stringify(endless)))))).toHaveProperty('a');
  });
});

function selfReferring(members: number): { [name: string]: Json } {
  const names = Array.from({ length: members }, (_, at) => `m${at}`);
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { $ref: '#' }])),
    required: names,
  };
}
