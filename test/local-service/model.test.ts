import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collectBody } from '../../src/http/body-chunks.ts';
import { type JsonValue, RawJson, writeJson } from '../../src/json/write-json.ts';
import { tokenizeText } from '../../src/local-service/model/chat-completion.ts';
import { smallestValue } from '../../src/local-service/model/smallest-value.ts';
import { localService } from '../support/service.ts';

async function send(body: object): Promise<{ status: number; text: string }> {
  const service = await localService();
  const reply = await service.send({
    method: 'POST',
    url: 'http://localhost/v1/chat/completions',
    headers: [['content-type', 'application/json']],
    body: Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: 'Name three rivers' }], ...body })),
  });
  return { status: reply.status, text: (await collectBody(reply.body, 1e9)).toString() };
}

interface Choice {
  readonly index: number;
  readonly message: { readonly content: string; readonly reasoning?: string };
  readonly finish_reason: string;
  readonly stop_reason?: number;
  readonly token_ids?: readonly number[];
  readonly logprobs?: {
    readonly content: readonly {
      token: string;
      logprob: number;
      bytes: number[];
      top_logprobs: { token: string; logprob: number }[];
    }[];
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
    prompt_logprobs?: (object | null)[];
    prompt_token_ids?: number[];
  } = JSON.parse(text);
  const [choice] = json.choices;
  if (!choice) throw new Error(text);
  return { ...json, choice, content: choice.message.content };
}

describe('the built-in model', () => {
  it('is marked as a test model, and gives the same response to the same seed and messages', async () => {
    const first = await complete({ seed: 1, request_id: 'r-1' });
    expect(first).toMatchObject({ id: 'chatcmpl-r-1', model: 'svc-local', system_fingerprint: expect.any(String) });
    expect((await complete({ seed: 1 })).content).toBe(first.content);
    expect((await complete({ seed: 2 })).content).not.toBe(first.content);
    expect((await complete({ seed: 1, messages: [{ role: 'user', content: 'x' }] })).content).not.toBe(first.content);
    expect(new Set((await complete({ n: 3 })).choices.map(({ message }) => message.content)).size).toBe(3);
  });

  const end = "This is svc's built-in model; it is for tests, not a real one.";
  it.each<[string, object, string]>([
    [
      'what was said',
      { messages: [{ role: 'user', content: ' Say\nhello ' }] },
      `You said "Say hello": 2 words. ${end}`,
    ],
    ['a question', { messages: [{ role: 'user', content: 'Why?' }] }, `You asked "Why?": 1 word. ${end}`],
    [
      'the beginning of a long text',
      { messages: [{ role: 'user', content: 'a'.repeat(61) }] },
      `You said "${'a'.repeat(60)}…": 1 word. ${end}`,
    ],
    [
      'a result',
      { messages: [{ role: 'tool', content: '21 degrees' }] },
      `The tool said "21 degrees": 2 words. ${end}`,
    ],
    ['no text', { messages: [{ role: 'user', content: [] }] }, `You sent no text. ${end}`],
    ['the seed', { seed: 7 }, `You said "Name three rivers": 3 words, seed 7. ${end}`],
    ['the choice', { n: 2 }, `You said "Name three rivers": 3 words, choice 1 of 2. ${end}`],
    ['its length', { min_tokens: 25 }, `You said "Name three rivers": 3 words. ${end} Counting to min_tokens: 24 25`],
  ])('names %s', async (_, body, text) => {
    expect((await complete(body)).content).toBe(text);
  });

  it('stops at texts, at token ids and at limits', async () => {
    const { content } = await complete();
    const tokens = tokenizeText(content);
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
    expect(tokenizeText((await complete({ min_tokens: 100 })).content).length).toBeGreaterThanOrEqual(100);
    expect((await complete({ stop: [tokens[2]?.text.trim()], min_tokens: 5 })).content.length).toBeGreaterThan(
      before.length / 2,
    );
  });

  it('returns details of tokens', async () => {
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
    expect(choice.token_ids).toEqual(tokenizeText(content).map(({ id }) => id));
    const many = await complete({ logprobs: true, top_logprobs: 100, prompt_logprobs: 100 });
    for (const { token, top_logprobs } of many.choice.logprobs?.content ?? []) {
      expect(top_logprobs[0]?.token).toBe(token);
      expect(new Set(top_logprobs.map((one) => one.token)).size).toBe(100);
      const values = top_logprobs.map(({ logprob }) => logprob);
      expect(values).toEqual([...values].sort((left, right) => right - left));
      expect(values.reduce((sum, value) => sum + Math.exp(value), 0)).toBeLessThanOrEqual(1.000001);
    }
    expect(many.prompt_logprobs?.slice(1).map((place) => Object.keys(place ?? {}).length)).toEqual(
      many.prompt_logprobs?.slice(1).map(() => 100),
    );
    expect(prompt_logprobs?.[0]).toBeNull();
    expect(prompt_logprobs).toHaveLength(prompt_token_ids?.length ?? 0);
    const asIds = await complete({ logprobs: true, return_tokens_as_token_ids: true });
    expect(asIds.choice.logprobs?.content.map(({ token }) => token)).toEqual(
      tokenizeText(asIds.content).map(({ id }) => `token_id:${id}`),
    );
  });

  it('reasons unless it is asked not to, echoes and continues', async () => {
    expect((await complete()).choice.message.reasoning).toContain('has 3 words;');
    const short = [{ role: 'user', content: 'hi' }];
    expect((await complete({ messages: short })).choice.message.reasoning).toContain('has 1 word;');
    expect((await complete({ include_reasoning: false })).choice.message).not.toHaveProperty('reasoning');
    const messages = [{ role: 'assistant', content: 'The Danube, ' }];
    expect((await complete({ messages, echo: true })).content).toMatch(
      /^The Danube, The assistant said "The Danube,": 2 words/,
    );
    expect((await complete({ messages: [{ role: 'user', content: 'x' }], echo: true })).content).toMatch(
      /^You said "x": 1 word\./,
    );
    expect((await complete({ messages, continue_final_message: true, add_generation_prompt: false })).content).toMatch(
      /^ \(continued by svc's built-in model; .*\)$/,
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
    expect((await complete({ response_format: { type: 'json_object' } })).content).toBe('{}');
    expect((await complete({ structured_outputs: { json_object: true } })).content).toBe('{}');
    const messages = [
      { role: 'developer', content: `Match this schema: ${JSON.stringify(schema)}.` },
      { role: 'user', content: 'x {"properties":{}}' },
    ];
    for (const body of [
      { response_format: { type: 'json_object', schema } },
      { response_format: { type: 'json_object' }, messages },
      { structured_outputs: { json_object: true }, messages },
    ])
      expect((await complete(body)).content).toBe('{"n":3}');
  });

  it('streams the same text, with usage on request', async () => {
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
    const counts = [...counted.matchAll(/"completion_tokens":(\d+)/g)].map(([, count]) => Number(count));
    expect(counts).toHaveLength(counted.split('data: {').length - 1);
    expect(counts[0]).toBe(0);
    expect(counts).toEqual([...counts].sort((left, right) => left - right));
    expect(counts.at(-1)).toBe((await complete()).usage.completion_tokens);
  });

  it.each([
    [{ priority: 1 }, 'priority'],
    [{ stream_options: { include_usage: true } }, 'stream_options'],
    [{ prompt_logprobs: 1, stream: true }, 'prompt_logprobs'],
    [{ top_logprobs: 1 }, 'top_logprobs'],
    [{ structured_outputs: { regex: 'a', choice: ['a'] } }, 'structured_outputs.regex'],
    [{ structured_outputs: { json: '{' } }, 'structured_outputs.json'],
    [{ structured_outputs: { json: '{"type":"string","pattern":"(?=a)"}' } }, 'unsupported pattern'],
    [{ structured_outputs: { regex: '(a)\\1' } }, 'unsupported pattern'],
    [{ structured_outputs: { regex: 'a)(b' } }, 'unsupported pattern'],
    [{ structured_outputs: { regex: 'a$b' } }, 'unsupported pattern'],
    [{ structured_outputs: { regex: '(?:a{10000}){10000}' } }, 'unsupported pattern'],
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ max_completion_tokens: 0 }, 'max_completion_tokens'],
    [{ min_tokens: -1 }, 'min_tokens'],
    [{ prompt_logprobs: -2 }, 'prompt_logprobs'],
    [{ top_logprobs: -2, logprobs: true }, 'top_logprobs'],
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
    [{ continue_final_message: true, add_generation_prompt: null }, 'continue_final_message'],
    [{ tool_choice: 'any' }, 'tool_choice'],
  ])('rejects %j with 400', async (body, name) => {
    const { status, text } = await send(body);
    expect(status).toBe(400);
    const { error } = JSON.parse(text);
    expect(error).toMatchObject({ message: expect.stringContaining(name), code: 400, type: 'invalid_request_error' });
    // The field that is wrong is named, and the message begins with it.
    expect(error.message.startsWith(error.param ?? 'no field')).toBe(true);
  });

  it.each([
    [{ top_logprobs: 1 }, 'top_logprobs needs logprobs'],
    [{ n: 0 }, 'n should be at least 1'],
    [{ messages: [{ content: 'x' }] }, 'messages[0].role is required'],
  ])('reports what is wrong with %j without advice for the command line', async (body, message) => {
    expect(JSON.parse((await send(body)).text).error.message).toBe(message);
  });

  it('returns 100 alternatives for -1, and accepts stream options that are empty', async () => {
    const all = await complete({ logprobs: true, top_logprobs: -1, prompt_logprobs: -1, stream_options: {} });
    expect(all.choice.logprobs?.content[0]?.top_logprobs).toHaveLength(100);
    expect(Object.keys(all.prompt_logprobs?.[1] ?? {})).toHaveLength(100);
  });

  it('ignores unknown fields', async () => {
    expect((await complete({ unknown: 1, max_tokens: null })).choice.finish_reason).toBe('stop');
  });
});

// Takes longer to create than to use.
const ajv = new Ajv2020({ strict: false });

const smallest = (schema: string): string => smallestValue(schema, 'schema');

describe('structured_outputs.regex', () => {
  it.each([
    ['\\d{4}', '0000'],
    ['(red|green)', 'red'],
    ['^[a-z]{3,5}-\\d{2}$', 'aaa-00'],
    ['(?<year>[12]\\d{3})-(?:0[1-9]|1[0-2])', '1000-01'],
    ['#(?:[0-9a-f]{3}){1,2}?', '#aaa'],
    ['\\bfoo\\b.*', 'foo'],
    ['\\p{Lu}\\p{Ll}+\\u{1F600}\\ud83d\\ude00\\x41\\cA\\[[\\]x-][^a]\\s', 'Aa\u{1F600}\u{1F600}A\u0001[xb '],
    ['|a', ''],
  ])('%s is matched by %j', async (regex, text) => {
    expect((await complete({ structured_outputs: { regex } })).content).toBe(text);
    expect(text).toMatch(new RegExp(`^(?:${regex})$`, 'u'));
  });

  it('is matched by what its parts generate', () => {
    let generated = 0;
    fc.assert(
      fc.property(regularExpressions, fc.nat({ max: 9 }), (pattern, minLength) => {
        let value: string;
        try {
          value = JSON.parse(smallest(JSON.stringify({ type: 'string', pattern, minLength })));
        } catch (error) {
          expect(error).toMatchObject({ status: 400 });
          return;
        }
        generated += 1;
        expect(value).toMatch(new RegExp(pattern, 'u'));
        expect(value.length).toBeGreaterThanOrEqual(minLength);
      }),
      { numRuns: 100 },
    );
    expect(generated).toBeGreaterThan(30);
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
    { type: 'object', minProperties: 3, properties: { a: { type: 'integer' } } },
    { type: 'array', uniqueItems: true, minItems: 100, items: { type: 'integer' } },
    { type: 'array', uniqueItems: true, minItems: 2, items: { type: 'boolean' } },
    { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], minItems: 3, items: { type: 'null' } },
    { type: 'number', exclusiveMinimum: 1, exclusiveMaximum: 1.5 },
    { allOf: [{ type: 'integer', minimum: 1, multipleOf: 4 }, { multipleOf: 6 }] },
    { type: 'object', anyOf: [{ required: ['a'] }], properties: { a: { const: 1 } } },
    { anyOf: [{ type: 'string', pattern: '^a' }, { type: 'null' }] },
    { enum: [1, 'a'], type: 'string' },
    { not: { type: 'null' } },
    {
      type: 'object',
      minProperties: 1,
      propertyNames: { pattern: '^p' },
      patternProperties: { '1$': { type: 'null' } },
    },
    { type: 'string', pattern: '^[a-z]{2,}-\\d$', minLength: 7, maxLength: 7 },
    { type: 'string', pattern: '^(abcdef|b)$', maxLength: 1 },
    { type: 'string', pattern: 'x', minLength: 5 },
    { allOf: [{ type: 'string', pattern: '^a' }, { pattern: '^[a-z]{3}$' }] },
    { type: 'array', uniqueItems: true, minItems: 3, items: { type: 'string', pattern: '^[a-z]+$' } },
    { required: ['toString', 'constructor'] },
    {
      type: 'array',
      minItems: 2,
      items: { oneOf: [{ $ref: '#/$defs/circle' }, { $ref: '#/$defs/square' }] },
      $defs: {
        circle: {
          type: 'object',
          properties: { kind: { const: 'circle' }, r: { exclusiveMinimum: 0 } },
          required: ['kind', 'r'],
        },
        square: {
          type: 'object',
          properties: { kind: { const: 'square' }, w: { type: 'number' } },
          required: ['kind', 'w'],
        },
      },
    },
  ])('of %j is valid', (schema) => {
    const value = smallest(JSON.stringify(schema));
    expect(ajv.validate(schema, JSON.parse(value)), value).toBe(true);
  });

  it.each<[string, JsonValue]>([
    ['members that refer back', selfReferring(4)],
    ['lists of lists', { type: 'array', minItems: 1000, items: { type: 'array', minItems: 1000 } }],
    ['a list without an end', { type: 'array', minItems: 1e300 }],
    ['a long text', { type: 'string', minLength: 1e9 }],
    ['a repeated long constant', { type: 'array', minItems: 100, items: { const: 'x'.repeat(10_000) } }],
    ['a long constant in a long list', { type: 'array', minItems: 200_000, items: { const: 'x'.repeat(100_000) } }],
    ['a long match of a pattern', { type: 'string', pattern: '^(?:(?:a{1000}){1000}){1000}$' }],
    ['optional parts of a pattern', { type: 'string', pattern: '(?:(?:a?){10000}){10000}', minLength: 5 }],
    ['alternatives of alternatives', doublingReferences('anyOf')],
    ['demands of demands', doublingReferences('allOf')],
    ['parts of parts', { allOf: [new RawJson(`${'{"allOf":['.repeat(100_000)}{}${']}'.repeat(100_000)}`)] }],
    ['names', { required: Array.from({ length: 100_000 }, (_, at) => `n${at}`) }],
    ['names in many parts', { allOf: Array.from({ length: 10_000 }, (_, at) => ({ required: [`n${at}`] })) }],
  ])('is rejected if %s make it too large', (_, schema) => {
    expect(() => smallest(writeJson(schema))).toThrow(expect.objectContaining({ name: 'HttpError', status: 400 }));
  });

  it.each<[string, JsonValue]>([
    ['-9007199254740991', { type: 'number', maximum: -9007199254740991 }],
    ['0.3', { type: 'number', minimum: 0.21, multipleOf: 0.1 }],
    ['{"next":null}', { required: ['next'], properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } } }],
    ['""', { type: 'string', format: 'constructor' }],
    ['""', { type: 'string', not: { pattern: '^b' } }],
    ['"a"', { type: 'string', pattern: '^a' }],
    [`"${'a'.repeat(59)}!"`, { type: 'string', minLength: 60, pattern: '^(a+)+!$' }],
    ['{"a":{"b":"x"}}', { const: { a: { b: 'x' } }, $async: true }],
    ['{"a":null}', { $schema: 'http://json-schema.org/draft-07/schema#', required: ['a'] }],
    ['{"$schema":""}', { properties: { $schema: { type: 'string' } }, required: ['$schema'] }],
    ['{"__proto__":0}', new RawJson('{"properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}')],
    [
      '{"a":"x"}',
      {
        $id: 'https://svc.test/a',
        required: ['a'],
        properties: { a: { $ref: '#/$defs/a~1b%25' } },
        $defs: { 'a/b%': { const: 'x' } },
      },
    ],
  ])('is %s exactly', (value, schema) => {
    expect(smallest(writeJson(schema))).toBe(value);
  });

  it.each<[string, JsonValue]>([
    ['pattern', { type: 'string', pattern: 'a^b' }],
    [
      '/a must match pattern',
      { type: 'object', properties: { a: { type: 'string', pattern: '$a' } }, required: ['a'] },
    ],
    ['unsupported pattern', { type: 'string', pattern: '^(?=.*[0-9]).{8,}$' }],
    ['more than 3 characters', { type: 'string', pattern: '^[0-9]{4}$', maxLength: 3 }],
    ['pattern', { type: 'string', pattern: '^[0-9]{4}$', minLength: 5 }],
    ['duplicate items', { type: 'array', uniqueItems: true, minItems: 3, items: { type: 'object' } }],
    ['contain at least 1', { type: 'array', contains: { type: 'integer' } }],
    ['fewer than 99 characters', { type: 'string', if: false, else: { minLength: 99 } }],
    ['#name', { $ref: '#name' }],
    ['has no target', { $ref: '#/required', required: ['a'] }],
    ['9007199254740993', { type: 'integer', minimum: new RawJson('9007199254740993') }],
    ['0.30000000000000000001', { type: 'number', minimum: new RawJson('0.30000000000000000001') }],
    ['minLength', { type: 'string', minLength: -1 }],
    ['required', { required: [5, 'a'] }],
    ['must be <= 2', { type: 'integer', minimum: 3, maximum: 2 }],
    ['more than 2 characters', { type: 'string', minLength: 3, maxLength: 2 }],
    ['multipleOf', { type: 'number', multipleOf: 0 }],
    ['the schema allows no value', { type: 'object', required: ['a'], additionalProperties: false }],
    ['/a boolean schema is false', { type: 'object', required: ['a'], patternProperties: { a: false } }],
    ['unevaluated properties', { type: 'object', required: ['a'], unevaluatedProperties: false }],
    ['must NOT be valid', { not: {} }],
    ['malformed', { $ref: '#/$defs/%' }],
    ['https://svc.test/schema', { $ref: 'https://svc.test/schema' }],
    ['$ref', { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }],
  ])('is rejected if it cannot satisfy %s of %j', (keyword, schema) => {
    expect(() => smallest(writeJson(schema))).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining(keyword) }),
    );
  });

  it('is valid or rejected for any schema', () => {
    let given = 0;
    fc.assert(
      fc.property(schemas, (schema) => {
        let value: string;
        try {
          value = smallest(JSON.stringify(schema));
        } catch (error) {
          expect(error).toMatchObject({ name: 'HttpError', status: 400 });
          return;
        }
        given += 1;
        expect(ajv.validate(schema, JSON.parse(value)), value).toBe(true);
      }),
      { numRuns: 100 },
    );
    // Of 100 random schemas about 30 have a value; five or fewer would be one run in a billion.
    expect(given).toBeGreaterThan(5);
  });
});

const regularExpressions = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('a', '\\d', '[^a-c]', '.', '\\.', '^', '$', '\\b', '\\B', ''),
    fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => `${left}${right}`),
    fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => `(${left}|${right})`),
    fc
      .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,}', '{0,3}', '+?'))
      .map(([item, quantifier]) => `(?:${item})${quantifier}`),
  ),
})).pattern;

const small = fc.nat({ max: 3 });
const { schema: schemas } = fc.letrec<{ schema: object; list: object[] }>((tie) => ({
  list: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.record(
      {
        type: fc.constantFrom('integer', 'number', 'string', 'boolean', 'null'),
        minimum: fc.integer({ min: -5, max: 5 }),
        exclusiveMaximum: fc.integer({ min: -5, max: 9 }),
        multipleOf: fc.constantFrom(0.5, 2, 3),
        minLength: small,
        maxLength: small,
        enum: fc.constant([1, 'a', null, 6, [], {}]),
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        type: fc.constant('array'),
        items: tie('schema'),
        prefixItems: tie('list'),
        contains: tie('schema'),
        minItems: small,
        maxItems: small,
        uniqueItems: fc.boolean(),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema')),
        required: fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
        minProperties: small,
        maxProperties: small,
        additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
        propertyNames: fc.constant({ maxLength: 1 }),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      {
        anyOf: tie('list'),
        oneOf: tie('list'),
        allOf: tie('list'),
        not: tie('schema'),
        if: tie('schema'),
        else: tie('schema'),
      },
      { requiredKeys: [] },
    ),
  ),
}));

/** Each definition refers to the next one twice, and the last one allows no value. */
function doublingReferences(keyword: 'allOf' | 'anyOf'): { [name: string]: JsonValue } {
  const reference = (at: number): JsonValue => ({ $ref: `#/$defs/d${at}` });
  const doubled = Array.from({ length: 40 }, (_, at) => [
    `d${at}`,
    { [keyword]: [reference(at + 1), reference(at + 1)] },
  ]);
  return { ...{ $ref: '#/$defs/d0' }, $defs: { ...Object.fromEntries(doubled), d40: { not: {} } } };
}

function selfReferring(members: number): { [name: string]: JsonValue } {
  const names = Array.from({ length: members }, (_, at) => `m${at}`);
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { $ref: '#' }])),
    required: names,
  };
}
