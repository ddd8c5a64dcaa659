export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

/** A chunk of a choice: its delta, what stands beside it, and its finish reason. */
interface Step {
  readonly delta?: JsonObject;
  readonly beside?: JsonObject;
  readonly index?: number;
}

interface Feature {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly finish?: string;
}

interface Form {
  readonly name: string;
  /** The fields of each chunk, of which `at` is the number. */
  readonly top: (at: number) => JsonObject;
  readonly beside?: (at: number, soFar: string) => JsonObject;
  readonly delta?: (at: number) => JsonObject;
  readonly first?: readonly JsonObject[];
  readonly role?: JsonObject;
  readonly end?: { readonly top?: JsonObject; readonly beside?: JsonObject; readonly delta?: JsonObject };
  readonly last?: readonly JsonObject[];
  readonly comment?: string;
}

const usage = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
const call = (index: number, fields: JsonObject): Step => ({ delta: { tool_calls: [{ index, ...fields }] } });
const args = (index: number, text: string): Step => call(index, { function: { arguments: text } });
const opened = (index: number, id: string, name: string, text = ''): Step =>
  call(index, { id, type: 'function', function: { name, arguments: text } });
const text = (content: string, beside: JsonObject = {}, index = 0): Step => ({ delta: { content }, beside, index });
const token = (name: string): JsonObject => ({
  token: name,
  logprob: -0.25,
  bytes: [...new TextEncoder().encode(name)],
  top_logprobs: [{ token: name, logprob: -0.25, bytes: null }],
});

/** What a response can have, whoever sends it. */
export const features: readonly Feature[] = [
  { name: 'text', steps: [text('It'), text(' will'), text(' will rain.')] },
  {
    name: 'text with repeats and escapes',
    steps: [text('ha'), text('ha'), text('"\\\n\u2028 é'), text('🌧️'), text('🌧️')],
  },
  { name: 'no text', steps: [text('')], finish: 'length' },
  { name: 'a surrogate pair in two pieces', steps: [text('a\ud83d'), text('\udca7b')] },
  { name: 'reasoning', steps: [{ delta: { reasoning: 'Think' } }, { delta: { reasoning: ' on' } }, text('Yes')] },
  {
    name: 'reasoning under its other name',
    steps: [{ delta: { reasoning_content: 'Think' } }, { delta: { reasoning_content: ' on' } }, text('Yes')],
  },
  {
    name: 'reasoning under both names',
    steps: [
      { delta: { reasoning: 'Think', reasoning_content: 'Think' } },
      { delta: { reasoning: ' on', reasoning_content: ' on' } },
      text('Yes'),
    ],
  },
  {
    name: 'a call in pieces',
    steps: [opened(0, 'call_1', 'look'), args(0, '{"town":'), args(0, '"Rome"'), args(0, '}')],
    finish: 'tool_calls',
  },
  {
    name: 'two calls in turns',
    steps: [
      opened(0, 'call_1', 'look'),
      opened(1, 'call_2', 'walk'),
      args(0, '{"a":1'),
      args(1, '{'),
      args(0, '}'),
      args(1, '}'),
    ],
    finish: 'tool_calls',
  },
  {
    name: 'whole calls',
    steps: [opened(0, 'call_1', 'look', '{"a":1}'), opened(1, 'call_2', 'look', '{"a":1}')],
    finish: 'tool_calls',
  },
  {
    name: 'two calls at one index',
    steps: [opened(0, 'call_1', 'look', '{"a":1}'), opened(0, 'call_2', 'walk', '{"b":'), args(0, '2}')],
    finish: 'tool_calls',
  },
  {
    name: 'a call that is repeated',
    steps: [opened(0, 'call_1', 'look', '{"a":1}'), opened(1, 'call_1', 'look', '{"a":1}')],
    finish: 'tool_calls',
  },
  {
    name: 'a call with empty names at first',
    steps: [opened(0, '', '', ''), opened(0, 'call_1', 'look', '{"a"'), args(0, ':{"b":[]}}')],
    finish: 'tool_calls',
  },
  {
    name: 'a custom call',
    steps: [
      call(0, { id: 'call_1', type: 'custom', custom: { name: 'shell', input: 'l' } }),
      call(0, { custom: { input: 's' } }),
      call(0, { custom: { input: 's' } }),
    ],
    finish: 'tool_calls',
  },
  {
    name: 'a call of the legacy form',
    steps: [
      { delta: { function_call: { name: 'look', arguments: '' } } },
      { delta: { function_call: { arguments: '{}' } } },
    ],
    finish: 'function_call',
  },
  {
    name: 'a call with a signature beside it',
    steps: [
      call(0, {
        id: 'call_1',
        type: 'function',
        function: { name: 'look', arguments: '{}' },
        extra_content: { google: { thought_signature: 'c2ln' } },
      }),
    ],
    finish: 'tool_calls',
  },
  {
    name: 'a refusal with log probabilities',
    steps: ['I', ' can', ' not', ' not'].map((refusal) => ({
      delta: { refusal },
      beside: { logprobs: { content: null, refusal: [token(refusal)] } },
    })),
  },
  {
    name: 'log probabilities and ids of tokens',
    steps: ['A', 'b', 'b'].map((content, at) =>
      text(content, { logprobs: { content: [token(content)] }, token_ids: [at + 7, 7] }),
    ),
  },
  {
    name: 'log probabilities of equal tokens',
    steps: ['b', 'b'].map((content) => text(content, { logprobs: { content: [token(content)] } })),
  },
  {
    name: 'log probabilities as parallel arrays',
    steps: ['A', 'b', 'b'].map((content) => text(content, { logprobs: { tokens: [content], token_logprobs: [-0.5] } })),
  },
  {
    name: 'audio',
    steps: [
      { delta: { audio: { id: 'audio_1', transcript: 'Ra' } } },
      { delta: { audio: { data: 'QUJD' } } },
      { delta: { audio: { data: 'QUJD', transcript: 'in' } } },
      { delta: { audio: { expires_at: 1790000000 } } },
    ],
  },
  {
    name: 'annotations',
    steps: [
      text('See'),
      {
        delta: {
          annotations: [
            { type: 'url_citation', url_citation: { url: 'https://a.test', title: 'A', start_index: 0, end_index: 3 } },
          ],
        },
      },
      {
        delta: {
          annotations: [
            { type: 'url_citation', url_citation: { url: 'https://b.test', title: 'B', start_index: 0, end_index: 3 } },
          ],
        },
      },
    ],
  },
  {
    name: 'images',
    steps: [
      text('Here'),
      { delta: { images: [{ type: 'image_url', index: 0, image_url: { url: 'data:image/png;base64,QQ==' } }] } },
    ],
  },
  {
    name: 'details of the reasoning',
    steps: [
      {
        delta: {
          reasoning: 'Wet',
          reasoning_details: [{ type: 'reasoning.text', text: 'Wet', format: 'anthropic-claude-v1', index: 0 }],
        },
      },
      {
        delta: {
          reasoning: ' Wet',
          reasoning_details: [{ type: 'reasoning.text', text: ' Wet', format: 'anthropic-claude-v1', index: 0 }],
        },
      },
      {
        delta: {
          reasoning_details: [{ type: 'reasoning.text', signature: 'EqQB', format: 'anthropic-claude-v1', index: 0 }],
        },
      },
      { delta: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'gAAA', id: 'rs_1', index: 1 }] } },
      text('Rain'),
    ],
  },
  {
    name: 'blocks of thoughts',
    steps: [
      { delta: { thinking_blocks: [{ type: 'thinking', index: 0, thinking: 'Wet' }] } },
      { delta: { thinking_blocks: [{ type: 'thinking', index: 0, thinking: ' street' }] } },
      { delta: { thinking_blocks: [{ type: 'thinking', index: 0, thinking: '', signature: 'sig' }] } },
      text('Rain'),
    ],
  },
  {
    name: 'parts of text',
    steps: [
      { delta: { content: [{ type: 'text', text: 'It' }] } },
      { delta: { content: [{ type: 'text', text: ' rains' }] } },
      text('!'),
    ],
  },
  {
    name: 'thoughts as parts of the content',
    steps: [
      { delta: { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Wet' }] }] } },
      {
        delta: {
          content: [
            { type: 'thinking', thinking: ' street' },
            { type: 'text', text: 'Ra' },
          ],
        },
      },
      text('in'),
    ],
  },
  {
    name: 'thoughts with a signature and a reference',
    steps: [
      { delta: { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Wet' }], closed: false }] } },
      {
        delta: {
          content: [
            {
              type: 'thinking',
              thinking: [
                { type: 'ref', ids: [4] },
                { type: 'text', text: '!' },
              ],
              closed: true,
            },
            { type: 'thinking', thinking: ' street', signature: 'sealed' },
          ],
        },
      },
      text('Rain'),
    ],
  },
  {
    name: 'tools that the server ran',
    steps: [
      { delta: { executed_tools: [{ index: 0, type: 'search', arguments: '{"q":' }] } },
      { delta: { executed_tools: [{ index: 0, arguments: '"rain"}', output: 'wet' }] } },
      text('Wet'),
    ],
  },
  {
    name: 'two roles',
    steps: [{ delta: { role: 'assistant', content: 'a' } }, { delta: { role: 'tool', content: 'b' } }],
  },
  {
    name: 'a call without arguments',
    steps: [call(0, { id: 'call_1', type: 'function', function: { name: 'look', arguments: null } })],
    finish: 'tool_calls',
  },
  {
    name: 'a call with another id in the middle of its arguments',
    steps: [opened(0, 'call_1', 'look', '{"a":'), call(0, { id: 'call_2', function: { arguments: '1}' } })],
    finish: 'tool_calls',
  },
  {
    name: 'a call that is no array',
    steps: [
      {
        delta: {
          tool_calls: { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: { a: 1 } } },
        },
      },
    ],
    finish: 'tool_calls',
  },
  { name: 'content of another kind', steps: [{ delta: { content: { odd: 'value' } } }] },
  { name: 'content of two kinds', steps: [{ delta: { content: { odd: 'value' } } }, text('Rain')] },
  { name: 'audio of another kind', steps: [{ delta: { audio: 'sound' } }] },
  { name: 'parts without text', steps: [{ delta: { content: [{ type: 'image', image: 'QQ==' }] } }, text('Rain')] },
  {
    name: 'parts with more than text',
    steps: [
      { delta: { content: [{ type: 'text', text: 'Rain', citations: [{ url: 'https://a.test' }] }] } },
      text('!'),
    ],
  },
  {
    name: 'details of two types at one index',
    steps: [
      { delta: { reasoning_details: [{ index: 0, type: 'reasoning.text', text: 'Wet' }] } },
      { delta: { reasoning_details: [{ index: 0, type: 'reasoning.encrypted', data: 'e1' }] } },
      { delta: { reasoning_details: [{ index: 0, type: 'reasoning.text', text: '', signature: 's1' }] } },
    ],
  },
  {
    name: 'unknown fields of a delta',
    steps: [
      { delta: { note: 'a', same: 'x', deep: { text: 'p', kind: 1 }, list: [1], count: 1 } },
      { delta: { note: 'a', same: 'x', deep: { text: 'q', kind: 1 }, list: [2], count: 2 } },
      { delta: { note: 'b', same: 'x', list: [2], count: 2 } },
    ],
  },
  {
    name: 'unknown fields beside a delta',
    steps: [
      text('a', { latency: 1, sources: ['x'], state: { phase: 'one' } }),
      text('b', { latency: 2, sources: ['x', 'y'], state: { phase: 'two', done: true } }),
    ],
  },
  {
    name: 'a whole message that differs from its pieces',
    steps: [
      text('Two'),
      { delta: { content: ' days' }, beside: { message: { role: 'assistant', content: 'Three days', plan: 'p' } } },
    ],
  },
  { name: 'choices that end in another order', steps: [text('B', {}, 1), text('A', {}, 0)] },
  { name: 'two choices in turns', steps: [text('A', {}, 0), text('B', {}, 1), text('a', {}, 0), text('b', {}, 1)] },
  {
    name: 'a choice without a delta',
    steps: [{ beside: { message: { role: 'assistant', content: 'Rain', refusal: null } } }],
  },
];

const openai = (at: number): JsonObject => ({
  id: 'chatcmpl-A1',
  object: 'chat.completion.chunk',
  created: 1790000000,
  model: 'gpt-x',
  service_tier: 'default',
  system_fingerprint: 'fp_1',
  usage: null,
  obfuscation: 'padding'.slice(at % 7),
});
const plain =
  (id: string, more: JsonObject = {}) =>
  (): JsonObject => ({
    id,
    object: 'chat.completion.chunk',
    created: 1790000001,
    model: 'm-1',
    ...more,
  });
const usageChunk = (top: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...top,
  choices: [],
  usage: { ...usage, ...more },
});

/** Servers, each with its own fields around the same deltas. */
export const forms: readonly Form[] = [
  {
    name: 'OpenAI',
    top: openai,
    beside: () => ({ logprobs: null }),
    role: { role: 'assistant', content: '', refusal: null },
    last: [
      usageChunk(openai(3), {
        prompt_tokens_details: { cached_tokens: 8, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 2 },
      }),
    ],
  },
  {
    name: 'Azure',
    top: () => ({ ...openai(0), obfuscation: 'q' }),
    first: [
      {
        id: '',
        object: '',
        created: 0,
        model: '',
        choices: [],
        prompt_filter_results: [
          { prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: 'safe' } } },
        ],
      },
    ],
    role: { role: 'assistant', content: '', refusal: null },
    beside: () => ({ content_filter_results: { hate: { filtered: false, severity: 'safe' } } }),
    end: { beside: { content_filter_results: {} } },
    last: [usageChunk({ id: '', object: '', created: 0, model: '' })],
  },
  {
    name: 'vLLM',
    top: plain('chatcmpl-v'),
    role: { role: 'assistant', content: '' },
    beside: () => ({ token_ids: null, stop_reason: null, logprobs: null }),
    end: { beside: { stop_reason: 151_645 } },
    last: [usageChunk(plain('chatcmpl-v')())],
  },
  {
    name: 'llama.cpp',
    top: plain('chatcmpl-l', { system_fingerprint: 'b6000-abc' }),
    role: { role: 'assistant', content: null },
    end: { top: { timings: { prompt_n: 11, predicted_ms: 53.125, predicted_per_second: 75.29 } } },
    last: [
      {
        ...usageChunk(plain('chatcmpl-l')()),
        timings: { prompt_n: 11, predicted_ms: 53.125, predicted_per_second: 75.29 },
      },
    ],
  },
  {
    name: 'Ollama',
    top: plain('chatcmpl-86', { system_fingerprint: 'fp_ollama' }),
    delta: () => ({ role: 'assistant' }),
    end: { delta: { role: 'assistant', content: '' } },
  },
  {
    name: 'Mistral',
    top: (at) => ({ ...plain('cmpl-m')(), p: 'abcdefgh'.slice(at % 8) }),
    role: { role: 'assistant', content: '' },
    end: { top: { usage }, delta: { content: '' } },
  },
  {
    name: 'a Gemini front end',
    top: (at) => ({ ...plain('R2Vt')(), usage: { prompt_tokens: 11, completion_tokens: at, total_tokens: 11 + at } }),
    delta: () => ({ role: 'assistant' }),
    end: { delta: { role: 'assistant' } },
  },
  {
    name: 'an Anthropic front end',
    top: plain('msg_01', { usage: null }),
    role: { role: 'assistant' },
    end: { delta: {} },
    last: [usageChunk(plain('msg_01')(), { cache_read_input_tokens: 5 })],
  },
  {
    name: 'DeepSeek',
    top: plain('9318', { system_fingerprint: 'fp_ds' }),
    role: { role: 'assistant', content: null, reasoning_content: '' },
    beside: () => ({ logprobs: null }),
    end: {
      delta: { content: '', reasoning_content: null },
      top: { usage: { ...usage, prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 5 } },
    },
  },
  {
    name: 'OpenRouter',
    top: () => ({ ...plain('gen-17')(), provider: 'Anthropic' }),
    delta: () => ({ role: 'assistant' }),
    beside: () => ({ native_finish_reason: null, logprobs: null }),
    end: { beside: { native_finish_reason: 'end_turn' } },
    last: [
      {
        ...plain('gen-17')(),
        provider: 'Anthropic',
        choices: [
          { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null, native_finish_reason: null },
        ],
        usage: { ...usage, cost: 0.000123, cost_details: { upstream_inference_cost: null } },
      },
    ],
    comment: ': OPENROUTER PROCESSING\n\n',
  },
  {
    name: 'Groq',
    top: plain('chatcmpl-g', { system_fingerprint: 'fp_g' }),
    first: [
      {
        ...plain('chatcmpl-g')(),
        choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
        x_groq: { id: 'req_01' },
      },
    ],
    end: { top: { x_groq: { id: 'req_01', usage: { ...usage, queue_time: 0.018, total_time: 0.05 } } } },
  },
  {
    name: 'Perplexity',
    top: (at) => ({
      ...plain('pplx')(),
      citations: ['https://a.test', 'https://b.test'].slice(0, at),
      usage: { ...usage, completion_tokens: at + 1 },
    }),
    delta: () => ({ role: 'assistant' }),
    beside: (_, soFar) => ({ message: { role: 'assistant', content: soFar } }),
  },
  {
    name: 'Moonshot',
    top: plain('cmpl-k'),
    role: { role: 'assistant', content: '' },
    end: { beside: { usage: { ...usage, cached_tokens: 3 } } },
  },
  {
    name: 'Together',
    top: plain('o8x'),
    beside: (at) => ({ seed: null, logprobs: null, text: 'abc'.slice(0, at % 3) }),
    delta: () => ({ role: 'assistant' }),
    end: { beside: { seed: 42 }, top: { usage } },
  },
  {
    name: 'Fireworks',
    top: plain('f1'),
    role: { role: 'assistant' },
    end: { top: { usage, perf_metrics: { 'server-time-to-first-token': '0.1' } } },
  },
  {
    name: 'xAI',
    top: (at) => ({
      ...plain('e409')(),
      usage: { ...usage, completion_tokens: at + 1, prompt_tokens_details: { text_tokens: 11, cached_tokens: 0 } },
    }),
    delta: () => ({ role: 'assistant' }),
  },
  {
    name: 'Cerebras',
    top: plain('chatcmpl-c'),
    role: { role: 'assistant' },
    end: { top: { usage, time_info: { queue_time: 0.001, total_time: 0.02 } } },
  },
  {
    name: 'TGI',
    top: () => ({ ...plain('')(), object: 'text_completion', system_fingerprint: '3.0-sha' }),
    delta: () => ({ role: 'assistant' }),
    beside: () => ({ logprobs: null }),
    last: [usageChunk(plain('')())],
  },
  {
    name: 'SGLang',
    top: plain('s1'),
    role: { role: 'assistant', content: '', reasoning_content: null, tool_calls: null },
    beside: () => ({ logprobs: null, matched_stop: null }),
    end: { beside: { matched_stop: 128_009 } },
    last: [usageChunk(plain('s1')(), { reasoning_tokens: 0 })],
  },
  {
    name: 'LiteLLM',
    top: plain('chatcmpl-ll', { citations: null }),
    delta: () => ({ provider_specific_fields: null, audio: null }),
    role: { role: 'assistant', content: '', function_call: null, tool_calls: null },
    last: [usageChunk(plain('chatcmpl-ll')())],
  },
  {
    name: 'LM Studio',
    top: plain('chatcmpl-st', { stats: {}, system_fingerprint: 'qwen' }),
    delta: () => ({ role: 'assistant' }),
  },
  {
    name: 'a Cohere front end',
    top: () => ({ id: 'c-1', object: 'chat.completion.chunk', model: 'command' }),
    role: { role: 'assistant' },
    last: [usageChunk({ id: 'c-1', model: 'command' })],
  },
  {
    name: 'DashScope',
    top: plain('chatcmpl-q', { usage: null, system_fingerprint: null }),
    role: { role: 'assistant', content: '' },
    beside: () => ({ logprobs: null }),
    last: [usageChunk(plain('chatcmpl-q')())],
  },
  {
    name: 'Zhipu',
    top: plain('2025', { request_id: '2025-1' }),
    delta: () => ({ role: 'assistant' }),
    end: { top: { usage }, delta: { role: 'assistant', content: '' } },
  },
  {
    name: 'Cloudflare',
    top: (at) => ({ ...plain('id-cf')(), response: '', p: 'abcd'.slice(at % 4) }),
    delta: () => ({ tool_calls: [] }),
    end: { delta: {}, top: { usage } },
  },
];

/** The chunks of a feature as a server sends them. */
export function chunksOf(form: Form, { steps, finish = 'stop' }: Feature): JsonObject[] {
  const chunks: JsonObject[] = [...(form.first ?? [])];
  const indexes = [...new Set(steps.map(({ index = 0 }) => index))];
  const choice = (
    index: number,
    delta: JsonObject | undefined,
    beside: JsonObject,
    reason: string | null,
  ): JsonObject => ({
    index,
    ...(delta ? { delta } : {}),
    finish_reason: reason,
    ...beside,
  });
  const hasDelta = steps.some(({ delta }) => delta);
  if (form.role && hasDelta)
    for (const index of indexes)
      chunks.push({ ...form.top(0), choices: [choice(index, form.role, form.beside?.(0, '') ?? {}, null)] });
  const textOf = (ofIndex: number, count: number): string =>
    steps
      .slice(0, count)
      .map(({ delta, index = 0 }) => (index === ofIndex ? contentText(delta?.content ?? '') : ''))
      .join('')
      .replace(/[\ud800-\udbff]$/, '');
  for (const [at, { delta, beside = {}, index = 0 }] of steps.entries()) {
    const piece = delta && { ...form.delta?.(at), ...delta };
    const more = form.beside?.(at, textOf(index, at + 1)) ?? {};
    chunks.push({ ...form.top(at + 1), choices: [choice(index, piece, { ...more, ...beside }, null)] });
  }
  const { top = {}, beside = {}, delta = {} } = form.end ?? {};
  for (const index of indexes) {
    const more = { ...(form.beside?.(steps.length, textOf(index, steps.length)) ?? {}), ...beside };
    chunks.push({
      ...form.top(steps.length + 1),
      ...top,
      choices: [choice(index, hasDelta ? delta : undefined, more, finish)],
    });
  }
  return [...chunks, ...(form.last ?? [])];
}

function contentText(content: Json): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content : [];
  return parts.map((part) => part.text ?? '').join('');
}

export function eventsOf({ comment = '' }: Form, chunks: readonly JsonObject[]): string {
  return `${comment}${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n${comment}`).join('')}data: [DONE]\n\n`;
}
