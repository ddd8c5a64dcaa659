import { describe, expect, it } from 'vitest';
import { rootOf } from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { chatCompletion, chatCompletionChunks } from '../../src/local-service/model/chat-completion.ts';
import { readModelRequest } from '../../src/local-service/model/model-request.ts';
import { LONG_RUN } from '../support/long-run.ts';

const identity = { id: 'chatcmpl-1', created: 1 };
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [
  { type: 'function', function: { name: 'find_parcel' } },
  { type: 'function', function: { name: 'get_weather', parameters } },
];

function request(body: object, content = 'Use get_weather, please') {
  const messages = [{ role: 'user', content }];
  return readModelRequest(rootOf(parseJson(JSON.stringify({ messages, tools, ...body }))));
}

/** The names and arguments of the tool calls in a response. */
async function calls(body: object, content?: string): Promise<string[]> {
  const { choices } = JSON.parse(JSON.stringify(chatCompletion(await request(body, content), identity)));
  expect(choices[0].finish_reason).toBe(choices[0].message.tool_calls ? 'tool_calls' : 'stop');
  return (choices[0].message.tool_calls ?? []).map(
    ({ function: { name, arguments: text } }: { function: { name: string; arguments: string } }) => `${name}${text}`,
  );
}

const named = { type: 'function', function: { name: 'get_weather' } };

describe('the built-in model', () => {
  it('reads a user message in linear time', async () => {
    expect(await calls({ tool_choice: 'auto' }, `${'-'.repeat(LONG_RUN)}x`)).toEqual([]);
  });

  it.each<[string, object, string | undefined, readonly string[]]>([
    ['the first tool with required', { tool_choice: 'required' }, undefined, ['find_parcel{}']],
    ['the named tool', { tool_choice: named }, 'Hello', ['get_weather{"city":""}']],
    ['with auto the tool in the text', { tool_choice: 'auto' }, undefined, ['get_weather{"city":""}']],
    ['no tool with auto where the text names none', { tool_choice: 'auto' }, 'get_weather2?', []],
    ['no tool with none', { tool_choice: 'none' }, undefined, []],
    ['without a choice the tool in the text', {}, undefined, ['get_weather{"city":""}']],
    ['no tool without a choice where the text names none', {}, 'Hello', []],
    ['no tool where the choice is null', { tool_choice: null }, undefined, []],
    ['no tool without tools', { tool_choice: 'auto', tools: null }, undefined, []],
    [
      'with auto the tool in the last user message, before instructions',
      {
        tool_choice: 'auto',
        messages: [
          { role: 'user', content: 'Use get_weather' },
          { role: 'system', content: 'Be brief' },
        ],
      },
      undefined,
      ['get_weather{"city":""}'],
    ],
    [
      'no tool with auto after the result of one',
      {
        tool_choice: 'auto',
        messages: [
          { role: 'user', content: 'get_weather' },
          { role: 'tool', content: '5' },
        ],
      },
      undefined,
      [],
    ],
  ])('calls %s', async (_, body, content, expected) => {
    expect(await calls(body, content)).toEqual(expected);
  });

  it.each([
    [{ tool_choice: { type: 'function', function: { name: 'nope' } } }, '"nope"'],
    [{ tool_choice: 'required', tools: [] }, 'required'],
  ])('rejects %j', async (body, name) => {
    await expect(request(body)).rejects.toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining(name) }),
    );
  });

  it('streams the same calls with joined arguments', async () => {
    const body = { tool_choice: named, n: 2, stream: true };
    const { choices, usage } = JSON.parse(JSON.stringify(chatCompletion(await request(body), identity)));
    const chunks = [
      ...chatCompletionChunks(await request({ ...body, stream_options: { include_usage: true } }), identity),
    ];
    const parts = JSON.parse(JSON.stringify(chunks));
    expect(parts.at(-1).usage).toEqual(usage);
    for (const { index, message } of choices) {
      const deltas = parts
        .flatMap((part: { choices: { index: number; delta: { tool_calls?: unknown[] } }[] }) => part.choices)
        .filter((choice: { index: number }) => choice.index === index)
        .flatMap(({ delta }: { delta: { tool_calls?: unknown[] } }) => delta.tool_calls ?? []);
      const [call] = message.tool_calls;
      expect(deltas[0]).toMatchObject({ index: 0, id: call.id, function: { name: 'get_weather', arguments: '' } });
      expect(deltas.map((delta: { function: { arguments: string } }) => delta.function.arguments).join('')).toBe(
        call.function.arguments,
      );
    }
  });

  it('reports the tokens of the arguments', async () => {
    const body = { tool_choice: named, logprobs: true, return_token_ids: true };
    const { choices, usage } = JSON.parse(JSON.stringify(chatCompletion(await request(body), identity)));
    const tokens = choices[0].logprobs.content.map(({ token }: { token: string }) => token);
    expect(tokens.join('')).toBe('{"city":""}');
    expect(choices[0].token_ids).toHaveLength(usage.completion_tokens);
  });

  it('stops at a single string and keeps to a schema given as an object', async () => {
    const text = async (body: object): Promise<string> =>
      JSON.parse(JSON.stringify(chatCompletion(await request(body), identity))).choices[0].message.content;
    expect(await text({ stop: 'real', tool_choice: 'none' })).toBe(
      'You said "Use get_weather, please": 3 words. This is svc\'s built-in model; it is for tests, not a ',
    );
    expect(await text({ structured_outputs: { json: parameters }, tool_choice: 'none' })).toBe('{"city":""}');
  });
});
