import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { done, event, streamHead } from '../support/event-stream.ts';
import { start, waitForExit } from '../support/process.ts';
import { bodyOf, httpAnswer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

type Message = {
  readonly id?: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: Record<string, unknown>;
};

/** Sends messages to `svc mcp`, closes its stdin, and returns the lines of its stdout. */
async function exchange(messages: readonly unknown[], flags: readonly string[] = ['--local']): Promise<string[]> {
  const stdin = messages.map((message) => (typeof message === 'string' ? message : JSON.stringify(message))).join('\n');
  const { stdout, code } = await runBuilt(['mcp', ...flags], { stdin: `${stdin}\n` });
  expect(code).toBe(0);
  return stdout.trimEnd().split('\n').filter(Boolean);
}

async function ask(message: unknown, flags?: readonly string[]): Promise<Message> {
  const [line = ''] = await exchange([message], flags);
  return JSON.parse(line);
}

const request = (method: string, params: unknown = {}, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params });
const call = (name: string, args: unknown, id = 1) => request('tools/call', { name, arguments: args }, id);
const stateless = {
  _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} },
};
const chat = { messages: [{ role: 'user', content: 'hi' }] };

describe('the handshake', () => {
  it.each([
    ['2024-11-05', '2024-11-05'],
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['1999-01-01', '2025-11-25'],
  ])('asked for %s agrees on %s', async (protocolVersion, agreed) => {
    const { result } = await ask(request('initialize', { protocolVersion }));
    expect(result).toMatchObject({ protocolVersion: agreed, capabilities: { tools: {} }, serverInfo: { name: 'svc' } });
  });

  it('is not needed by a client that names its version in each request', async () => {
    const { result } = await ask(request('server/discover', stateless));
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: expect.arrayContaining(['2026-07-28']),
      cacheScope: 'private',
    });
    const list = await ask(request('tools/list', stateless));
    expect(list.result).toMatchObject({ resultType: 'complete', ttlMs: expect.any(Number), cacheScope: 'private' });
  });

  it('rejects a version that does not exist, and names those that do', async () => {
    const { error } = await ask(
      request('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2030-01-01' } }),
    );
    expect(error).toMatchObject({ code: -32022, data: { supported: ['2026-07-28'], requested: '2030-01-01' } });
  });
});

// Without the keywords that accept and reject nothing, and without those that no tool has.
function rulesOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(rulesOf);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(
    ([key, value]) =>
      !((key === 'description' && typeof value === 'string') || key === 'default') &&
      !(key === 'additionalProperties' && value === true) &&
      !(key === 'allOf' || (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)),
  );
  return Object.fromEntries(entries.map(([key, value]) => [key, rulesOf(value)]));
}

describe('--print', () => {
  const command = { command: 'svc', args: ['mcp', '--allow', 'train', '--profile', 'work', '--local'] };
  it.each([
    ['claude', '.mcp.json', { mcpServers: { svc: { type: 'stdio', ...command } } }],
    ['cursor', '.cursor/mcp.json', { mcpServers: { svc: command } }],
    ['vscode', '.vscode/mcp.json', { servers: { svc: { type: 'stdio', ...command } } }],
  ])('%s prints the registration for %s', async (client, file, registration) => {
    const cwd = temporaryDirectory();
    const flags = ['--local', '--profile', 'work', '--allow', 'train'];
    const { code, stdout, stderr } = await runBuilt(['mcp', '--print', client, ...flags], { cwd });
    expect([code, JSON.parse(stdout)]).toEqual([0, registration]);
    expect(stderr).toContain(`add this to ${file} in the project; svc did not change any file`);
    // Node 22 and later keep compiled code there (docs/configuration.md).
    expect(readdirSync(cwd).filter((name) => name !== '.cache')).toEqual([]);
  });

  it('codex prints TOML', async () => {
    const { stdout } = await runBuilt(['mcp', '--print', 'codex', '--allow', 'train']);
    expect(stdout).toBe('[mcp_servers.svc]\ncommand = "svc"\nargs = ["mcp", "--allow", "train"]\n');
  });
});

describe('tools', () => {
  const names = async (flags: readonly string[]): Promise<string[]> => {
    const { result } = await ask(request('tools/list'), flags);
    return ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
  };

  it('that write are listed only if they are allowed, in a fixed order', async () => {
    expect(await names(['--local'])).toEqual(['feedback_schema', 'chat']);
    expect(await names(['--local', '--allow', 'train,call_start', '--allow', 'feedback_replace'])).toEqual([
      'feedback_schema',
      'chat',
      'call_start',
      'feedback_replace',
      'train',
    ]);
  });

  it.each([
    [{}, ['project_id', 'start']],
    [{ SVC_PROJECT_ID: 'a/b' }, ['start']],
  ])('with %j require what svc does not fill in', async (env, required) => {
    const { stdout } = await runBuilt(['mcp', '--local'], { env, stdin: `${JSON.stringify(request('tools/list'))}\n` });
    expect(JSON.parse(stdout).result.tools[0]).toMatchObject({ name: 'feedback_schema', inputSchema: { required } });
  });

  // One tool that an API refuses makes it refuse every request of the session (docs/internals/servers.md).
  it('have only what the APIs of agents accept', async () => {
    const { result } = await ask(request('tools/list'), ['--local', '--allow', 'call_start,feedback_replace,train']);
    const tools = result?.tools as { name: string; inputSchema: object; outputSchema: object }[];
    expect(tools).toHaveLength(5);
    const numbersIn = (value: unknown): number[] =>
      typeof value === 'number'
        ? [value]
        : typeof value === 'object' && value !== null
          ? Object.values(value).flatMap(numbersIn)
          : [];
    const topLevel = ['type', 'properties', 'required', 'description', 'additionalProperties'];
    for (const { name, inputSchema, outputSchema } of tools) {
      expect(name).toMatch(/^[a-zA-Z0-9_.-]{1,64}$/);
      expect([inputSchema, outputSchema]).toMatchObject([{ type: 'object' }, { type: 'object' }]);
      for (const schema of [inputSchema, outputSchema]) {
        expect(topLevel).toEqual(expect.arrayContaining(Object.keys(schema)));
        expect(numbersIn(schema).filter((one) => Math.abs(one) > Number.MAX_SAFE_INTEGER)).toEqual([]);
        expect(JSON.stringify(schema)).not.toMatch(/"(allOf|oneOf|not)":/);
      }
    }
    expect(tools.find(({ name }) => name === 'chat')?.inputSchema).toMatchObject({
      properties: {
        seed: { description: expect.stringMatching(/at least -9223372036854776000; at most 9223372036854776000$/) },
        continue_final_message: { description: expect.stringContaining('not with add_generation_prompt') },
      },
    });
  });

  it('are checked by rules that their schemas leave out', async () => {
    const both = { continue_final_message: true, add_generation_prompt: true };
    for (const more of [both, { seed: 1e30 }]) {
      const { result } = await ask(call('chat', { ...chat, ...more }));
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('"code":"body"') }] });
    }
    const { stdout } = await runBuilt(['spec', 'chat']);
    expect(stdout).toContain('"allOf": [');
    expect(stdout).toContain('"minimum": -9223372036854776000');
  });

  it('that are not allowed cannot be called', async () => {
    const { error } = await ask(call('call_start', { start: {} }));
    expect(error).toMatchObject({
      code: -32602,
      message: 'the tool call_start is not allowed; start the server with svc mcp --allow call_start',
    });
    const unknown = await ask(call('call_stop', {}));
    expect(unknown.error).toMatchObject({ code: -32602, message: 'unknown tool "call_stop"' });
  });

  it('of an unknown name are rejected before anything is served', async () => {
    const { code, stderr } = await runBuilt(['mcp', '--local', '--allow', 'all']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('choose from: feedback_schema, chat, call_start, feedback_replace, train'),
    ]);
  });

  it('return the response as text and as structured content', async () => {
    const { result } = await ask(call('chat', chat));
    const [{ text } = { text: '' }] = (result?.content ?? []) as { text: string }[];
    expect(JSON.parse(text)).toEqual(result?.structuredContent);
    expect(result?.structuredContent).toMatchObject({ object: 'chat.completion' });
  });

  it('say that a chat is not read-only, because it costs money', async () => {
    const { result } = await ask(request('tools/list'));
    const tools = (result?.tools ?? []) as { annotations: { readOnlyHint: boolean; destructiveHint: boolean } }[];
    expect(tools.map(({ annotations }) => annotations.readOnlyHint)).toEqual([true, false]);
    expect(tools.map(({ annotations }) => annotations.destructiveHint)).toEqual([false, false]);
  });

  it('have at most 8 kB each, and every field, type, range and enum of svc spec', async () => {
    const names = ['call_start', 'feedback_replace', 'train'];
    const { result } = await ask(request('tools/list'), ['--local', '--allow', names.join(',')]);
    const tools = (result?.tools ?? []) as { name: string; inputSchema: object }[];
    expect(tools).toHaveLength(5);
    for (const tool of tools) {
      expect([tool.name, JSON.stringify(tool).length]).toEqual([tool.name, expect.toSatisfy((chars) => chars <= 8000)]);
      const { stdout } = await runBuilt(['spec', ...tool.name.split('_')]);
      const { $schema, $id, title, description, ...schema } = JSON.parse(stdout);
      expect(rulesOf(tool.inputSchema)).toEqual(rulesOf(schema));
    }
  });

  it.each([
    ['with null in the place of fields', 'null'],
    ['with other types', '["a"]'],
  ])('describe results %s so that clients accept them', async (_, value) => {
    const names = ['feedback_schema', 'chat', 'call_start', 'feedback_replace', 'train'];
    const { result } = await ask(request('tools/list'), ['--local', '--allow', names.join(',')]);
    const tools = (result?.tools ?? []) as { name: string; outputSchema: object }[];
    const allNames = new Set([...JSON.stringify(tools).matchAll(/"([a-z_]+)":\{/g)].map(([, name]) => name));
    const others = [...allNames].map((name) => `"${name}":${value}`).join();
    expect(allNames.size).toBeGreaterThan(50);
    const results: Record<string, string> = {
      feedback_schema: `{${others},"paths":[{${others}}]}`,
      chat: `{${others},"choices":[{${others},"message":{${others}},"logprobs":{${others}}}]}`,
    };
    for (const { name, outputSchema } of tools) {
      const validate = new Ajv2020({ strict: false }).compile(outputSchema);
      const valid = JSON.parse(results[name] ?? `{${others},"id":"x"}`);
      expect([name, validate(valid), validate.errors]).toEqual([name, true, null]);
      expect([name, validate({})]).toEqual([name, false]);
    }
  });

  it('join a stream into one response', async () => {
    const { result } = await ask(call('chat', { ...chat, stream: true }));
    expect(result?.structuredContent).toMatchObject({
      object: 'chat.completion',
      choices: [{ finish_reason: 'stop' }],
    });
  });

  it('return failures as the error object of svc', async () => {
    const { result } = await ask(call('chat', { messages: 1 }));
    const [{ text } = { text: '' }] = (result?.content ?? []) as { text: string }[];
    expect(result?.isError).toBe(true);
    expect(JSON.parse(text).error).toMatchObject({
      code: 'body',
      exit_code: 3,
      applied: 'no',
      issues: [{ path: 'messages' }],
    });
  });

  it('name missing arguments without the flags and files of a command line', async () => {
    const calls = [call('feedback_schema', { project_id: 'a/b' }), call('train', { model_id: crypto.randomUUID() })];
    const lines = await exchange(calls, ['--local', '--allow', 'train']);
    const messages = lines.map((line) => JSON.parse(JSON.parse(line).result.content[0].text).error.issues);
    const missing = { message: expect.stringMatching(/^is required(?:: a time like .*)?$/) };
    expect(messages).toEqual(Array(2).fill([expect.objectContaining(missing)]));
  });

  it('are one line, also where the service breaks the lines of its JSON', async () => {
    const chunk = [
      '{"id":"c1","extra":{"a":',
      '1},"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}',
    ];
    const events = `${chunk.map((line) => `data: ${line}\n`).join('')}\n${done}`;
    const server = await rawServer((socket) => void socket.end(streamHead + events));
    const { stdout } = await runBuilt(['mcp', '--base-url', server.url], {
      env: { SVC_TOKEN: 'tok-en-1' },
      stdin: `${JSON.stringify(call('chat', { ...chat, stream: true }))}\n`,
    });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '').result.structuredContent.extra).toEqual({ a: 1 });
  });

  it('have the text of the response unchanged', async () => {
    const text = '{ "id" : "c1",\n "n": 1.0, "choices":[{"message":{"content":"caf\\u00e9"}}] }\n';
    const server = await rawServer((socket) => void socket.end(httpAnswer(text)));
    const { stdout } = await runBuilt(['mcp', '--base-url', server.url], {
      env: { SVC_TOKEN: 'tok-en-1' },
      stdin: `${JSON.stringify(call('chat', chat))}\n`,
    });
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(stdout).result).toMatchObject({
      content: [{ type: 'text', text }],
      structuredContent: { id: 'c1' },
    });
  });

  it('warn about a response with other ids than were sent', async () => {
    const server = await rawServer(
      (socket) => void socket.end(httpAnswer('{"id":"other","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}')),
    );
    const start = {
      project_id: 'a/b',
      op_name: 'x',
      id: '00f067aa0ba902b7',
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    };
    const { stdout } = await runBuilt(['mcp', '--allow', 'call_start', '--base-url', server.url], {
      env: { SVC_USERNAME: 'ada', SVC_PASSWORD: 'pass-word-1' },
      stdin: `${JSON.stringify(call('call_start', { start }))}\n`,
    });
    const { result } = JSON.parse(stdout);
    expect(result).toEqual({
      content: [
        { type: 'text', text: '{"id":"other","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}' },
        { type: 'text', text: expect.stringMatching(/^Warning: the response has id "other", but "00f067aa0ba902b7"/) },
      ],
      structuredContent: { id: 'other', trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' },
    });
  });

  it('carry the warnings about the arguments', async () => {
    const { stdout } = await runBuilt(['mcp', '--local'], {
      stdin: `${JSON.stringify(call('chat', { ...chat, max_tokens: 5, unknown: 1 }))}\n`,
    });
    const warnings = (line: string) => {
      const { content } = JSON.parse(line).result;
      return content.slice(1).map(({ text }: { text: string }) => text);
    };
    const expected = [
      expect.stringMatching(/^Warning: arguments:1:\d+ max_tokens: is deprecated/),
      expect.stringMatching(/^Warning: arguments:1:\d+ unknown: is not a known field/),
    ];
    expect(warnings(stdout)).toEqual(expected);
    const fails = { ...chat, max_tokens: 5, unknown: 1, stream: 1 };
    const failed = await runBuilt(['mcp', '--local'], { stdin: `${JSON.stringify(call('chat', fails))}\n` });
    expect(warnings(failed.stdout)).toEqual(expected);
    // Not only those of the body: the credential of another machine goes over plain HTTP.
    const refused = await runBuilt(['mcp', '--base-url', 'http://svc.invalid', '--allow-http', '--retries', '0'], {
      env: { SVC_TOKEN: 'token-of-a-test' },
      stdin: `${JSON.stringify(call('chat', chat))}\n`,
    });
    expect(warnings(refused.stdout)).toEqual(['Warning: the credential goes to http://svc.invalid over plain http']);
  });

  it('show the forms of required fields that are missing', async () => {
    const args = { feedback_id: 'a', feedback_type: 'b', payload: {} };
    const { stdout } = await runBuilt(['mcp', '--local', '--allow', 'feedback_replace'], {
      stdin: `${JSON.stringify(call('feedback_replace', args))}\n`,
    });
    expect(JSON.parse(JSON.parse(stdout).result.content[0].text).error.issues).toEqual([
      { at: 'arguments:1:1', path: 'project_id', message: 'is required: a project like <entity>/<project>' },
      {
        ...{ at: 'arguments:1:1', path: 'svc_ref' },
        message: expect.stringContaining('a call ref like svc:///<entity>/<project>/call/<call_id>'),
      },
    ]);
  });

  it('return the partial output of a response that was cut', async () => {
    const chunk = '{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":"Once upon"}}]}';
    const server = await rawServer((socket) => void socket.end(streamHead + event(chunk)));
    const { stdout } = await runBuilt(['mcp', '--base-url', server.url], {
      env: { SVC_TOKEN: 'tok-en-1' },
      stdin: `${JSON.stringify(call('chat', { ...chat, stream: true }))}\n`,
    });
    const { result } = JSON.parse(stdout);
    const [error, partial] = result.content.map((part: { text: string }) => JSON.parse(part.text));
    expect([result.isError, error.error.applied]).toEqual([true, 'yes']);
    expect(partial.choices[0].message.content).toBe('Once upon');
  });

  it('refuse the same training job twice', async () => {
    const job = {
      model_id: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05',
      trajectory_groups: [{ trajectories: [{ reward: 1 }] }],
    };
    const lines = await exchange([call('train', job, 1)], ['--local', '--allow', 'train']);
    expect(lines[0]).toContain('"structuredContent"');
    const cwd = temporaryDirectory();
    const server = await rawServer((socket) => socket.end(httpAnswer('{"id":"j"}', '200 OK')));
    const twice = async () => {
      const { stdout } = await runBuilt(['mcp', '--base-url', server.url, '--allow', 'train'], {
        cwd,
        env: { SVC_TOKEN: 'tok-en-1' },
        stdin: `${JSON.stringify(call('train', job))}\n`,
      });
      return stdout;
    };
    expect(await twice()).toContain('structuredContent');
    const refused = JSON.parse(JSON.parse(await twice()).result.content[0].text).error;
    // A tool has no flags, so the hint names the command.
    expect(refused).toMatchObject({
      code: 'safety_check',
      hint: 'svc train log lists it; to send it again, run svc train with --allow-duplicate',
    });
  });

  it('keep every digit of ids, arguments and responses', async () => {
    const server = await rawServer((socket) => {
      socket.end(
        'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{"paths":[],"n":12345678901234567890}',
      );
    });
    const cwd = temporaryDirectory();
    const { stdout } = await runBuilt(['mcp', '--base-url', server.url], {
      cwd,
      env: { SVC_USERNAME: 'u', SVC_PASSWORD: 'pass-word' },
      stdin:
        '{"jsonrpc":"2.0","id":98765432109876543210,"method":"tools/call","params":{"name":"feedback_schema","arguments":{"project_id":"a/b","start":"2026-01-01T00:00:00Z","x":11111111111111111111}}}\n',
    });
    expect(stdout).toContain('"id":98765432109876543210');
    expect(stdout).toContain('"structuredContent":{"paths":[],"n":12345678901234567890}');
    expect(server.received.map(String).join('')).toContain('"x":11111111111111111111');
  });

  it('make a call a child of the span that the client names', async () => {
    const server = await rawServer((socket) => void socket.end(httpAnswer('{"id":"i","trace_id":"t"}')));
    const params = {
      name: 'call_start',
      arguments: { start: { project_id: 'a/b', op_name: 'x' } },
      _meta: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
    };
    await runBuilt(['mcp', '--base-url', server.url, '--allow', 'call_start'], {
      env: { SVC_USERNAME: 'u', SVC_PASSWORD: 'pass-word' },
      stdin: `${JSON.stringify(request('tools/call', params))}\n`,
    });
    expect(JSON.parse(bodyOf(server.received[0]).toString()).start).toMatchObject({
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      parent_id: '00f067aa0ba902b7',
    });
  });

  it('are described without flags, which a client does not have', async () => {
    const { result } = await ask(request('tools/list'), ['--local', '--allow', 'train,call_start,feedback_replace']);
    const tools = (result?.tools ?? []) as { description: string }[];
    expect(tools.map(({ description }) => description).filter((text) => /--[a-z]|[Pp]iped|stdin/.test(text))).toEqual(
      [],
    );
    expect(tools).toHaveLength(5);
  });

  it('are idempotent only where the same arguments change nothing twice', async () => {
    const { result } = await ask(request('tools/list'), ['--local', '--allow', 'train,call_start,feedback_replace']);
    const tools = (result?.tools ?? []) as { name: string; annotations: { idempotentHint: boolean } }[];
    const idempotent = tools.filter(({ annotations }) => annotations.idempotentHint).map(({ name }) => name);
    expect(idempotent).toEqual(['feedback_schema']);
  });

  it('cut a response above 64 KiB, without half a character, and say so', async () => {
    const server = await rawServer((socket) => void socket.end(httpAnswer(`{"paths":[],"x":"${'é'.repeat(50_000)}"}`)));
    const schema = call('feedback_schema', { project_id: 'a/b', start: '2026-01-01T00:00:00Z' });
    const { stdout } = await runBuilt(['mcp', '--base-url', server.url], {
      env: { SVC_USERNAME: 'u', SVC_PASSWORD: 'pass-word' },
      stdin: `${JSON.stringify(schema)}\n`,
    });
    const { result } = JSON.parse(stdout);
    const [note, text] = result.content.map((part: { text: string }) => part.text);
    expect([result.isError, note]).toEqual([
      true,
      expect.stringMatching(/has 97.7 KiB; these are the first 64 KiB. The request was applied/),
    ]);
    expect(text).toMatch(/^\{"paths":\[\],"x":"é+$/);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(64 * 1024);
  });
});

describe('messages', () => {
  it.each([
    ['that are not JSON', '{bad', { id: null, error: { code: -32700 } }],
    ['without a method', { jsonrpc: '2.0', id: 7 }, { id: 7, error: { code: -32600 } }],
    ['that are empty arrays', '[]', { id: null, error: { code: -32600 } }],
    ['that are not objects', '7', { id: null, error: { code: -32600 } }],
    ['whose id is null', request('ping', {}, null), { id: null, error: { code: -32600 } }],
    ['whose id is an object', request('ping', {}, { a: 1 }), { id: null, error: { code: -32600 } }],
    ['whose id is an array', request('ping', {}, [1]), { id: null, error: { code: -32600 } }],
    ['whose id is a boolean', request('ping', {}, true), { id: null, error: { code: -32600 } }],
    ['of JSON-RPC 1.0', { ...request('ping'), jsonrpc: '1.0' }, { id: 1, error: { code: -32600 } }],
    ['without a version of JSON-RPC', { id: 1, method: 'ping' }, { id: 1, error: { code: -32600 } }],
    ['with an unknown method', request('resources/list'), { id: 1, error: { code: -32601 } }],
    ['to check the connection', request('ping'), { id: 1, result: {} }],
  ])('%s get responses', async (_, message, expected) => {
    expect(await ask(message)).toMatchObject(expected);
  });

  it('above 33 MiB are rejected, and others keep their responses', { timeout: 60_000 }, async () => {
    const long = `"${'x'.repeat(33 * 1024 * 1024)}"`;
    const lines = await exchange([call('chat', chat, 1), long, request('ping', {}, 2)]);
    const responses = lines.map((line): Message => JSON.parse(line)).sort((a, b) => Number(a.id) - Number(b.id));
    expect(responses).toMatchObject([
      { id: null, error: { code: -32600, message: 'the message is longer than 33 MiB' } },
      { id: 1, result: { structuredContent: { object: 'chat.completion' } } },
      { id: 2, result: {} },
    ]);
  });

  it('are not read after the reader of the responses is gone', async () => {
    const child = start(['mcp', '--local']);
    const end = once(child, 'close');
    child.stdout?.destroy();
    // Its stdin stays open.
    child.stdin?.on('error', () => {}).write(`${JSON.stringify(request('ping'))}\n`);
    expect(await end).toEqual([0, null]);
  });

  it('that are notifications have no response', async () => {
    expect(
      await exchange([{ jsonrpc: '2.0', method: 'notifications/initialized' }, request('ping', {}, 'a')]),
    ).toHaveLength(1);
  });

  it('can come in an array', async () => {
    const [line = ''] = await exchange([[request('ping', {}, 1), request('ping', {}, 2)]]);
    expect(JSON.parse(line)).toHaveLength(2);
  });

  it.each([
    ['a call in flight', true, 'terminated; 1 tool call was in flight and may have been applied'],
    ['no call', false, 'terminated'],
  ])('end with a signal, which reports %s', async (_, isCalled, text) => {
    let arrived = (): void => {};
    const hasArrived = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const server = await rawServer(() => arrived());
    const child = start(['mcp', '--base-url', server.url], { env: { SVC_TOKEN: 'tok-en-1' } });
    const end = waitForExit(child);
    child.stdin?.write(`${JSON.stringify(isCalled ? call('chat', chat, 5) : request('ping', {}, 5))}\n`);
    await (isCalled ? hasArrived : once(child.stdout ?? child, 'data'));
    child.kill('SIGTERM');
    const { stdout, stderr, signal } = await end;
    expect([signal, stderr]).toEqual(['SIGTERM', `svc: ${text}\n`]);
    const { id, result } = JSON.parse(stdout);
    expect(id).toBe(5);
    if (isCalled)
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining(`"applied":"unknown"`) }],
      });
  });

  it.each([
    ['5', '5'],
    ['"\\u0061b"', '"ab"'],
  ])('can cancel the call %s as %s, which then has no response', async (id, cancelledId) => {
    let arrived = (): void => {};
    const hasArrived = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const server = await rawServer(() => arrived());
    const child = start(['mcp', '--base-url', server.url], { env: { SVC_TOKEN: 'tok-en-1' } });
    const lines = createInterface({ input: child.stdout ?? process.stdin });
    child.stdin?.write(`${JSON.stringify(call('chat', chat, 5)).replace('"id":5', `"id":${id}`)}\n`);
    await hasArrived;
    child.stdin?.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${cancelledId}}}\n`);
    child.stdin?.end(`${JSON.stringify(request('ping', {}, 6))}\n`);
    const received: string[] = [];
    lines.on('line', (line) => received.push(line));
    await once(child, 'close');
    expect(received.map((line) => JSON.parse(line).id)).toEqual([6]);
  });
});
