import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { answering } from '../support/service.ts';
import { type Result, type Setting, svc, temporaryDirectory } from '../support/svc.ts';

const env = { SVC_BASE_URL: 'https://svc.test', SVC_TOKEN: 'token-1', SVC_USERNAME: 'api', SVC_PASSWORD: 'password-1' };
const reply = JSON.stringify({
  id: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05',
  trace_id: '2',
  created_at: '2026-01-01T00:00:00Z',
  payload: {},
  svc_user_id: 'api',
  paths: [],
  model: 'm',
  usage: {},
  choices: [{ index: 0, message: { content: 'ok' }, finish_reason: 'stop' }],
});

async function run(
  command: string,
  body: string | Uint8Array,
  flags: readonly string[] = [],
  more: Setting = {},
): Promise<Result & { sent: string[] }> {
  const ids = { id: '0123456789abcdef', trace_id: '0123456789abcdef0123456789abcdef' };
  const { send, recorded } = answering(command === 'call start' ? JSON.stringify(ids) : reply);
  const result = await svc([...command.split(' '), ...flags], { stdin: body, env, send, ...more });
  return { ...result, sent: recorded.map((one) => one.body) };
}

const replace = (more: string): string =>
  `{"feedback_id":"f","feedback_type":"t","payload":{},"project_id":"a/b","svc_ref":"svc:///a/b/object/n:v"${more}}`;
const call = (more: string): string =>
  `{"start":{"project_id":"a/b","op_name":"x","attributes":{},"inputs":{},"started_at":"2026-01-01T00:00:00Z","id":"0123456789abcdef","trace_id":"0123456789abcdef0123456789abcdef"${more}}}`;
const chat = (more: string): string => `{"messages":[{"role":"user","content":"x"}]${more}}`;
const schema = (more: string): string => `{"project_id":"a/b","start":"2026-01-01T00:00:00Z"${more}}`;
const train = (more: string): string =>
  `{"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trajectory_groups":[{"trajectories":[{"reward":1${more}}]}]}`;

describe('errors that always stop a request (row 1)', () => {
  it.each<[string, string | Uint8Array, RegExp]>([
    ['not JSON', '{"a":1,}', /stdin:1:7: invalid JSON: a comma/],
    ['truncated', '{"messages":[', /stdin:1:14: invalid JSON: unexpected end of input/],
    ['on a later line', '{\n "messages": x\n}', /stdin:2:14: invalid JSON: expected a value, found "x"/],
    ['NaN', '{"temperature":NaN}', /NaN is not a JSON number/],
    ['Infinity', '{"temperature":-Infinity}', /-Infinity is not a JSON number/],
    [
      'invalid UTF-8',
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      /stdin:1:3: invalid JSON: invalid UTF-8/,
    ],
    ['a list', '[1]', /stdin:1:1: must be an object, not an array/],
  ])('%s, with and without --no-check', async (_, body, message) => {
    for (const flags of [[], ['--no-check']]) {
      const { code, stderr, stdout, sent } = await run('call start', body, flags);
      expect(stderr).toMatch(message);
      expect({ code, stdout, sent }).toEqual({ code: 3, stdout: '', sent: [] });
    }
  });

  it('UTF-16 is named in the error', async () => {
    const { code, stderr, sent } = await run('call start', Buffer.from('{"start":{}}', 'utf16le'));
    expect({ code, sent }).toEqual({ code: 3, sent: [] });
    expect(stderr).toMatch(/UTF-16/);
  });

  it.each(['call start', 'chat'])('gzip is named in the error: %s', async (command) => {
    const { code, stderr, sent } = await run(command, gzipSync('{}'));
    expect({ code, sent }).toEqual({ code: 3, sent: [] });
    expect(stderr).toMatch(/this is compressed with gzip; decompress it, such as with gunzip$/m);
  });

  it('UTF-16 with a byte order mark is not a prompt', async () => {
    const { code, stderr, sent } = await run('chat', Buffer.from('\ufeffHi', 'utf16le'));
    expect({ code, sent }).toEqual({ code: 3, sent: [] });
    expect(stderr).toBe('svc: stdin is not text: this is UTF-16 or UTF-32; save it as UTF-8\n');
  });

  it.each(['a\0b', '\0b'])('a prompt may have a NUL: %j', async (prompt) => {
    const { code, sent } = await run('chat', prompt);
    expect(code).toBe(0);
    expect(JSON.parse(sent[0] ?? '')).toMatchObject({ messages: [{ role: 'user', content: prompt }] });
  });
});

describe('errors of the interface', () => {
  it.each<[string, string, RegExp]>([
    ['feedback replace', '{"payload":{}}', /stdin:1:1 feedback_id: is required/],
    ['feedback replace', replace(',"creator":7'), /stdin:1:\d+ creator: must be a string or null, not 7/],
    ['feedback replace', replace(',"payload":[]'), /payload: must be an object, not an array/],
    ['feedback replace', replace(',"feedback_type":null'), /feedback_type: must be a string, not null/],
    ['feedback replace', replace(',"svc_user_id":"me"'), /svc_user_id: is set by the service only/],
    [
      'feedback replace',
      replace(',"svc_ref":"svc:///a/b/op/n"'),
      /svc_ref: must be an object ref like .* or a call ref like .*, not "svc:\/\/\/a\/b\/op\/n"/,
    ],
    [
      'feedback replace',
      replace(',"call_ref":"svc:///a/b/object/n:v"'),
      /call_ref: must be a call ref .*an object ref/,
    ],
    ['feedback replace', replace(',"runnable_ref":"op"'), /runnable_ref: must be an op ref/],
    ['feedback replace', replace(',"annotation_ref":"svc:///a/b/object/n"'), /annotation_ref: must be an object ref/],
    ['feedback replace', replace(',"project_id":"a"'), /project_id: must be a project like <entity>\/<project>/],
    ['feedback schema', schema(',"sample_limit":0'), /sample_limit: must be an integer from 1 to 5000, not 0/],
    ['feedback schema', schema(',"sample_limit":5001'), /sample_limit/],
    ['feedback schema', schema(',"sample_limit":1.5'), /sample_limit/],
    ['feedback schema', schema(',"end":"7d"'), /end: must be a time like/],
    [
      'feedback schema',
      schema(',"end":"2026-02-30T00:00:00Z"'),
      /end: must be a time like .* or null, not "2026-02-30T00:00:00Z"; that day does not exist$/m,
    ],
    [
      'chat',
      chat(',"seed":9223372036854776001'),
      /seed: must be an integer from -9223372036854775808 to 9223372036854775807 or null, not 9223372036854776001/,
    ],
    ['chat', chat(',"seed":-9223372036854776001'), /seed/],
    ['chat', chat(',"truncate_prompt_tokens":-2'), /truncate_prompt_tokens/],
    ['chat', chat(',"truncate_prompt_tokens":9.3e18'), /truncate_prompt_tokens/],
    [
      'chat',
      chat(',"continue_final_message":true,"add_generation_prompt":true'),
      /continue_final_message: cannot be true together with add_generation_prompt/,
    ],
    ['chat', chat(',"tool_choice":"any"'), /tool_choice: must be "none", "auto", "required" or an object, not "any"/],
    ['chat', chat(',"reasoning_effort":"huge"'), /"low", "medium", "high", "none", "minimal", "xhigh", "max" or null/],
    ['chat', chat(',"stop":7'), /stop: must be an array or a string, not 7/],
    ['chat', chat(',"svc_xargs":{"a":{}}'), /svc_xargs\.a: must be a string, a number or an array, not an object/],
    ['chat', chat(',"svc_xargs":{"a":[true]}'), /svc_xargs\.a: each element must be a string or a number\n/],
    ['chat', chat(',"tools":[{"type":"x"}]'), /tools\[0\]\.type: must be "function", not "x"/],
    ['chat', '{"messages":{}}', /messages: must be an array, not an object/],
    ['chat', '{"messages":["x"]}', /messages\[0\]: must be an object, not "x"/],
    [
      'train',
      train(',"reward":"1"').replace('"reward":1,', ''),
      /trajectory_groups\[0\]\.trajectories\[0\]\.reward: must be a number/,
    ],
    ['train', train('').replace('0199', 'x'), /model_id: must be a UUID/],
    ['train', '{}', /trajectory_groups: is required; or give files as arguments\n/],
    ['feedback schema', '{"project_id":"a/b"}', /start: is required; or give --since, such as --since 7d\n/],
    ['train', train(',"initial_policy_version":1.5'), /initial_policy_version: must be an integer/],
    ['call start', call(',"svc_run_step":"4"'), /start\.svc_run_step: must be an integer/],
    ['call start', call(',"started_at":"yesterday"'), /start\.started_at: must be a time like/],
    ['call start', '{"op_name":"x"}', /start: is required; write \{"start":\{\.\.\.\}\}\n/],
    ['call start', '{}', /start: is required\n/],
    ['call start', '{"x":{"start":{}}}', /start: is required\n/],
    ['call start', '{"start":[]}', /start: must be an object/],
  ])('%s %s', async (command, body, message) => {
    const refused = await run(command, body, ['--exact']);
    expect(refused.stderr).toMatch(message);
    expect({ code: refused.code, sent: refused.sent, stdout: refused.stdout }).toEqual({
      code: 3,
      sent: [],
      stdout: '',
    });
    const forced = await run(command, body, ['--exact', '--no-check']);
    expect({ code: forced.code, sent: forced.sent }).toEqual({ code: 0, sent: [body] });
    expect(forced.stderr).toMatch(message);
  });

  it('of a line of a batch do not suggest files, which a batch does not take', async () => {
    const { code, stdout } = await svc(['train', '--local', '--batch', '-'], {
      stdin: '{"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05"}\n',
    });
    const [line = ''] = stdout.split('\n');
    expect([code, JSON.parse(line).error.issues[0].message]).toEqual([10, 'is required']);
  });

  it('are reported all at once, in the order of the text', async () => {
    const both = '"continue_final_message": true,\n "add_generation_prompt": true';
    const { stderr, code } = await run('chat', `{\n "seed": "x",\n "n": 1.5,\n "messages": 3,\n ${both}\n}`);
    expect(code).toBe(3);
    expect(stderr).toBe(
      'svc: the body is invalid in 4 places; nothing was sent\n' +
        '  stdin:2:10 seed: must be an integer from -9223372036854775808 to 9223372036854775807 or null, not "x"\n' +
        '  stdin:3:7 n: must be an integer or null, not 1.5\n' +
        '  stdin:4:14 messages: must be an array, not 3\n' +
        '  stdin:5:28 continue_final_message: cannot be true together with add_generation_prompt; set add_generation_prompt to false\n',
    );
  });
});

describe('a body of call start without "start"', () => {
  it('cannot take flags, even with --no-check', async () => {
    const { code, stderr, sent } = await run('call start', '{"op_name":"x"}', [
      '-f',
      '-',
      '--op-name',
      'y',
      '--no-check',
    ]);
    expect({ code, sent }).toEqual({ code: 3, sent: [] });
    expect(stderr).toContain('\n  stdin:1:1 start: is required; write {"start":{...}}\n');
  });

  it('is named by path when stdin is empty', async () => {
    const { code, stderr } = await run('call start', '');
    expect(code).toBe(3);
    expect(stderr).toMatch(/ start: is required\n {2}stdin was empty; /);
  });
});

it('a field that only the service sets gets no hint to write it as JSON', async () => {
  const { code, stderr } = await run('feedback replace', replace(''), ['-f', '-', '--set', 'svc_user_id=x']);
  expect(code).toBe(3);
  expect(stderr).toContain('svc_user_id: is set by the service only; remove it\n');
});

describe('a field with two mistakes is named once', () => {
  it.each<[string, string, string]>([
    ['chat', chat(',"seed":9223372036854776000.5'), 'seed'],
    ['feedback schema', '{"project_id":"a/b","start":"2026-01-01T00:00:00Z","sample_limit":0.5}', 'sample_limit'],
    ['call start', call(',"inputs":null').replace('"inputs":{},', ''), 'start.inputs'],
  ])('%s %s', async (command, body, field) => {
    const { stderr } = await run(command, body, ['--exact']);
    expect(stderr.split(`${field}: `)).toHaveLength(2);
  });
});

it('a field that a flag cannot change is named once', async () => {
  for (const [command, body, args] of [
    ['call start', '{"start":null}', ['--display-name', 'x']],
    ['chat', '{"messages":"x"}', ['hi']],
  ] as const) {
    const { code, stderr } = await run(command, body, ['-f', '-', ...args]);
    expect([code, stderr.split('\n').length, stderr]).toEqual([3, 3, expect.stringContaining('the body is invalid;')]);
  }
});

describe('warnings: reported and sent, errors under --strict', () => {
  it.each<[string, string, RegExp]>([
    [
      'feedback schema',
      schema(',"end":"2020-01-01T01:00+0100"').replace(/"start":"[^"]*"/, '"start":"2020-01-01T00:00"'),
      /end: is not after start, so the window is empty/,
    ],
    ['chat', chat(',"stop":"x"'), /stop: should be an array; most servers also accept "x"/],
    ['chat', chat(',"stop":null'), /stop: should be an array; most servers treat null as absent/],
    ['chat', chat(',"tool_choice":"required"'), /tool_choice: .* accept "required"/],
    ['chat', chat(',"tool_choice":{"type":"function"}'), /tool_choice: .* accept an object/],
    ['chat', chat(',"structured_outputs":{"json":{}}'), /structured_outputs\.json: .* accept an object/],
    ['train', train('').replace(/}$/, ',"experimental_config":null}'), /experimental_config: .* treat null as absent/],
    ['call start', call(',"parent_id":null'), /start\.parent_id: .* treat null as absent/],
    [
      'call start',
      call(',"inputs":null').replace('"inputs":{},', ''),
      /start\.inputs: must not be null; most servers reject it/,
    ],
    ['chat', chat(',"seed":9223372036854775900'), /seed: should be at most 9223372036854775807/],
    ['chat', chat(',"seed":-9223372036854775900'), /seed: should be at least -9223372036854775808/],
    ['chat', chat(',"temperture":1'), /temperture: is not a known field; did you mean temperature\?/],
    [
      'chat',
      chat(',"stream_options":{"includeUsage":true},"stream":true'),
      /stream_options\.includeUsage: .*did you mean include_usage/,
    ],
    ['chat', chat(',"structured_outputs":{"regx":"a"}'), /structured_outputs\.regx: .*did you mean regex/],
    [
      'chat',
      chat(',"repetition_detection":{"min_cout":1}'),
      /repetition_detection\.min_cout: .*did you mean min_count/,
    ],
    [
      'chat',
      chat(',"tools":[{"type":"function","function":{"nmae":"a"}}]'),
      /tools\[0\]\.function\.nmae: .*did you mean name/,
    ],
    ['train', train(',"rewrd":1'), /trajectories\[0\]\.rewrd: .*did you mean reward/],
    ['train', train('').replace('"trajectories"', '"note":1,"trajectories"'), /trajectory_groups\[0\]\.note/],
    [
      'train',
      train('').replace(/}$/, ',"experimental_config":{"pp":true}}'),
      /experimental_config\.pp: .*did you mean ppo/,
    ],
    ['call start', call(',"displayname":"x"'), /start\.displayname: .*did you mean display_name/],
    ['call start', call('').replace(/}$/, ',"extra":1}'), /extra: is not a known field/],
    ['chat', chat(',"max_tokens":5'), /max_tokens: is deprecated; use max_completion_tokens/],
    [
      'chat',
      chat(',"user":"a","user":"b"'),
      /stdin:1:63 user: is given more than once; the last value counts; the first one is at stdin:1:52/,
    ],
    [
      'feedback replace',
      replace(',"payload":{"a":{"x":1,"x":2}}').replace('"payload":{},', ''),
      /payload\.a\.x: is given more than once/,
    ],
    ['chat', chat(',"stream_options":{"include_usage":true}'), /stream_options: needs stream/],
    ['chat', chat(',"top_logprobs":2'), /top_logprobs: needs logprobs/],
    ['chat', chat(',"prompt_logprobs":1,"stream":true'), /prompt_logprobs: cannot be combined with stream/],
    ['chat', chat(',"structured_outputs":{"json":{},"regex":"a"}'), /\.json: cannot be combined with regex/],
    ['chat', chat(',"structured_outputs":{"regex":"a","grammar":"b"}'), /regex: cannot be combined with grammar/],
    ['chat', chat(',"cache_salt":""'), /cache_salt: must not be empty/],
    ['chat', chat(',"n":0'), /n: should be at least 1/],
    ['chat', chat(',"frequency_penalty":2.1'), /frequency_penalty: should be at most 2/],
    ['chat', chat(',"presence_penalty":-2.1'), /presence_penalty: should be at least -2/],
    ['chat', chat(',"temperature":-0.1'), /temperature: should be at least 0/],
    ['chat', chat(',"top_p":0'), /top_p: should be above 0/],
    ['chat', chat(',"top_p":1.1'), /top_p: should be at most 1/],
    [
      'chat',
      chat(',"min_tokens":5,"max_completion_tokens":4'),
      /min_tokens: should be at most max_completion_tokens, 4/,
    ],
    ['chat', chat(',"continue_final_message":true'), /continue_final_message: needs add_generation_prompt to be false/],
    [
      'chat',
      chat(',"continue_final_message":true,"add_generation_prompt":null'),
      /continue_final_message: needs add_generation_prompt to be false/,
    ],
    ['chat', '{"messages":[{"content":"x"}]}', /messages\[0\]\.role: is required by most servers/],
    ['call start', '{"start":{"project_id":"a/b"}}', /start\.op_name: is required by most servers/],
    [
      'call start',
      call('').replace('0123456789abcdef"', '0123456789ABCDEF"'),
      /start\.id: should be a lowercase UUID or 16 hexadecimal digits/,
    ],
    [
      'call start',
      call(`,"op_name":"${'x'.repeat(129)}"`).replace('"op_name":"x",', ''),
      /start\.op_name: should be a name of at most 128/,
    ],
    [
      'call start',
      call(',"parent_id":"0123456789abcdef"').replace(/,"trace_id":"\w+"/, ''),
      /start\.parent_id: also set trace_id; without it, the call is not part of a trace/,
    ],
  ])('%s %s', async (command, body, message) => {
    const { code, stderr, sent } = await run(command, body, ['--exact']);
    expect(stderr).toMatch(message);
    expect({ code, sent }).toEqual({ code: 0, sent: [body] });
    const strict = await run(command, body, ['--exact', '--strict']);
    expect(strict.stderr).toMatch(message);
    expect({ code: strict.code, sent: strict.sent }).toEqual({ code: 3, sent: [] });
  });

  it('large payloads, rows and bodies', async () => {
    const payload = JSON.stringify({ text: 'x'.repeat(1024 * 1024) });
    expect((await run('feedback replace', replace('').replace('"payload":{}', `"payload":${payload}`))).stderr).toMatch(
      /payload: is longer than 1,048,576 characters/,
    );
    const inputs = JSON.stringify({ text: 'x'.repeat(3.6 * 1024 * 1024) });
    expect((await run('call start', call('').replace('"inputs":{}', `"inputs":${inputs}`))).stderr).toMatch(
      /start\.inputs: is [\d.]+ MiB; servers silently replace fields above 3\.5 MiB/,
    );
  });
});

describe('many findings: the first hundred of each kind, and the number of the others', () => {
  const count = 5_000;
  const many = (each: string): string => Array(count).fill(each).join(',\n');
  const trajectories = (each: string): string => train('').replace('{"reward":1}', many(each));

  it('missing members', async () => {
    const { code, stderr, sent } = await run('chat', `{"messages":[${many('{}')}]}`, ['--strict']);
    expect({ code, sent }).toEqual({ code: 3, sent: [] });
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toHaveLength(101);
    expect(lines[0]).toBe('svc: the body is invalid in 5000 places; nothing was sent');
    expect(lines[100]).toMatch(/stdin:100:1 .*\[99\]\.role: .* \(and 4900 more/);
  });

  // Of trajectories, each cause is reported once, with the lines.
  it.each<[string, string, readonly RegExp[]]>([
    ['wrong values', '{"reward":"1"}', [/\[0\]\.reward: must be .*\(and 4999 more like this: lines 1-5000\)/]],
    ['duplicates', '{"reward":1,"reward":1}', [/\[0\]\.reward: is given .*\(and 4999 more like this: lines 1-5000\)/]],
    [
      'unknown fields',
      '{"reward":1,"rewrd":1,"extra":1}',
      [
        /\.rewrd: .*mean reward\? \(and 4999 more like this: lines 1-5000\)/,
        /\.extra: is not a known field \(and 4999 more like this: lines 1-5000\)/,
      ],
    ],
  ])('%s', async (_, each, says) => {
    const messages = '"messages_and_choices":[{"role":"user","content":"q"}],';
    const { code, stderr, sent } = await run('train', trajectories(each.replace('{', `{${messages}`)), ['--strict']);
    expect({ code, sent }).toEqual({ code: 3, sent: [] });
    const [first, ...lines] = stderr.trimEnd().split('\n');
    expect(first).toBe(`svc: the body is invalid in ${says.length * 5000} places; nothing was sent`);
    expect(lines).toEqual(says.map((text) => expect.stringMatching(text)));
  });

  it('an error is reported among any number of warnings', async () => {
    const body = trajectories('{"reward":1,"rewrd":1,"reward":1}').replace(/\}\]\}\]\}$/, '},7]}]}');
    const { code, stderr } = await run('train', body);
    expect(code).toBe(3);
    expect(stderr).toContain('svc: the body is invalid; nothing was sent\n');
    expect(stderr).toContain('trajectories[5000]: must be an object, not 7');
  });

  it('in a file that a flag names, in an array and far from its start', async () => {
    const cwd = temporaryDirectory();
    const tools = Array(count).fill('{"type":"function","function":{"name":"f"}}');
    writeFileSync(join(cwd, 'tools.json'), `[${[...tools, ...Array(count).fill('{"type":"x"}')].join(',\n')}]`);
    const { stderr } = await run('chat', '', ['x', '--no-stdin', '--tools', '@tools.json'], { cwd });
    expect(stderr).toContain('svc: the body is invalid in 5000 places; nothing was sent\n');
    expect(stderr).toContain('  tools.json:5100:9 tools[5099].type: must be "function", not "x" (and 4900 more');
  });
});

describe('what causes no finding', () => {
  it.each<[string, string]>([
    ['chat', chat(',"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto"')],
    ['chat', chat(',"stream_options":{}')],
    [
      'chat',
      '{"messages":[{"role":"tool","tool_call_id":"1","content":[{"type":"x"}],"more":{}},{"role":7,"name":null},{"role":null,"name":{}}],"response_format":{"type":"json_object","strict":1}}',
    ],
    [
      'chat',
      chat(',"stop":["a",1,null],"priority":7,"seed":1e3,"n":1.0,"top_logprobs":0,"tools":null,"stop_token_ids":null'),
    ],
    ['train', train(',"logs":[1,{}],"messages_and_choices":[null],"additional_histories":[[]],"metadata":{"any":1}')],
    ['feedback replace', replace(',"svc_user_id":null,"trigger_ref":null').replace('object/n:v', 'call/x-1')],
    ['feedback replace', replace('').replace('object/n:v', "object/it's a name:latest")],
    ['feedback schema', schema(',"trigger_ref":"anything at all","end":null,"sample_limit":5000')],
    ['feedback schema', schema(',"end":"2026-01-31T09:30:00.123456+05:30"').replace('00:00:00Z', '00:00:00')],
    ['call start', call(',"svc_run_step":9007199254740993,"otel_dump":{"__proto__":1}')],
  ])('%s %s', async (command, body) => {
    const { code, stderr, sent } = await run(command, body, ['--strict']);
    expect({ code, stderr, sent }).toEqual({ code: 0, stderr: '', sent: [body] });
  });
});

describe('findings name the origin of a value', () => {
  it('a flag, a file that a flag names, a file and --set', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'tools.json'), '[\n {"type": "x"}\n]');
    writeFileSync(join(cwd, 'body.json'), '{\n  "messages": [],\n  "user": 5\n}');
    const flags = [
      '-f',
      'body.json',
      '--tools',
      '@tools.json',
      '--logit-bias',
      '[1]',
      '--temperature',
      'hot',
      '--set',
      'n:="x"',
      '--set',
      'stop:=7',
    ];
    const { code, stderr, sent } = await run('chat', '', flags, { cwd });
    expect({ code, sent }).toEqual({ code: 3, sent: [] });
    expect(stderr).toContain('  tools.json:2:11 tools[0].type: must be "function", not "x"\n');
    expect(stderr).toContain('  body.json:3:11 user: must be a string or null, not 5\n');
    expect(stderr).toContain('  --logit-bias:1:1: must be an object, not an array\n');
    expect(stderr).toContain('  --temperature: must be a number, not "hot"\n');
    expect(stderr).toContain('  --set n:1:1: must be an integer or null, not "x"\n');
    expect(stderr).toContain('  --set stop:1:1: must be an array or a string, not 7\n');
  });

  it('an integer flag takes digits, judged on their text', async () => {
    expect((await run('chat', '', ['x', '--no-stdin', '--seed', '9223372036854776001'])).stderr).toMatch(
      /--seed: must be an integer from -9223372036854775808 to 9223372036854775807, not 9223372036854776001\n/,
    );
    for (const word of ['1.0', '1e3', '0x10', '+1', '01', ' 1', '']) {
      expect((await run('chat', '', ['x', '--no-stdin', '--seed', word])).code).toBe(3);
    }
    expect((await run('chat', '', ['x', '--no-stdin', '--seed', 'null'])).stderr).toContain(
      'for null write --set seed:=null',
    );
  });

  it.each([
    [[], 'SVC_PROJECT_ID, or project_id in the profile'],
    [['--local'], 'SVC_PROJECT_ID (the local service uses no profile)'],
  ])('a field that most servers require names its other sources with %j', async (args, sources) => {
    const { stderr } = await run('call start', '', ['--op-name', 'x', '--no-parent', ...args]);
    expect(stderr).toContain(`svc: warning: --project-id: is required by most servers; or set ${sources}\n`);
  });

  it('a missing field is named by its flag where there is no file', async () => {
    const { stderr } = await run('feedback replace', '', ['--feedback-type', 'x']);
    expect(stderr).toContain('  --feedback-id: is required; or give --new\n');
    expect(stderr).toContain('  --payload: is required; or give --score\n');
    expect(stderr).toContain('  --project-id: is required; or set SVC_PROJECT_ID, or project_id in the profile\n');
  });

  it('a missing field has no hint about variables and profiles with --exact, which fills in none', async () => {
    const { stderr } = await run('feedback replace', '', ['--feedback-type', 'x', '--exact']);
    expect(stderr).toContain('  --project-id: is required\n');
    const batch = await run('feedback replace', '{}', ['--batch', '-', '--dry-run', '--exact']);
    expect(batch.stderr).toContain('stdin:1:1 project_id: is required\n');
  });
});

it('--strict cannot be combined with --no-check', async () => {
  expect((await run('chat', '', ['x', '--strict', '--no-check'])).code).toBe(2);
});

it('checks come in the order command line, files, body, credentials', async () => {
  const bare = { env: { SVC_BASE_URL: 'https://svc.test' } };
  expect((await run('chat', '', ['--seed', 'x', '-f', 'absent.json', '--bad'], bare)).code).toBe(2);
  expect((await run('chat', '', ['--seed', 'x', '-f', 'absent.json'], bare)).code).toBe(12);
  expect((await run('chat', '', ['--seed', 'x', 'hi', '--no-stdin'], bare)).code).toBe(3);
  expect((await run('chat', '', ['hi', '--no-stdin'], bare)).code).toBe(4);
});

describe('integers beyond all ranges', () => {
  it('are one error, without the warning about int64', async () => {
    const { stderr } = await run('chat', chat(',"seed":9223372036854776001'));
    expect(stderr).not.toContain('warning');
    expect(stderr.match(/seed/g)).toHaveLength(1);
  });
});

describe('date-times', () => {
  const times = async (word: string): Promise<number> =>
    (await run('feedback schema', `{"project_id":"a/b","start":${JSON.stringify(word)}}`)).code;

  it.each([
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:00Z',
    '2026-01-01T00:00',
    '2026-01-01t00:00:00.5z',
    '2026-01-01T00:00:00+0100',
    '2026-01-01T00:00:00-23:59',
    '2024-02-29T00:00:00Z',
    '2000-02-29T00:00:00Z',
  ])('%s is valid', async (word) => {
    expect(await times(word)).toBe(0);
  });

  it.each([
    '2025-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00Z',
    '2026-01-01T00:00.5Z',
    '2026-01-01  00:00:00Z',
    '2026-01-01T00:00:00+1',
    '2026-01',
  ])('%s is not valid', async (word) => {
    expect(await times(word)).toBe(3);
  });
});

describe('flags that cannot be combined', () => {
  it.each([
    [['--prefill', 'x', '--add-generation-prompt'], '--prefill cannot be combined with --add-generation-prompt'],
    [
      ['--prefill', 'x', '--no-continue-final-message'],
      '--prefill cannot be combined with --no-continue-final-message',
    ],
  ])('%j', async (flags, message) => {
    const { code, stderr, sent } = await run('chat', '', ['x', '--no-stdin', ...flags]);
    expect({ code, sent }).toEqual({ code: 2, sent: [] });
    expect(stderr).toContain(message);
  });

  it('flags that agree are accepted', async () => {
    const flags = ['x', '--no-stdin', '--prefill', 'y', '--no-add-generation-prompt', '--continue-final-message'];
    expect((await run('chat', '', flags)).code).toBe(0);
  });
});

describe('--tool-choice', () => {
  it.each([
    ['lookup', '{"type":"function","function":{"name":"lookup"}}'],
    ['{"type":"function","function":{"name":"x"}}', '{"type":"function","function":{"name":"x"}}'],
  ])('%s: says how to give an object', async (value, json) => {
    const { code, stderr, sent } = await run('chat', '', ['x', '--no-stdin', '--tool-choice', value]);
    expect({ code, sent }).toEqual({ code: 3, sent: [] });
    expect(stderr).toContain(
      `--tool-choice: must be "none", "auto" or "required", not ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}; to set JSON, write --set 'tool_choice:=${json}'`,
    );
  });
});

describe('--set that cannot be parsed', () => {
  it.each([
    ['=x', '--set "=x" has no path before the ='],
    ['x', '--set "x" has no ='],
    ['a..b=1', '--set: "a..b" is not a valid path'],
  ])('%s', async (word, message) => {
    const { code, stderr } = await run('chat', '', ['x', '--no-stdin', '--set', word]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `svc: ${message}\n  write path=text or path:=json, such as payload.score:=0.9\n`,
    });
  });
});

it('offers an age where a flag takes one', async () => {
  const flags = ['--project-id', 'a/b', '--start', 'yesterday', '--set', 'end=yesterday'];
  const { code, stderr } = await svc(['feedback', 'schema', ...flags, '--local']);
  expect(code).toBe(3);
  expect(stderr).toMatch(/--start: must be a time like \S+, not "yesterday"; or give an age such as 7d$/m);
  expect(stderr).toMatch(
    /--set end: must be a time like \S+, not "yesterday"; to set JSON, write --set 'end:=<json>'$/m,
  );
});
