import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chatOperation } from '../../src/operations/chat.ts';
import { foreignChatFields, foreignContentParts } from '../../src/operations/foreign-chat-fields.ts';
import { runBuilt } from '../support/built.ts';
import { inShell } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const messages = [{ role: 'user', content: 'hi' }];

/** What svc prints about a chat body, and the body that it would send. */
async function check(body: object): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return runBuilt(['chat', '-f', '-', '--local', '--dry-run'], { stdin: JSON.stringify(body) });
}

describe('a field of another API', () => {
  it.each(Object.entries(foreignChatFields))('%s is sent, and the warning says: %s', async (name, meant) => {
    const body = { messages, [name]: 'x' };
    const { code, stdout, stderr } = await check(body);
    expect({ code, stdout }).toEqual({ code: 0, stdout: JSON.stringify(body) });
    expect(stderr.split('\n').filter((line) => line.includes('warning'))).toEqual([
      expect.stringMatching(new RegExp(`warning: stdin:1:\\d+ ${name}: is not a known field; `)),
    ]);
    expect(stderr).toContain(`; ${meant}\n`);
    const [, field = ''] = /^write (?!a\b|its\b|the\b|content\b)(\w+)/.exec(meant) ?? [];
    expect(field === '' || Object.hasOwn(chatOperation.body, field), meant).toBe(true);
  });

  it('is no field of this service, nor one that servers of it accept', () => {
    const known = { ...chatOperation.body, ...chatOperation.accepted };
    expect(Object.keys(foreignChatFields).filter((name) => Object.hasOwn(known, name))).toEqual([]);
  });
});

const hasJq = spawnSync('jq', ['--version']).status === 0;

describe.skipIf(!hasJq)('a prompt in the field of another API', () => {
  const turns = ['user', 'model'].map((role) => ({ role, parts: [{ text: `${role} ` }, { text: 'text' }] }));
  const own = [
    { role: 'user', content: 'user text' },
    { role: 'assistant', content: 'model text' },
  ];
  it.each([
    ['the Responses API', { input: 'hi' }, messages],
    [
      'messages of the Responses API',
      { input: messages, instructions: 'be' },
      [{ role: 'system', content: 'be' }, ...messages],
    ],
    ['Gemini', { contents: turns }, own],
    ['Ollama', { system: 'be', prompt: 'hi' }, [{ role: 'system', content: 'be' }, ...messages]],
    ['Bedrock', { inputText: 'hi' }, messages],
    ['Hugging Face', { inputs: 'hi' }, messages],
    ['Cohere', { preamble: 'be', message: 'hi' }, [{ role: 'system', content: 'be' }, ...messages]],
  ])('%s: the printed command sends it', async (_, body, expected) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'my body.json'), JSON.stringify({ model: 'm', ...body }));
    const { code, stderr } = await runBuilt(['chat', '-f', 'my body.json', '--local'], { cwd });
    expect([code, stderr.includes('messages: is required')]).toEqual([3, true]);
    const [, command = ''] = /^ {2}run: (jq .*)$/m.exec(stderr) ?? [];
    const sent = await inShell(`${command} --local --dry-run`, { cwd });
    expect(JSON.parse(sent.stdout), stderr).toEqual({ model: 'm', messages: expected });
  });
});

describe('the lines of a batch of another service', () => {
  const parts = [{ text: 'hi' }];
  it.each([
    ['Anthropic', { custom_id: 'r1', params: { max_tokens: 1, messages } }, { max_tokens: 1, messages }],
    ['Bedrock', { recordId: 'r1', modelInput: { messages } }, { messages }],
    ['Bedrock', { recordId: 'r1', modelInput: { inputText: 'hi' } }, { messages }],
    [
      'Gemini',
      { key: 'r1', request: { contents: [{ parts }], generationConfig: {} } },
      { generationConfig: {}, messages },
    ],
  ])('%s: the printed command makes lines of this service from %j', async (service, line, body) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'my batch.jsonl'), JSON.stringify(line));
    const args = ['chat', '--local', '--dry-run', '-o', 'out.jsonl', '--batch'];
    const { code, stderr } = await runBuilt([...args, 'my batch.jsonl'], { cwd });
    expect([code, stderr]).toEqual([3, expect.stringContaining(`is a request of ${service}'s batches`)]);
    expect(stderr).not.toContain('{{');
    const [, command = ''] = /^ {2}write lines for --batch: (jq .*)$/m.exec(stderr) ?? [];
    await inShell(command, { cwd });
    expect(JSON.parse(readFileSync(join(cwd, 'lines.jsonl'), 'utf8'))).toEqual({ custom_id: 'r1', body });
    expect((await runBuilt([...args, 'lines.jsonl'], { cwd })).code).toBe(0);
  });

  it.each([
    ['x.jsonl', '{"id":"1","question":"a","answer":"b"}', '"{{question}}"'],
    ['x.jsonl', '{"id":"1","review":"a"}', '"{{review}}"'],
    ['x.jsonl', '{"id":"1","review":"a","label":"b"}', '"{{column}}"'],
    ['x.csv', 'question,record_id\na,1\n', '"{{question}}"'],
    ['x.csv', 'review,recordId\na,1\n', '"{{review}}"'],
    ['x.csv', 'id,a,b\n1,2,3\n', '"{{column}}"'],
  ])('rows in %s: of %s, the suggested prompt is %s', async (name, text, prompt) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, name), text);
    const { stderr } = await runBuilt(['chat', '--local', '--batch', name, '-o', 'out.jsonl'], { cwd });
    expect(stderr).toContain(`write: svc chat --local --rows ${name} ${prompt} -o <new file>\n`);
  });
});

it.each([
  ['chat', '--batch', 'p.jsonl', '-o', 'out.jsonl'],
  ['chat', '--rows', 'p.jsonl', '{{x}}', '-o', 'out.jsonl'],
  ['chat', '--rows', 'p.csv', '{{x}}', '-o', 'out.jsonl'],
  ['chat', '-f', 'p.jsonl'],
  ['chat', '--attach', 'p.png', 'hi'],
  ['train', 'p.jsonl'],
  ['train', 'lint', 'p.jsonl'],
  ['call', 'import', 'p.jsonl', '--dry-run'],
])('svc %s %s %s: a Git LFS pointer is named', async (...args) => {
  const cwd = temporaryDirectory();
  for (const name of ['p.jsonl', 'p.csv', 'p.png'])
    writeFileSync(
      join(cwd, name),
      `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 9\n`,
    );
  const { code, stderr } = await runBuilt(args, { cwd, env: { SVC_BASE_URL: 'http://127.0.0.1:9' } });
  expect([code === 2 || code === 3, stderr]).toEqual([true, expect.stringMatching(/a Git LFS pointer.*git lfs pull/s)]);
});

describe('messages and tools of another API', () => {
  it.each(Object.entries(foreignContentParts))('a part of the type %s', async (type, meant) => {
    const part = { type, source: { type: 'base64' } };
    const { code, stderr } = await check({ messages: [{ role: 'user', content: [part, part] }] });
    expect([code, stderr.match(/warning/g)]).toEqual([0, ['warning']]);
    expect(stderr).toContain(`messages[0].content[0]: is a part of another API; ${meant}\n`);
  });

  it.each([
    [{ content: [{ text: 'hi' }] }, 'content[0]', 'write {"type":"text","text":"<text>"}'],
    [{ content: [{ type: 'image_url', image_url: 'https://x/y' }] }, 'content[0]', '"image_url":{"url":"<URL>"}}'],
    [{ content: { text: 'hi' } }, 'content', 'is an object; write its text'],
    [{ content: 'hi', images: ['AA=='] }, 'images', 'write content parts of the type image_url'],
  ])('the message %j', async (message, path, meant) => {
    const { code, stderr } = await check({ messages: [{ role: 'user', ...message }] });
    expect([code, stderr.match(/warning/g)], stderr).toEqual([0, ['warning']]);
    expect(stderr).toMatch(`messages[0].${path}: `);
    expect(stderr).toContain(meant);
  });

  it.each(['parts', 'text', 'value'])('%s in place of content', async (name) => {
    const { code, stderr } = await check({ messages: [{ role: 'user', [name]: 'hi' }] });
    expect([code, stderr.includes(`messages[0].${name}: is of another API; write content\n`)]).toEqual([0, true]);
  });

  it.each([
    { name: 'f', input_schema: {} },
    { type: 'function', name: 'f', parameters: {} },
    { toolSpec: { name: 'f' } },
    { functionDeclarations: [] },
  ])('the tool %j', async (tool) => {
    const { code, stderr } = await check({ messages, tools: [tool] });
    const name = 'name' in tool ? 'f' : '<name>';
    expect([code, stderr.includes(`write {"type":"function","function":{"name":"${name}",`)]).toEqual([0, true]);
  });

  it('but none of this service draws such a warning', async () => {
    const parts = [
      { type: 'text', text: 'hi' },
      { type: 'image_url', image_url: { url: 'data:,' } },
    ];
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
    const history = [
      { role: 'user', content: parts },
      { role: 'assistant', tool_calls: [] },
    ];
    expect((await check({ messages: history, tools })).stderr).not.toContain('warning');
  });
});

describe('a JSON Schema with a mistake', () => {
  const schemas: readonly (readonly [mistake: object, path: string, hint: string])[] = [
    [{ type: 'sting' }, 'type', 'not "sting"; did you mean "string"?'],
    [{ type: ['int', 'null'] }, 'type[0]', 'not "int"; did you mean "integer"?'],
    [{ requird: ['a'] }, 'requird', 'did you mean required?'],
    [{ required: true }, 'required', 'must be an array of names'],
    [{ properties: { type: { type: 'Str' } } }, 'properties.type.type', 'did you mean "string"?'],
    [{ anyOf: [{ minLenght: 1 }] }, 'anyOf[0].minLenght', 'did you mean minLength?'],
    [{ items: { $defs: { a: { type: 'bool' } } } }, 'items.$defs.a.type', 'did you mean "boolean"?'],
  ];

  it.each(schemas)('%j is sent, with a warning that has its place', async (schema, path, hint) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 's.json'), JSON.stringify(schema, undefined, 2));
    const chat = ['chat', 'hi', '--local', '--dry-run', '--no-stdin'];
    const { code, stderr } = await runBuilt([...chat, '--json-schema', '@s.json'], { cwd });
    expect([code, stderr.match(/warning/g)], stderr).toEqual([0, ['warning']]);
    const [, line, printed, message] = /^svc: warning: s\.json:(\d+):\d+ (\S+): (.*)$/m.exec(stderr) ?? [];
    expect([printed, message?.includes(hint)], stderr).toEqual([`response_format.json_schema.schema.${path}`, true]);
    expect(Number(line)).toBeGreaterThan(1);
    const tools = [{ type: 'function', function: { name: 'f', parameters: schema } }];
    expect((await check({ messages, tools })).stderr).toContain(`tools[0].function.parameters.${path}: `);
  });

  it.each([
    { type: 'object', properties: { requird: { type: 'string' }, type: { enum: ['x'] } }, required: ['requird'] },
    { $ref: '#/$defs/a', $defs: { a: { const: { type: 'x' } } }, examples: [{ type: 'x' }], 'x-order': 1 },
    { type: ['string', 'null'], nullable: true, example: 'a', discriminator: {}, propertyOrdering: ['a'] },
  ])('%j has none', async (schema) => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: schema } }];
    expect((await check({ messages, tools })).stderr).not.toContain('warning');
  });
});
