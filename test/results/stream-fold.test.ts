import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { run } from '../support/process.ts';
import { listening } from '../support/secure-servers.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const env = { SVC_TOKEN: 't', SVC_MODEL: 'm' };

/** A choice of a chunk: its delta, and what stands beside it. */
function chunk(
  delta: Json,
  beside: { readonly [name: string]: Json } = {},
  top: { readonly [name: string]: Json } = {},
) {
  return { id: 'c', model: 'm', ...top, choices: [{ index: 0, delta, finish_reason: null, ...beside }] };
}

const end = chunk({}, { finish_reason: 'stop' });
const call = (id: string | null, text: Json, name?: string, index = 0) =>
  chunk({
    tool_calls: [{ index, ...(id === null ? {} : { id }), function: { ...(name ? { name } : {}), arguments: text } }],
  });

interface Recorded {
  readonly name: string;
  readonly chunks: readonly Json[];
  /** Values of the merged response by their paths. */
  readonly expected: { readonly [path: string]: Json };
  readonly warnings?: readonly string[];
}

const message = 'choices.0.message';
const recorded: readonly Recorded[] = [
  {
    name: 'a first chunk of Azure without an id, and empty values at the end',
    chunks: [
      { id: '', model: '', created: 0, choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
      chunk({ role: 'assistant', content: 'Two' }, {}, { created: 17 }),
      chunk({ role: '', content: ' days' }, { finish_reason: 'stop' }, { usage: { total_tokens: 9 } }),
      chunk({}, { finish_reason: '' }, { usage: { total_tokens: 0 } }),
    ],
    expected: {
      id: 'c',
      model: 'm',
      created: 17,
      prompt_filter_results: [{ prompt_index: 0 }],
      [`${message}.role`]: 'assistant',
      [`${message}.content`]: 'Two days',
      'choices.0.finish_reason': 'stop',
      'usage.total_tokens': 9,
    },
  },
  {
    name: 'the whole text so far beside each delta, and citations that grow (Perplexity)',
    chunks: [
      chunk({ content: 'Two' }, { message: { role: 'assistant', content: 'Two' } }, { citations: ['a'] }),
      chunk(
        { content: ' days' },
        { message: { role: 'assistant', content: 'Two days', plan: 'p' } },
        { citations: ['a', 'b'] },
      ),
      end,
    ],
    expected: { [`${message}.content`]: 'Two days', [`${message}.plan`]: 'p', citations: ['a', 'b'] },
  },
  {
    name: 'a whole message that differs from its pieces',
    chunks: [chunk({ content: 'Two' }), chunk({}, { message: { content: 'Three' }, finish_reason: 'stop' })],
    expected: { [`${message}.content`]: 'Two' },
    warnings: ['choices.message.content'],
  },
  {
    name: 'a call that is an object, with arguments that are one (TGI)',
    chunks: [chunk({ tool_calls: { index: 0, id: '', function: { name: 'look', arguments: { a: 1 } } } }), end],
    expected: { [`${message}.tool_calls`]: [{ id: '', function: { name: 'look', arguments: '{"a":1}' } }] },
  },
  {
    name: 'two calls with one index',
    chunks: [call('a', '', 'f'), call(null, '{"x":'), call('k', '1}'), call('b', '{"y":2}', 'g'), end],
    expected: {
      [`${message}.tool_calls.0`]: { id: 'a', function: { name: 'f', arguments: '{"x":1}' } },
      [`${message}.tool_calls.1`]: { id: 'b', function: { name: 'g', arguments: '{"y":2}' } },
    },
    warnings: ['choices.message.tool_calls.id'],
  },
  {
    name: 'one call at two indexes',
    chunks: [call('a', '{"x":1}', 'f'), call('a', '{"x":1}', 'f', 1), end],
    expected: { [`${message}.tool_calls`]: [{ id: 'a', function: { name: 'f', arguments: '{"x":1}' } }] },
  },
  {
    name: 'a custom call',
    chunks: [
      chunk({ tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'shell', input: 'ha' } }] }),
      chunk({ tool_calls: [{ index: 0, custom: { input: 'ha' } }] }),
      end,
    ],
    expected: { [`${message}.tool_calls`]: [{ id: 'a', type: 'custom', custom: { name: 'shell', input: 'haha' } }] },
  },
  {
    name: 'details of the reasoning, of two types at one index (OpenRouter)',
    chunks: [
      chunk({ reasoning_details: [{ index: 0, type: 'reasoning.text', text: 'ha' }] }),
      chunk({ reasoning_details: [{ index: 0, type: 'reasoning.text', text: 'ha' }] }),
      chunk({ reasoning_details: [{ index: 0, type: 'reasoning.text', text: '', signature: 's1' }] }),
      chunk({ reasoning_details: [{ index: 0, type: 'reasoning.encrypted', data: 'e1' }] }),
      end,
    ],
    expected: {
      [`${message}.reasoning_details`]: [
        { index: 0, type: 'reasoning.text', text: 'haha', signature: 's1' },
        { index: 0, type: 'reasoning.encrypted', data: 'e1' },
      ],
    },
  },
  {
    name: 'unknown fields of a delta: pieces, repeats, arrays and objects',
    chunks: [
      chunk({ note: 'a', images: [1], same: 'x', deep: { t: 'p', k: 1 } }),
      chunk({ note: 'a', images: [2], same: 'x', deep: { t: 'q', k: 1 } }),
      chunk({ note: 'b', images: [2], same: 'x' }),
      end,
    ],
    expected: {
      [`${message}.note`]: 'aab',
      [`${message}.images`]: [1, 2, 2],
      [`${message}.same`]: 'x',
      [`${message}.deep`]: { t: 'pq', k: 1 },
    },
  },
  {
    name: 'unknown fields with several values outside of a delta',
    chunks: [
      chunk({ content: 'x' }, { latency: 1 }, { provider: 'one', x_groq: { id: 'g' }, obfuscation: 'abc' }),
      chunk(
        {},
        { latency: 2, finish_reason: 'stop' },
        { provider: 'two', x_groq: { usage: { total_tokens: 3 } }, obfuscation: 'd' },
      ),
    ],
    expected: { 'choices.0.latency': 2, provider: 'two', x_groq: { id: 'g', usage: { total_tokens: 3 } } },
    warnings: ['choices.latency', 'provider'],
  },
  {
    name: 'log probabilities of a refusal, and usage in parts',
    chunks: [
      chunk({ refusal: 'I' }, { logprobs: { refusal: [{ token: 'I' }] } }, { usage: { prompt_tokens: 4, cost: 0.5 } }),
      chunk({ refusal: 'I' }, { logprobs: { refusal: [{ token: 'I' }] } }, { usage: { completion_tokens: 2 } }),
      end,
    ],
    expected: {
      [`${message}.refusal`]: 'II',
      'choices.0.logprobs.refusal': [{ token: 'I' }, { token: 'I' }],
      usage: { prompt_tokens: 4, cost: 0.5, completion_tokens: 2 },
    },
  },
  {
    name: 'values of another kind than their field has',
    chunks: [chunk({ content: { odd: 'value' } }), chunk({ audio: 'sound' }), end],
    expected: { [`${message}.content`]: { odd: 'value' }, [`${message}.audio`]: 'sound' },
  },
];

const chunkings: { readonly [name: string]: (text: string) => string[] } = {
  whole: (text) => [text],
  'by event': (text) => text.split(/(?<=\n\n)/),
  'by character': (text) => [...text],
  irregular: (text) => text.match(/[\s\S]{1,7}|[\s\S]{1,3}/g) ?? [],
};

function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce((inner: unknown, name) => Object(inner)[name], value);
}

async function mergedBy(text: string, split: (text: string) => string[], flags: readonly string[] = ['--json']) {
  const port = await listening(
    createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      for (const piece of split(text)) response.write(piece);
      response.end();
    }),
  );
  return run(['chat', 'x', '--stream', ...flags], { env: { ...env, SVC_BASE_URL: `http://127.0.0.1:${port}` } });
}

const events = (chunks: readonly Json[]): string => chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');

describe('the merged response of a stream has every value that arrived, or a warning names its field', () => {
  it.each(recorded)('$name', async ({ chunks, expected, warnings = [] }) => {
    for (const split of Object.values(chunkings)) {
      const { code, stdout, stderr } = await mergedBy(`${events(chunks)}data: [DONE]\n\n`, split);
      const merged = JSON.parse(stdout);
      const values = Object.fromEntries(Object.keys(expected).map((path) => [path, valueAt(merged, path)]));
      const named = Array.from(stderr.matchAll(/value of (\S+) was left out/g), ([, name]) => name);
      expect({ code, values, named: named.sort() }).toEqual({ code: 0, values: expected, named: warnings });
      expect(stdout).not.toContain('obfuscation');
    }
  });
});
