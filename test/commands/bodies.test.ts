import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answering } from '../support/service.ts';
import { type Result, type Setting, svc, temporaryDirectory } from '../support/svc.ts';

// What a command line would send, from --dry-run: stdout is exactly the body.
async function body(args: readonly string[], setting: Setting = {}): Promise<Result> {
  return svc([...args, '--dry-run', '-q'], setting);
}

function files(contents: { readonly [name: string]: string }): string {
  const cwd = temporaryDirectory();
  for (const [name, text] of Object.entries(contents)) writeFileSync(join(cwd, name), text);
  return cwd;
}

const x = '{"role":"user","content":"x"}';

describe('sources of a body, later ones win', () => {
  it('a file, then flags, in place or appended in field order, then --set', async () => {
    const cwd = files({ 'b.json': '{ "user":"a",\n  "seed": 1.0 , "messages":[] }\n' });
    const { stdout } = await body(
      [
        'chat',
        '-f',
        'b.json',
        '--stop',
        'e',
        '--temperature',
        '0.50',
        '--user',
        'b',
        '--set',
        'user=c',
        '--set',
        'metadata.k:=1e2',
      ],
      { cwd },
    );
    expect(stdout).toBe(
      '{ "user":"c",\n  "seed": 1.0 , "messages":[],"stop":["e"],"temperature":0.50,"metadata":{"k":1e2} }\n',
    );
  });

  it('flags alone make a compact body in the order of the fields', async () => {
    const { stdout } = await body([
      'feedback',
      'schema',
      '--sample-limit',
      '7',
      '--start',
      '2026-01-01T00:00:00',
      '--project-id',
      'a/b',
    ]);
    expect(stdout).toBe('{"project_id":"a/b","start":"2026-01-01T00:00:00","sample_limit":7}');
  });

  it('shorthands, --set and svc add fields in the order of the reference, too', async () => {
    const prompted = await body(['chat', 'hi', '--temperature', '1', '--set', 'model=m', '--set', 'other:=1']);
    expect(prompted.stdout).toBe('{"messages":[{"role":"user","content":"hi"}],"model":"m","temperature":1,"other":1}');
    const cwd = files({ 'b.json': '{"seed":1, "x" : 2}' });
    const added = await body(['chat', 'hi', '-f', 'b.json', '--temperature', '1', '-m', 'm'], { cwd });
    expect(added.stdout).toBe(
      '{"seed":1, "x" : 2,"messages":[{"role":"user","content":"hi"}],"model":"m","temperature":1}',
    );
    const streamed = await body(['chat', 'hi', '-m', 'm', '--temperature', '1', '--format', 'jsonl']);
    expect(streamed.stdout).toBe(
      '{"messages":[{"role":"user","content":"hi"}],"model":"m","stream":true,"temperature":1}',
    );
    const end = 'end=2100-01-01T00:00:00Z';
    const skeleton = await svc(['spec', 'feedback', 'schema', '--skeleton', '--sample-limit', '3', '--set', end]);
    expect(Object.keys(JSON.parse(skeleton.stdout))).toEqual(['project_id', 'start', 'end', 'sample_limit']);
    const call = await body(['call', 'start', '--set', 'trace_id=t', '--op-name', 'o'], {
      env: { SVC_PROJECT_ID: 'a/b' },
    });
    expect(Object.keys(JSON.parse(call.stdout).start)).toEqual([
      'attributes',
      'inputs',
      'op_name',
      'project_id',
      'started_at',
      'id',
      'trace_id',
    ]);
  });

  it('strings are literal; JSON may come from a file; flags of arrays are repeatable and replace', async () => {
    const cwd = files({ 'p.json': '\ufeff{ "a" : 1.0 }\n', 'b.json': '{"messages":[],"stop":["old"]}' });
    const replaced = await body(
      ['feedback', 'replace', '--creator', 'null', '--feedback-type', '@x', '--payload', '@p.json', '--no-check'],
      { cwd },
    );
    expect(replaced.stdout).toBe('{"feedback_type":"@x","payload":{ "a" : 1.0 },"creator":"null"}');
    expect((await body(['chat', '-f', 'b.json', '--stop', 'a,b', '--stop', 'c'], { cwd })).stdout).toBe(
      '{"messages":[],"stop":["a,b","c"]}',
    );
  });

  it('booleans are three-valued', async () => {
    const given = async (...flags: string[]): Promise<string> =>
      (await body(['chat', 'x', '--no-stdin', ...flags])).stdout.replace(`"messages":[${x}]`, '');
    expect(await given()).toBe('{}');
    expect(await given('--echo')).toBe('{,"echo":true}');
    expect(await given('--no-echo')).toBe('{,"echo":false}');
    expect(await given('--echo=true')).toBe('{,"echo":true}');
    expect(await given('--echo=false')).toBe('{,"echo":false}');
    expect(await given('--echo', '--no-echo')).toBe('{,"echo":false}');
    expect((await svc(['chat', 'x', '--echo=maybe'])).code).toBe(2);
  });

  it('inside start for a call, with or without saying so', async () => {
    const cwd = files({ 'c.json': '{"start":{"op_name":"a", "attributes":{}},"extra":1}' });
    const { stdout } = await body(
      [
        'call',
        'start',
        '--exact',
        '-f',
        'c.json',
        '--op-name',
        'b',
        '--set',
        'start.attributes.x:=1',
        '--set',
        'attributes.y=2',
        '--project-id',
        'a/b',
      ],
      { cwd },
    );
    expect(stdout).toBe('{"start":{"op_name":"b", "attributes":{"x":1,"y":"2"},"project_id":"a/b"},"extra":1}');
  });

  it.each([
    ['payload.score:=0.9', '{"payload":{"score":0.9}}'],
    ['payload.a\\.b=1', '{"payload":{"a.b":"1"}}'],
    ['payload.l[]=x', '{"payload":{"l":["x"]}}'],
    ['creator=a=b', '{"creator":"a=b"}'],
    ['payload.k\\=v=1', '{"payload":{"k=v":"1"}}'],
    ['creator=', '{"creator":""}'],
    ['creator:=null', '{"creator":null}'],
    ['payload:={"n":9007199254740993}', '{"payload":{"n":9007199254740993}}'],
  ])('--set %s', async (word, wanted) => {
    expect((await body(['feedback', 'replace', '--no-check', '--set', word])).stdout).toBe(wanted);
  });

  it.each([
    ['attribute.env=ci', '--set attribute.env start.attribute'],
    ['start.y.z[]=1', '--set start.y.z[] start.y'],
  ])('of a field that %s creates in a file is where a finding is', async (set, place) => {
    const cwd = files({ 'b.json': '{"start":{"project_id":"a/b","op_name":"x"}}' });
    const { stderr } = await body(['call', 'start', '-f', 'b.json', '--set', set, '--strict'], { cwd });
    expect(stderr).toContain(`  ${place}: is not a known field`);
  });

  it('of an appended element is where a finding is', async () => {
    const cwd = files({ 'b.json': `{"messages":[${x}]}` });
    const args = ['chat', '-f', 'b.json', '--set', 'messages[]:=5', '--set', 'tools[].function.name:=6'];
    const { stderr } = await body(args, { cwd });
    expect(stderr).toContain('  --set messages[]:1:1 messages[1]: must be an object');
    expect(stderr).toContain('  --set tools[].function.name:1:1 tools[0].function.name: must be a string');
  });

  it('of a message is the one in its file, whatever messages flags add', async () => {
    const cwd = files({ 'b.json': `{"messages":[${x},5]}`, 'c.json': '[7]' });
    const { stderr } = await body(['chat', 'hi', '-f', 'b.json', '--conversation', 'c.json', '-s', 'x'], { cwd });
    expect(stderr).toMatch(
      / {2}c\.json:1:2 messages\[0\]: must .*\n {2}b\.json:1:\d+ messages\[1\]: must be an object/,
    );
  });

  it.each([
    ['-f', '', '--file is empty'],
    ['--base-url', '', '--base-url is empty'],
    ['--profile', '', '--profile is empty'],
    ['--timeout', '', '--timeout is empty'],
    ['--retries', '', '--retries is empty'],
    ['--cacert', '', '--cacert is empty'],
    ['-o', '', '--output is empty'],
    ['--attach', '', '--attach is empty'],
    ['--tools', '@', '--tools @ has no file name'],
    ['--cache-salt', '@', '--cache-salt @ has no file name'],
  ])('%s %j names no file', async (flag, word, message) => {
    const { code, stderr } = await body(['chat', 'hi', '--no-stdin', flag, word]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`svc: ${message}\n`) });
  });

  it('--json-schema that is not an object is named once', async () => {
    const cwd = files({ 's.json': '[]' });
    for (const [word, message] of [
      ['[]', '--json-schema is not a JSON Schema object'],
      ['@s.json', '--json-schema: s.json is not a JSON Schema object'],
    ] as const)
      expect((await body(['chat', 'hi', '--no-stdin', '--json-schema', word], { cwd })).stderr).toBe(
        `svc: ${message}\n  write --json-schema @file\n`,
      );
  });

  it('the whole of start is start, as it is before a dot', async () => {
    const cwd = files({ 'c.json': '{"start":{"op_name":"a","inputs":{}}, "extra":1}' });
    const whole = ['call', 'start', '--exact', '--set', 'start:={"op_name":"x"}'];
    expect((await body(whole)).stdout).toBe('{"start":{"op_name":"x"}}');
    expect((await body([...whole, '-f', 'c.json', '--set', 'id=1'], { cwd })).stdout).toBe(
      '{"start":{"op_name":"x","id":"1"}, "extra":1}',
    );
    expect(await body(['call', 'start', '--set', 'start=x'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('--set start: must be an object, not "x"'),
    });
  });

  it.each([
    ['creator', 2],
    ['=x', 2],
    ['a..b=1', 2],
    ['creator:=x', 3],
    ['feedback_type.x=1', 3],
  ])('--set %s is refused', async (word, code) => {
    const cwd = files({ 'f.json': '{"feedback_type":"t"}' });
    expect((await body(['feedback', 'replace', '-f', 'f.json', '--no-check', '--set', word], { cwd })).code).toBe(code);
  });
});

describe('stdin', () => {
  it('is the body when no body flag is given', async () => {
    expect((await body(['call', 'start', '--exact'], { stdin: ' {"start":{"op_name":"x"}} ' })).stdout).toBe(
      ' {"start":{"op_name":"x"}} ',
    );
  });

  it('is not read when one is', async () => {
    for (const flags of [
      ['--op-name', 'x'],
      ['--set', 'op_name=x'],
      ['-f', 'c.json'],
    ]) {
      const cwd = files({ 'c.json': '{"start":{"op_name":"x"}}' });
      expect((await body(['call', 'start', '--exact', ...flags], { stdin: 'not read', cwd })).stdout).toBe(
        '{"start":{"op_name":"x"}}',
      );
    }
  });

  it('counts as {} when it is empty, and is checked', async () => {
    const { code, stderr } = await svc(['feedback', 'schema', '--dry-run'], { stdin: '' });
    expect(code).toBe(3);
    expect(stderr).toContain('stdin:1:1 project_id: is required');
  });

  it('can be named only once', async () => {
    expect((await body(['feedback', 'replace', '--no-check', '--payload', '@-'], { stdin: '{"a":1}' })).stdout).toBe(
      '{"payload":{"a":1}}',
    );
    const twice = await body(['chat', '-f', '-', '--tools', '@-'], { stdin: '{}' });
    expect(twice).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('stdin can be read only once, but --file - and --tools @- both name it'),
    });
    for (const args of [
      ['train', '-', '--experimental-config', '@-'],
      ['train', '-', '-'],
      ['chat', '-', '--tools', '@-'],
      ['chat', '-f', '-', '--attach', '-'],
      ['chat', 'x', '--attach', '-', '--attach', '-'],
      ['chat', '-f', '-', '--expect-schema', '@-'],
    ]) {
      expect({ args, code: (await body(args, { stdin: '{}' })).code }).toEqual({ args, code: 2 });
    }
  });

  it('at a terminal without a body: exit 2', async () => {
    for (const args of [
      ['chat'],
      ['chat', '-m', 'x', '-s', 'y'],
      ['call', 'start'],
      ['train'],
      ['chat', '--no-stdin'],
    ]) {
      const { code, stderr } = await svc([...args, '--local']);
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toContain('no body was given');
    }
  });
});

describe('the prompt of a chat', () => {
  const messages = async (args: readonly string[], setting: Setting = {}): Promise<string> =>
    (await body(['chat', ...args], setting)).stdout;

  it.each<[string, string[], string | undefined, string]>([
    ['words', ['Hello', 'there'], undefined, '{"messages":[{"role":"user","content":"Hello there"}]}'],
    ['words and piped text', ['Sum up'], 'a text\n', '{"messages":[{"role":"user","content":"Sum up\\n\\na text"}]}'],
    ['words and an empty pipe', ['x'], '', `{"messages":[${x}]}`],
    ['piped text alone', [], 'a\ntext\n\n', '{"messages":[{"role":"user","content":"a\\ntext\\n"}]}'],
    ['piped JSON is the body', [], ' {"messages":[]}', ' {"messages":[]}'],
    [
      'a model and a system message are no body',
      ['-m', 'm', '-s', 's'],
      'x',
      `{"messages":[{"role":"system","content":"s"},${x}],"model":"m"}`,
    ],
    ['--message leaves stdin alone', ['--message', 'user:x'], 'ignored', `{"messages":[${x}]}`],
    ['--messages does too', ['--messages', `[${x}]`], 'ignored', `{"messages":[${x}]}`],
    ['--no-stdin does too', ['x', '--no-stdin'], 'ignored', `{"messages":[${x}]}`],
    ['- is text from stdin, whatever it starts with', ['-'], '{x', '{"messages":[{"role":"user","content":"{x"}]}'],
    [
      'a dash among words is a dash',
      ['3', '-', '2'],
      'ctx',
      '{"messages":[{"role":"user","content":"3 - 2\\n\\nctx"}]}',
    ],
    ['so are several', ['5', '-', '3', '-'], undefined, '{"messages":[{"role":"user","content":"5 - 3 -"}]}'],
    ['a flag that reads stdin', ['x', '--logit-bias', '@-'], '{"1":2}', `{"messages":[${x}],"logit_bias":{"1":2}}`],
  ])('%s', async (_, args, stdin, wanted) => {
    expect(await messages(args, stdin === undefined ? {} : { stdin })).toBe(wanted);
  });

  it('has the position that the contract says, and a system message replaces a leading one', async () => {
    const cwd = files({
      'b.json': '{"messages":[{"role":"system","content":"old"}, {"role":"user","content":"f","n":1.0}]}',
      'c.json': '[{"role":"user","content":"c"}]',
    });
    const all = [
      '-f',
      'b.json',
      '-s',
      'sys',
      '--developer',
      'dev',
      '--message',
      'user:m1',
      '--message',
      'tool:m:2',
      'prompt',
      '--prefill',
      'pre',
    ];
    const wanted = (middle: string): string =>
      `[{"role":"system","content":"sys"},{"role":"developer","content":"dev"},${middle}{"role":"user","content":"f","n":1.0},{"role":"user","content":"m1"},{"role":"tool","content":"m:2"},{"role":"user","content":"prompt"},{"role":"assistant","content":"pre"}]`;
    const continued = ',"add_generation_prompt":false,"continue_final_message":true}';
    expect(await messages(all, { cwd })).toBe(`{"messages":${wanted('')}${continued}`);
    expect(await messages([...all, '--conversation', 'c.json'], { cwd })).toBe(
      `{"messages":${wanted('{"role":"user","content":"c"},{"role":"system","content":"old"},')}${continued}`,
    );
  });

  it('--json-schema names the schema by its title, else by its file', async () => {
    const cwd = files({ 'a b.schema.json': '{"type":"object"}', 't.json': '{ "title":"My Answer" }' });
    expect(await messages(['x', '--no-stdin', '--json-schema', '@a b.schema.json'], { cwd })).toContain(
      '"response_format":{"type":"json_schema","json_schema":{"name":"a_b","schema":{"type":"object"}}}',
    );
    expect(await messages(['x', '--no-stdin', '--json-schema', '@t.json'], { cwd })).toContain(
      '"name":"My_Answer","schema":{ "title":"My Answer" }',
    );
    expect((await body(['chat', 'x', '--json-schema', '[1]'])).code).toBe(2);
    expect((await body(['chat', 'x', '--json-schema', '{}', '--response-format', '{}'])).code).toBe(2);
  });

  it('a message that is not role:text, a body whose messages are not an array', async () => {
    expect((await body(['chat', '--message', 'hello'])).code).toBe(2);
    expect((await body(['chat', '--messages', '{}', 'x', '--no-check'])).code).toBe(3);
  });

  it('text that is not UTF-8 is refused', async () => {
    expect(await body(['chat'], { stdin: Buffer.from([0x61, 0xff]) })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('stdin is not text: invalid UTF-8 at stdin:1:2'),
    });
  });
});

describe('what svc adds, and --exact does not', () => {
  const runtime = {
    now: () => Date.UTC(2026, 0, 31, 9, 30),
    randomBytes: (count: number) => new Uint8Array(count).fill(0xab),
  };

  it('ids, time, attributes and inputs of a call', async () => {
    const given = { stdin: '{"start":{"op_name":"x"}}', runtime, env: { SVC_PROJECT_ID: 'a/b' } };
    const id = '019c1363-49c0-7bab-abab-abababababab';
    expect((await body(['call', 'start'], given)).stdout).toBe(
      `{"start":{"op_name":"x","attributes":{},"inputs":{},"project_id":"a/b","started_at":"2026-01-31T09:30:00.000Z","id":"${id}","trace_id":"${id}"}}`,
    );
    expect((await body(['call', 'start', '--exact'], given)).stdout).toBe(given.stdin);
    const parent = await svc(['call', 'start', '--dry-run', '--parent-id', '0123456789abcdef'], { runtime });
    expect(parent.stdout).not.toContain('trace_id');
    expect(parent.stderr).toContain('--parent-id: also set --trace-id; without it, the call is not part of a trace');
  });

  it('nothing if all fields are given: the bytes stay', async () => {
    const whole =
      '{"start": {"op_name":"x","attributes":{},"inputs":{},"project_id":"a/b","started_at":"2026-01-01T00:00:00Z","id":"i","trace_id":"t"}}\n';
    expect((await body(['call', 'start'], { stdin: whole, env: { SVC_PROJECT_ID: 'c/d' } })).stdout).toBe(whole);
  });

  it('add_generation_prompt: false beside a continue_final_message', async () => {
    const stdin = `{"messages":[${x}],"continue_final_message":true}`;
    expect((await body(['chat'], { stdin })).stdout).toBe(
      `{"messages":[${x}],"continue_final_message":true,"add_generation_prompt":false}`,
    );
    const exact = await svc(['chat', '--exact', '--dry-run'], { stdin });
    expect(exact).toMatchObject({
      code: 0,
      stdout: stdin,
      stderr: expect.stringContaining('needs add_generation_prompt to be false'),
    });
  });

  it('model and project of the environment, else of the profile, only if the body has none', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'));
    writeFileSync(join(cwd, 'config', 'config.json'), '{"profiles":{"default":{"model":"pm","project_id":"p/p"}}}');
    expect((await body(['chat', 'x', '--no-stdin'], { cwd })).stdout).toBe(`{"messages":[${x}],"model":"pm"}`);
    expect(
      (await body(['chat', 'x', '--no-stdin'], { cwd, env: { SVC_CONFIG_DIR: join(cwd, 'config'), SVC_MODEL: 'em' } }))
        .stdout,
    ).toContain('"model":"em"');
    expect((await body(['chat', 'x', '--no-stdin', '-m', 'fm'], { cwd })).stdout).toContain('"model":"fm"');
    expect((await body(['chat', '--messages', '[]', '--set', 'model:=null'], { cwd })).stdout).toBe(
      '{"messages":[],"model":null}',
    );
    expect((await body(['feedback', 'schema', '--since', '1d'], { cwd })).stdout).toContain('"project_id":"p/p"');
    expect((await body(['chat', 'x', '--no-stdin', '--local'], { cwd })).stdout).not.toContain('model');
  });
});

describe('other shorthands', () => {
  const runtime = { now: () => Date.UTC(2026, 0, 31, 9, 30) };

  it('--since and ages, in flags only', async () => {
    const start = async (...flags: string[]): Promise<string> =>
      (await body(['feedback', 'schema', '--project-id', 'a/b', ...flags], { runtime })).stdout;
    expect(await start('--since', '7d')).toBe('{"project_id":"a/b","start":"2026-01-24T09:30:00.000Z"}');
    expect(await start('--start', '90s', '--end', '1m')).toBe(
      '{"project_id":"a/b","start":"2026-01-31T09:28:30.000Z","end":"2026-01-31T09:29:00.000Z"}',
    );
    expect((await body(['feedback', 'schema', '--since', '7d', '--start', '1d'])).code).toBe(2);
    expect((await body(['feedback', 'schema', '--since', 'yesterday'])).code).toBe(2);
    expect((await body(['feedback', 'schema'], { stdin: '{"project_id":"a/b","start":"7d"}' })).code).toBe(3);
  });

  it('--keep-id takes the feedback id from wherever it is', async () => {
    const cwd = files({ 'f.json': '{"feedback_id":"f-1"}' });
    expect((await body(['feedback', 'replace', '-f', 'f.json', '--keep-id', '--no-check'], { cwd })).stdout).toBe(
      '{"feedback_id":"f-1","id":"f-1"}',
    );
    expect((await body(['feedback', 'replace', '--feedback-id', 'x', '--keep-id', '--id', 'y'])).code).toBe(2);
    const changed = await body(
      ['feedback', 'replace', '-f', 'f.json', '--keep-id', '--no-check', '--set', 'feedback_id=f-2'],
      { cwd },
    );
    expect(changed.stdout).toBe('{"feedback_id":"f-2","id":"f-2"}');
    const skeleton = await svc(['spec', 'feedback', 'replace', '--skeleton', '--set', 'feedback_id=f-3', '--keep-id']);
    expect(JSON.parse(skeleton.stdout)).toMatchObject({ feedback_id: 'f-3', id: 'f-3' });
  });

  it.each([
    ['feedback replace --feedback-id x --keep-id --set id=y', '--keep-id', 'id'],
    ['feedback replace --batch lines.jsonl --keep-id --set id=y', '--keep-id', 'id'],
    ['feedback schema --since 7d --set start=2026-01-01T00:00:00Z', '--since', 'start'],
    ['chat hi --no-stdin --prefill A --set continue_final_message:=false', '--prefill', 'continue_final_message'],
    ['chat hi --no-stdin --json-schema {} --set response_format:={}', '--json-schema', 'response_format'],
  ])('svc %s names one field twice', async (line, flag, field) => {
    const { code, stderr } = await body(line.split(' '), { cwd: files({ 'lines.jsonl': '{}\n' }) });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(`${flag} and --set ${field} set the same field`),
    });
  });

  it('--set changes a part of the field of a shorthand', async () => {
    const args = [
      'chat',
      'hi',
      '--no-stdin',
      '--json-schema',
      '{}',
      '--set',
      'response_format.json_schema.strict:=true',
    ];
    expect((await body(args)).stdout).toContain('"schema":{},"strict":true');
  });

  it('--cache-salt is random, a file or stdin, never the text itself, and never shown', async () => {
    const cwd = files({ salt: 'salt-from-file\n', 'b.json': '{"messages":[],"cache_salt":"salt-in-body"}' });
    for (const args of [
      ['x', '--no-stdin', '--cache-salt', '@salt'],
      ['x', '--cache-salt', 'random', '--no-stdin'],
      ['-f', 'b.json'],
    ]) {
      for (const show of ['--dry-run', '--curl']) {
        const { stdout, stderr, code } = await svc(['chat', ...args, show, '-v'], { cwd });
        expect(code).toBe(0);
        expect(stdout).toContain(
          show === '--curl' ? `"cache_salt":"'"$SVC_CACHE_SALT"'"` : '"cache_salt":"[redacted]"',
        );
        expect(stdout + stderr).not.toMatch(/salt-from-file|salt-in-body|q6ur/);
      }
    }
    const typed = await svc(['chat', 'x', '--cache-salt', 'my-secret-salt']);
    expect(typed.code).toBe(2);
    expect(typed.stderr).not.toContain('my-secret-salt');
    expect(await svc(['chat', 'x', '--set', 'cache_salt=my-secret-salt'])).toMatchObject({
      code: 2,
      stderr: expect.not.stringContaining('my-secret-salt'),
    });
  });

  it('a cache_salt that is given several times is redacted in each place, and no other byte changes', async () => {
    const body = (salt: string): string =>
      `{"cache_salt":${salt} , "messages":[],"cache_salt" : ${salt},"cache_\\u0073alt":${salt}, "cache_salt":null}`;
    const shown = async (flag: string) => (await svc(['chat', flag], { stdin: body('"hidden"') })).stdout;
    expect(await shown('--dry-run')).toBe(body('"[redacted]"'));
    expect(await shown('--curl')).toContain(`'${body(`"'"$SVC_CACHE_SALT"'"`)}'`);
  });

  it('train takes files of groups, as an array or one after the other', async () => {
    const group = '{"trajectories":[{"reward":1.0}]}';
    const cwd = files({
      'a.json': `[${group}, ${group}]`,
      'b.jsonl': `${group}\n\n${group}\n`,
      'l.json': `[5, ${group}, {"trajectories":[6]}]`,
      't.jsonl': '{"reward":1}\n',
      'w.json': '{"model_id":"x","trajectory_groups":[]}',
    });
    const id = '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05';
    const { stdout } = await body(['train', 'a.json', 'b.jsonl', '--model-id', id], { cwd });
    expect(stdout).toBe(`{"model_id":"${id}","trajectory_groups":[${[group, group, group, group].join(',')}]}`);
    const bad = await svc(['train', 'a.json', 'l.json', 't.jsonl', 'w.json', '--model-id', id, '--dry-run'], { cwd });
    expect(bad.code).toBe(3);
    expect(bad.stderr).toContain('l.json:1:2 trajectory_groups[2]: must be a group: an object with trajectories');
    expect(bad.stderr).toContain('l.json:1:57 trajectory_groups[4].trajectories[0]: must be an object, not 6');
    expect(bad.stderr).toContain('t.jsonl:1:1: must be a group: an object with trajectories');
    expect(bad.stderr).toContain('w.json:1:1: is a whole body, not a group; give the file with -f');
    expect((await body(['train', 'a.json', '--trajectory-groups', '@b.jsonl', '--model-id', id], { cwd })).code).toBe(
      2,
    );
  });
});

describe('files with more groups than a call takes arguments', () => {
  // A call with 126,000 arguments exceeds the stack.
  const count = 130_000;
  const id = '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05';

  it('become one array', async () => {
    const group = '{"trajectories":[]}';
    const cwd = files({ 'g.jsonl': `${group}\n`.repeat(count), 'one.json': group });
    const { code, bytes } = await body(['train', 'g.jsonl', 'one.json', '--model-id', id], { cwd });
    const wanted = `{"model_id":"${id}","trajectory_groups":[${`${group},`.repeat(count)}${group}]}`;
    expect({ code, same: bytes.equals(Buffer.from(wanted)) }).toEqual({ code: 0, same: true });
  });

  it('are rejected once, with their lines', async () => {
    const cwd = files({ 't.jsonl': '{"reward":1}\n'.repeat(count) });
    const { code, stderr } = await body(['train', 't.jsonl', '--model-id', id], { cwd });
    expect(code).toBe(3);
    expect(stderr.split('\n')).toHaveLength(4);
    expect(stderr).toContain(
      't.jsonl:1:1: must be a group: an object with trajectories (and 129999 more like this: lines 1-130000)\n',
    );
    writeFileSync(join(cwd, 'few.jsonl'), '{"reward":1}\n'.repeat(3));
    const json = await body(['train', 'few.jsonl', '--model-id', id, '--error-format', 'json'], { cwd });
    expect(JSON.parse(json.stderr).error.issues).toHaveLength(1);
  });
});

describe('a conversation', () => {
  it('is only written after a complete response, continues with one response, and is locked', async () => {
    const cwd = files({ 'talk.json': '[{"role":"user","content":"one"},{"role":"assistant","content":"two"}]' });
    const before = readFileSync(join(cwd, 'talk.json'), 'utf8');
    const env = { SVC_BASE_URL: 'https://svc.test', SVC_TOKEN: 'tok-en-1', SVC_CONFIG_DIR: cwd };
    const cut = async () => Promise.reject(new Error('cut'));
    expect((await svc(['chat', 'x', '--no-stdin', '--conversation', 'talk.json'], { cwd, env, send: cut })).code).toBe(
      7,
    );
    expect(
      (await svc(['chat', 'x', '--no-stdin', '--conversation', 'talk.json', '--n', '2'], { cwd, env, send: cut })).code,
    ).toBe(2);
    expect(readFileSync(join(cwd, 'talk.json'), 'utf8')).toBe(before);
    writeFileSync(join(cwd, 'talk.json.lock'), `${process.pid} ${hostname()} 0a`);
    expect(await svc(['chat', 'x', '--no-stdin', '--conversation', 'talk.json', '--local'], { cwd })).toMatchObject({
      code: 12,
      stderr: expect.stringContaining(`in use by process ${process.pid}`),
    });
    writeFileSync(join(cwd, 'talk.json.lock'), `999999999 ${hostname()} 0b`);
    expect((await svc(['chat', 'x', '--no-stdin', '--conversation', 'talk.json', '--local'], { cwd })).code).toBe(0);
    expect(JSON.parse(readFileSync(join(cwd, 'talk.json'), 'utf8'))).toHaveLength(4);
    writeFileSync(join(cwd, 'talk.json'), '{}');
    expect(await svc(['chat', 'x', '--no-stdin', '--conversation', 'talk.json', '--local'], { cwd })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('talk.json:1:1'),
    });
  });

  it.each(['', '\n', '\ufeff', '\ufeff \r\n'])('begins in an empty file: %j', async (text) => {
    const cwd = files({ 'talk.json': text });
    expect(await svc(['chat', 'x', '--no-stdin', '--conversation', 'talk.json', '--local'], { cwd })).toMatchObject({
      code: 0,
    });
    expect(JSON.parse(readFileSync(join(cwd, 'talk.json'), 'utf8'))).toHaveLength(2);
  });

  it.each([
    ['-', 'stdin'],
    ['/dev/stdin', '/dev/stdin'],
    ['/dev/fd/0', '/dev/fd/0'],
  ])('cannot be stdin: %s', async (path, name) => {
    const cwd = files({ '-': '[]' });
    expect(await svc(['chat', 'x', '--conversation', path, '--local'], { cwd, stdin: '[]' })).toMatchObject({
      code: 2,
      stderr: `svc: --conversation needs a file, not ${name}\n  name a file, such as talk.json\n`,
    });
  });

  it('needs a directory that exists', async () => {
    expect(await svc(['chat', 'x', '--no-stdin', '--conversation', 'missing/talk.json', '--local'])).toMatchObject({
      code: 12,
      stderr: expect.stringContaining('cannot write missing/talk.json: the directory missing does not exist\n'),
    });
  });

  it.each([
    [
      ['-s', 's'],
      ['s', 'one', 'two'],
    ],
    [
      ['--developer', 'd'],
      ['d', 'one', 'two'],
    ],
    [
      ['-s', 's', '--developer', 'd'],
      ['s', 'd', 'one', 'two'],
    ],
    [[], ['one', 'two']],
  ])('with %j in every turn says it once', async (flags, wanted) => {
    const cwd = temporaryDirectory();
    for (const word of ['one', 'two']) {
      await svc(['chat', word, '--no-stdin', ...flags, '--conversation', 'talk.json', '--local'], { cwd });
    }
    const messages: { role: string; content: string }[] = JSON.parse(readFileSync(join(cwd, 'talk.json'), 'utf8'));
    expect(messages.filter(({ role }) => role !== 'assistant').map(({ content }) => content)).toEqual(wanted);
  });

  it('replaces leading messages that are given again, and nothing else', async () => {
    const turn = (...roles: string[]): string => JSON.stringify(roles.map((role) => ({ role, content: 'old' })));
    const rolesAfter = async (talk: string, ...flags: string[]): Promise<string> => {
      const cwd = files({ 'talk.json': talk });
      const { stdout } = await body(['chat', 'x', '--no-stdin', '--conversation', 'talk.json', ...flags], { cwd });
      const messages: { role: string; content: string }[] = JSON.parse(stdout).messages;
      return messages.map(({ role, content }) => `${role} ${content}`).join(', ');
    };
    expect(await rolesAfter(turn('developer', 'system', 'user'), '-s', 's')).toBe(
      'system s, developer old, user old, user x',
    );
    expect(await rolesAfter(turn('system', 'system', 'user', 'developer'), '-s', 's', '--developer', 'd')).toBe(
      'system s, developer d, system old, user old, developer old, user x',
    );
  });

  it.each([
    '{"choices":[]}',
    '{"choices":[{"index":0}]}',
    '{"choices":[{"message":null}]}',
    '{"choices":[{"message":"x"}]}',
  ])('is not written after a reply without a message: %s', async (reply) => {
    const cwd = files({ 'talk.json': '[]' });
    const env = { SVC_BASE_URL: 'https://svc.test', SVC_TOKEN: 'tok-en-1' };
    const { send } = answering(reply);
    await svc(['chat', 'x', '--no-stdin', '--conversation', 'talk.json'], { cwd, env, send });
    expect(readFileSync(join(cwd, 'talk.json'), 'utf8')).toBe('[]');
  });

  it.each([
    [
      '[{"type":"text","text":"A"},{"type":"image","n":1.0}]',
      '',
      '[{"type":"text","text":"A"},{"type":"image","n":1.0}]',
    ],
    ['null', ',"function_call":{"name":"f", "n":1.0}', '"","function_call":{"name":"f", "n":1.0}'],
    ['null', ',"refusal":"no","tool_calls":null', '"","refusal":"no"'],
    ['null', ',"audio":{"transcript":"hello"}', '"hello"'],
  ])('keeps content %s%s', async (content, more, saved) => {
    const cwd = temporaryDirectory();
    const env = { SVC_BASE_URL: 'https://svc.test', SVC_TOKEN: 'tok-en-1', SVC_HISTORY: 'bodies' };
    const { send } = answering(`{"choices":[{"index":0,"message":{"content":${content}${more}}}]}`);
    await svc(['chat', 'x', '--no-stdin', '--conversation', 'talk.json'], { cwd, env, send });
    expect(readFileSync(join(cwd, 'talk.json'), 'utf8')).toBe(
      `[\n  ${x},\n  {"role":"assistant","content":${saved}}\n]\n`,
    );
    const { stdout } = await body(['chat', '--continue', 'y', '--no-stdin'], { cwd, env });
    expect(stdout).toContain(`{"role":"assistant","content":${saved}},`);
  });

  it('keeps the choice that the text begins with', async () => {
    const cwd = temporaryDirectory();
    const env = { SVC_BASE_URL: 'https://svc.test', SVC_TOKEN: 'tok-en-1' };
    const choices = [1, 0].map((index) => `{"index":${index},"message":{"content":"choice ${index}"}}`);
    const { send } = answering(`{"choices":[${choices}]}`);
    await svc(['chat', 'x', '--no-stdin', '--conversation', 'talk.json'], { cwd, env, send });
    expect(JSON.parse(readFileSync(join(cwd, 'talk.json'), 'utf8'))[1].content).toBe('choice 0');
  });

  it('continues a message of parts', async () => {
    const prefix = '{"role":"assistant","content":[{"type":"text","text":"It "}]}';
    const cwd = files({ 'b.json': `{"messages":[${x},${prefix}],"continue_final_message":true}` });
    const env = { SVC_BASE_URL: 'https://svc.test', SVC_TOKEN: 'tok-en-1' };
    const { send } = answering('{"choices":[{"message":{"content":"is"}}]}');
    await svc(['chat', '-f', 'b.json', '--conversation', 'talk.json'], { cwd, env, send });
    expect(JSON.parse(readFileSync(join(cwd, 'talk.json'), 'utf8'))).toEqual([
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'It ' },
          { type: 'text', text: 'is' },
        ],
      },
    ]);
  });

  it('merges a prefill and its continuation into one message', async () => {
    const cwd = temporaryDirectory();
    await svc(['chat', 'x', '--no-stdin', '--prefill', 'It is', '--conversation', 'talk.json', '--local'], { cwd });
    const [, reply] = JSON.parse(readFileSync(join(cwd, 'talk.json'), 'utf8'));
    expect(reply).toMatchObject({ role: 'assistant', content: expect.stringMatching(/^It is \(continued by /) });
  });
});
