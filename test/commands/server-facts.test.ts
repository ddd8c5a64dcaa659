import { describe, expect, it } from 'vitest';
import { answering, localService } from '../support/service.ts';
import { type Result, svc } from '../support/svc.ts';

const env = { SVC_BASE_URL: 'https://svc.test', SVC_TOKEN: 'token-1', SVC_USERNAME: 'api', SVC_PASSWORD: 'password-1' };
const replies: { readonly [command: string]: string } = {
  'feedback replace': '{"id":"f","created_at":"2026-01-01T00:00:00Z","payload":{},"svc_user_id":"api"}',
  'feedback schema': '{"paths":[]}',
  chat: '{"model":"m","usage":{},"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}]}',
  train: '{"id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05"}',
  'call start': '{"id":"0123456789abcdef","trace_id":"0123456789abcdef0123456789abcdef"}',
};

async function run(command: string, body: object, flags: readonly string[] = []): Promise<Result & { sent: string[] }> {
  const { send, recorded } = answering(replies[command] ?? '');
  const stdin = JSON.stringify(body);
  const result = await svc([...command.split(' '), '--exact', ...flags], { stdin, env, send });
  return { ...result, sent: recorded.map((one) => one.body) };
}

/** The status of the local service for a body. */
async function statusOf(command: string, body: object): Promise<number> {
  const { send } = await localService();
  const args = [...command.split(' '), '--exact', '--no-check', '--json', '--error-format', 'json'];
  const { code, stderr } = await svc(args, { stdin: JSON.stringify(body), env, send });
  return code === 0 ? 200 : JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error.status;
}

const chat = (more: object): object => ({ messages: [{ role: 'user', content: 'x' }], ...more });
const tool = { type: 'function', function: { name: 'lookup' } };
const salt = 'x'.repeat(43);

// The numbers are those of the conditions in docs/internals/servers.md.
const rejectedChats: readonly (readonly [number: number, more: object, message: RegExp])[] = [
  [1, { tools: [] }, /tools: must not be empty/],
  [1, { tool_choice: 'auto' }, /tool_choice: needs tools/],
  [1, { tool_choice: 'required', tools: [] }, /tool_choice: needs tools/],
  [
    1,
    { tools: [tool], tool_choice: { type: 'function', function: { name: 'other' } } },
    /tool_choice: must name one of the tools/,
  ],
  [2, { logprobs: true, top_logprobs: -2 }, /top_logprobs: should be at least -1/],
  [3, { prompt_logprobs: -2 }, /prompt_logprobs: should be at least -1/],
  [4, { temperature: 2.1 }, /temperature: should be at most 2/],
  [5, { n: 2, temperature: 0 }, /n: must be 1 with temperature 0/],
  [6, { top_k: -2 }, /top_k: should be at least -1/],
  [7, { min_p: 1.1 }, /min_p: should be at most 1/],
  [7, { min_p: -0.1 }, /min_p: should be at least 0/],
  [8, { repetition_penalty: 0 }, /repetition_penalty: should be above 0/],
  [9, { max_tokens: 0 }, /max_tokens: should be at least 1/],
  [9, { max_completion_tokens: 0 }, /max_completion_tokens: should be at least 1/],
  [10, { min_tokens: -1 }, /min_tokens: should be at least 0/],
  [11, { stop: ['a', ''] }, /stop: must not contain an empty string/],
  [11, { stop: '' }, /stop: must not contain an empty string/],
  [11, { bad_words: [''] }, /bad_words: must not contain an empty string/],
  [12, { cache_salt: 'x'.repeat(129) }, /cache_salt: should be at most 128 characters without @/],
  [
    12,
    { cache_salt: `${salt}/` },
    /cache_salt: should be at most 128 characters without @.*, as from --cache-salt random/,
  ],
  [
    12,
    { cache_salt: `${salt}\\` },
    /cache_salt: should be at most 128 characters without @.*, as from --cache-salt random/,
  ],
  [
    12,
    { cache_salt: `${salt}@` },
    /cache_salt: should be at most 128 characters without @.*, as from --cache-salt random/,
  ],
  [
    12,
    { cache_salt: `${salt}\0` },
    /cache_salt: should be at most 128 characters without @.*, as from --cache-salt random/,
  ],
  [13, { response_format: {} }, /response_format\.type: is required by most servers/],
  [13, { response_format: { type: 'xml' } }, /response_format\.type: should be "json_schema", /],
  [14, { response_format: { type: 'json_schema' } }, /response_format\.json_schema: is required with type json_schema/],
  [
    14,
    { response_format: { type: 'json_schema', json_schema: { schema: {} } } },
    /response_format\.json_schema\.name: is required/,
  ],
  [15, { structured_outputs: {} }, /structured_outputs: needs one of json, regex/],
  [15, { structured_outputs: { choice: [] } }, /structured_outputs\.choice: must not be empty/],
  [16, { structured_outputs: { choice: ['a'], json_object: true } }, /choice: cannot be combined with json_object/],
  [
    16,
    { structured_outputs: { grammar: 'a', structural_tag: '{}' } },
    /grammar: cannot be combined with structural_tag/,
  ],
  [17, { logit_bias: { parcel: 1 } }, /logit_bias: must have token ids as keys/],
  [18, { documents: [{ title: 'a', text: 7 }] }, /documents: must have only strings as values/],
  [
    19,
    { repetition_detection: { max_pattern_size: 2, min_pattern_size: 3, min_count: 2 } },
    /min_pattern_size: should be at most max_pattern_size/,
  ],
  [
    19,
    { repetition_detection: { max_pattern_size: 2, min_pattern_size: 1, min_count: 1 } },
    /min_count: should be at least 2/,
  ],
  [21, { allowed_token_ids: [] }, /allowed_token_ids: must not be empty/],
  [22, { logprobs: true, logprob_token_ids: [] }, /logprob_token_ids: must not be empty/],
  [22, { logprobs: true, logprob_token_ids: Array(129).fill(1) }, /logprob_token_ids: must have at most 128/],
  [22, { logprob_token_ids: [1] }, /logprob_token_ids: needs logprobs/],
  [22, { stream_interval: 0 }, /stream_interval: should be at least 1/],
  [22, { thinking_token_budget: -2 }, /thinking_token_budget: should be at least -1/],
];

describe('chats that servers reject', () => {
  it.each(rejectedChats)('%d: %j', async (_, more, message) => {
    const { stderr, sent } = await run('chat', chat(more));
    expect(stderr).toMatch(message);
    expect(sent).toHaveLength(1);
    expect(await run('chat', chat(more), ['--strict'])).toMatchObject({ code: 3, sent: [] });
    expect(await statusOf('chat', chat(more))).toBe(400);
  });

  it('20: integers beyond int64', async () => {
    const { send, recorded } = answering(replies.chat ?? '');
    const stdin = '{"messages":[{"role":"user","content":"x"}],"priority":9223372036854775808}';
    expect((await svc(['chat'], { stdin, env, send })).stderr).toMatch(
      /priority: should be at most 9223372036854775807/,
    );
    expect(recorded).toHaveLength(1);
  });
});

const feedback = { feedback_id: 'f', id: 'f', project_id: 'a/b', feedback_type: 'x', payload: {} };
const record = (svc_ref: string, more: object = {}): object => ({ ...feedback, svc_ref, ...more });
const object = 'svc:///a/b/object/n:v';
const monitored = { feedback_type: 'wandb.runnable.n', payload: { output: 1 } };
const opScorer = { runnable_ref: 'svc:///a/b/op/n:v', call_ref: 'svc:///a/b/call/c' };
const call = (more: object): object => ({
  start: {
    ...{ project_id: 'a/b', op_name: 'x', attributes: {}, inputs: {}, started_at: '2026-01-01T00:00:00Z' },
    ...{ id: '0123456789abcdef', trace_id: '0123456789abcdef0123456789abcdef', ...more },
  },
});
const window = (more: object): object => ({ project_id: 'a/b', start: '2026-01-01T00:00:00Z', ...more });

describe('accepted with a warning', () => {
  it.each<[string, object, RegExp]>([
    ...['none', 'minimal', 'xhigh', 'max'].map((effort): [string, object, RegExp] => [
      'chat',
      chat({ reasoning_effort: effort }),
      /reasoning_effort: should be "low", .*; most servers also accept/,
    ]),
    ...[
      'svc:///a/b/op/n:v',
      'svc:///a/b/table/abc',
      'svc:///a/b/agent_turn/t1',
      'svc:///a/b/agent_span/s',
      'svc:///a/b/agent_conversation/c',
      `${object}/attr/rows/index/2/id/x`,
    ].map((ref): [string, object, RegExp] => [
      'feedback replace',
      record(ref),
      /svc_ref: should be .*; most servers also accept/,
    ]),
    [
      'feedback replace',
      record(object, { ...monitored, runnable_ref: object }),
      /runnable_ref: should be an op ref .* also accept/,
    ],
    [
      'feedback replace',
      record(object, { ...monitored, ...opScorer, trigger_ref: 'svc:///a/b/op/n:v' }),
      /trigger_ref: should be an object ref .* also accept/,
    ],
    [
      'feedback replace',
      record(object, {
        feedback_type: 'wandb.annotation.n',
        payload: { value: 1 },
        annotation_ref: 'svc:///a/b/op/n:v/key/k',
      }),
      /annotation_ref: should be .* also accept/,
    ],
    ['feedback schema', window({ start: '2026-01-01' }), /start: should be a time like .* also accept "2026-01-01"/],
    ['feedback schema', window({ end: '2026-01-02 10:00:00+0100' }), /end: should be .* also accept/],
    ['feedback schema', window({ end: '2026-01-02_10:00' }), /end: should be .* also accept/],
    ['call start', call({ started_at: '2026-01-01' }), /started_at: should be .* also accept/],
    ['call start', call({ started_at: '2026-01-01 10:00:00.5' }), /started_at: should be .* also accept/],
  ])('%s %j', async (command, body, message) => {
    const { code, stderr, sent } = await run(command, body);
    expect(stderr).toMatch(message);
    expect(stderr.split('\n')).toHaveLength(2);
    expect({ code, sent }).toEqual({ code: 0, sent: [JSON.stringify(body)] });
    expect(await run(command, body, ['--strict'])).toMatchObject({ code: 3, sent: [] });
    expect(await statusOf(command, body)).toBe(200);
  });
});

describe('still errors', () => {
  it.each<[string, object, RegExp]>([
    ['feedback schema', window({ start: 1767225600 }), /start: must be a time like .*, not 1767225600/],
    ['feedback schema', window({ start: '2026-02-30' }), /start: must be a time like/],
    ['feedback schema', window({ sample_limit: '2' }), /sample_limit: must be an integer .*, not "2"/],
    ['chat', chat({ n: '2' }), /n: must be an integer or null, not "2"/],
    ['chat', chat({ logprobs: 'true' }), /logprobs: must be true or false/],
    ['feedback replace', record('svc:///a/b/thing/n'), /svc_ref: must be an object ref/],
    ['feedback replace', record(object, { call_ref: 'svc:///a/b/op/n:v' }), /call_ref: must be a call ref/],
    ['feedback replace', record(`${object}/index/x`), /svc_ref: must be/],
  ])('%s %j', async (command, body, message) => {
    const { code, stderr, sent } = await run(command, body);
    expect(stderr).toMatch(message);
    expect({ code, sent }).toEqual({ code: 3, sent: [] });
  });
});

describe('warnings about calls and salts', () => {
  it.each<[string, object, RegExp]>([
    ['call start', call({ display_name: 'é'.repeat(1025) }), /display_name: should be at most 1,024 characters/],
    [
      'call start',
      call({ op_name: 'svc:///a/b/object/n:v' }),
      /op_name: should be a name of at most 128 characters or an op ref/,
    ],
    [
      'chat',
      chat({ cache_salt: 'short' }),
      /cache_salt: is easier to guess than 43 .*; --cache-salt random generates them/,
    ],
  ])('%s %j', async (command, body, message) => {
    const { code, stderr } = await run(command, body);
    expect(code).toBe(0);
    expect(stderr).toMatch(message);
    expect(stderr.split('\n')).toHaveLength(2);
    expect(await run(command, body, ['--strict'])).toMatchObject({ code: 3, sent: [] });
  });

  it('--cache-salt random needs no warning', async () => {
    const { send, recorded } = answering(replies.chat ?? '');
    const random = { randomBytes: (length: number) => new Uint8Array(length).fill(0xff) };
    const args = ['chat', 'x', '--cache-salt', 'random', '--strict'];
    expect(await svc(args, { env, send, runtime: random })).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(recorded[0]?.body ?? '').cache_salt).toBe(`${'_'.repeat(42)}8`);
  });
});

const trajectory = {
  messages_and_choices: [{ role: 'user', content: 'x' }],
  reward: 1,
  ...{ tools: null, initial_policy_version: null, final_policy_version: null, start_time: null },
  ...{ additional_histories: [], metrics: {}, metadata: {}, logs: [], auto_metrics: {}, exchanges: [] },
};
const group = { trajectories: [trajectory, { ...trajectory, reward: 0, auto_metrics: null, exchanges: null }] };
const dumped = { ...group, exceptions: [], metadata: {}, metrics: null, logs: null };
const job = (more: object): object => ({
  model_id: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05',
  trajectory_groups: Array(50).fill(dumped),
  ...more,
});
const config = {
  ...{ allow_training_without_logprobs: true, importance_sampling_level: 'geometric_average', kl_penalty_coef: 0.1 },
  ...{
    kl_penalty_reference_step: 1,
    kl_penalty_source: 'current_learner',
    kl_penalty_step_lag: 1,
    kl_ref_adapter_path: 'x',
  },
  ...{ logprob_calculation_chunk_size: 1, loss_fn: 'cispo', normalize_advantages: true, packed_sequence_length: 1 },
  ...{ num_trajectories_learning_rate_multiplier_power: 1, plot_tensors: false, truncated_importance_sampling: 2 },
  ...{ scale_learning_rate_by_reward_std_dev: true, learning_rate: null },
};

describe('accepted without a warning, also with --strict', () => {
  it.each<[string, object]>([
    ['train', job({})],
    ['train', job({ experimental_config: config })],
    ['chat', chat({ tools: [tool], tool_choice: 'auto' })],
    ['chat', chat({ logprobs: true, top_logprobs: -1, logprob_token_ids: [1] })],
    ['chat', chat({ stream_options: {}, temperature: 2, seed: -1, stop: [] })],
    ['chat', chat({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } })],
    [
      'chat',
      chat({
        ...{
          thinking_token_budget: -1,
          session_id: 's',
          truncation_side: 'left',
          media_io_kwargs: {},
          return_prompt_text: true,
        },
        ...{ stream_interval: 1, ec_transfer_params: {}, watermarking: true, routed_experts_prompt_start: 1 },
        ...{ return_token_offsets: true, return_mm_kwargs: null, cache_salt: salt },
      }),
    ],
    [
      'feedback replace',
      record(object, {
        ...{
          feedback_type: 'wandb.agent_user_feedback',
          scorer_tags: ['a'],
          scorer_tag_reasons: {},
          scorer_tag_confidences: {},
        },
        ...{
          scorer_ratings: { a: 1 },
          scorer_rating_reasons: {},
          scorer_rating_confidences: null,
          scorer_trace_id: 't',
        },
        ...{
          span_agent_name: 'n',
          span_agent_version: 'v',
          span_status_code: 'ok',
          span_conversation_id: 'c',
          span_trace_id: 't',
        },
      }),
    ],
  ])('%s, case %#', async (command, body) => {
    const { code, stderr, sent } = await run(command, body, ['--strict']);
    expect({ code, stderr, sent }).toEqual({ code: 0, stderr: '', sent: [JSON.stringify(body)] });
  });

  it.each([
    [{ truncation_side: 'middle' }, /truncation_side: should be "left" or "right"/],
    [{ stream_interval: 0 }, /stream_interval: should be at least 1/],
  ])('but their values are checked: %j', async (more, message) => {
    expect((await run('chat', chat(more))).stderr).toMatch(message);
  });

  it('exchanges beside messages are a warning', async () => {
    const body = job({ trajectory_groups: [{ trajectories: [{ ...trajectory, exchanges: [{}] }] }] });
    expect((await run('train', body)).stderr).toMatch(/exchanges: cannot be combined with messages_and_choices/);
  });
});

describe('flags convert times', () => {
  it.each([
    ['1767225600', '2026-01-01T00:00:00.000Z'],
    ['1767225600.5', '2026-01-01T00:00:00.500Z'],
    ['1767225600123', '2026-01-01T00:00:00.123Z'],
    ['2026-01-01', '2026-01-01T00:00:00Z'],
    ['2026-01-01 09:30', '2026-01-01T09:30'],
    ['2026-01-01_09:30:00.123456+0200', '2026-01-01T09:30:00.123456+0200'],
    ['2026-01-01T09:30:00Z', '2026-01-01T09:30:00Z'],
  ])('%s', async (word, time) => {
    const windows = answering('{"paths":[]}');
    const calls = answering(replies['call start'] ?? '');
    const schema = ['feedback', 'schema', '--project-id', 'a/b', '--start', word, '--strict'];
    const start = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x', '--started-at', word, '--strict'];
    expect(await svc(schema, { env, send: windows.send })).toMatchObject({ code: 0, stderr: '' });
    await svc(start, { env, send: calls.send });
    expect(JSON.parse(windows.recorded[0]?.body ?? '').start).toBe(time);
    expect(JSON.parse(calls.recorded[0]?.body ?? '').start.started_at).toBe(time);
  });

  it('a few digits are not a time', async () => {
    const args = ['feedback', 'schema', '--project-id', 'a/b', '--start', '2026'];
    expect((await svc(args, { env })).stderr).toMatch(/--start: must be a time like/);
  });
});
