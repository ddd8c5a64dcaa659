import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { serve, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runOnTerminal } from '../support/terminal.ts';

// What the bundle replaces (scripts/stand-ins.js), on the paths of the libraries beside it, in the built program alone.
// That of PostgreSQL is in test/interop/postgres-outages.test.ts. A law reads the names of the groups.

const reply = { choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }] };

describe('undici', () => {
  it('opens connections, reuses them, reads bodies of each form, fails when one is cut, and connects again', async () => {
    const cwd = temporaryDirectory();
    const sockets = new Set<unknown>();
    const server = await countingServer(
      (text) => JSON.parse(text).messages[0].content,
      ({ key, count }, response, request) => {
        sockets.add(request.socket);
        if (key === 'cut' && count === 1) {
          response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 });
          response.write('{"choices":', () => request.socket.destroy());
        } else if (key === 'reset') request.socket.destroy();
        else if (key === 'chunked') {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.write('{"choices":[');
          response.end(`${JSON.stringify(reply.choices[0])}]}`);
        } else answerJson(response, reply);
      },
    );
    const contents = ['whole', 'chunked', 'cut', 'reset', 'after', 'last'];
    const lines = contents.map((content) => JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }));
    writeFileSync(join(cwd, 'in.jsonl'), `${lines.join('\n')}\n`);
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '1', '--retries', '0'];
    const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url };
    expect((await runBuilt(args, { cwd, env })).stderr).toContain('6 lines: 4 done, 1 failed, 1 unknown, 0 not sent');
    expect(sockets.size).toBeLessThan(contents.length);
    expect((await runBuilt([...args, '--resume', '--retry-unknown'], { cwd, env })).code).toBe(10);
    expect(server.counts).toEqual(new Map(contents.map((key) => [key, key === 'reset' ? 2 : 1])));
  });
});

describe('conf, atomically', () => {
  it('creates, reads, changes and removes a store, fails on one that is broken, and works again', async () => {
    const cwd = temporaryDirectory();
    const profile = (...args: readonly string[]) => runBuilt(['profile', ...args], { cwd });
    expect(await profile('set', 'work', '--base-url', 'https://a.invalid')).toMatchObject({ code: 0 });
    expect(await profile('set', 'home', '--base-url', 'https://b.invalid')).toMatchObject({ code: 0 });
    expect(JSON.parse((await profile('list', '--format', 'json')).stdout)).toHaveLength(3);
    const file = join(cwd, 'config/config.json');
    const saved = readFileSync(file);
    writeFileSync(file, '{');
    expect(await profile('list')).toMatchObject({ code: 12, stdout: '' });
    writeFileSync(file, saved);
    expect(await profile('remove', 'work', '--yes')).toMatchObject({ code: 0 });
    expect(JSON.parse((await profile('list', '--format', 'json')).stdout)).toMatchObject([
      { name: 'home' },
      { name: 'local' },
    ]);
  });
});

describe('commander', () => {
  it('finds commands, helps, and reports unknown ones without a program of that name', async () => {
    expect(await runBuilt(['help', 'chat'])).toMatchObject({ code: 0, stderr: '' });
    expect(await runBuilt(['chat', 'hi', '--local', '-q', '--no-stdin'])).toMatchObject({ code: 0 });
    expect(await runBuilt(['ls'])).toMatchObject({ code: 2, stdout: '' });
    expect(await runBuilt(['chat', '--no-such-flag'])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe.skipIf(!hasTerminal)('ora, cli-spinners', () => {
  it.each([
    ['xterm-256color', '⠋'],
    ['linux', '-'],
  ])('turns on a terminal of type %s while a response is awaited, and clears the line', async (TERM, frame) => {
    let wake = (): void => {};
    const { url } = await countingServer(
      () => '',
      (_, response) => {
        wake = () => answerJson(response, reply);
      },
    );
    const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url, TERM };
    const { code, screen } = await runOnTerminal(['chat', 'hi', '-m', 'm'], {
      env,
      typed: [[frame, () => wake()]],
    });
    expect(code, screen).toBe(0);
    expect(screen).toMatch(/ok\s*\n/);
  });
});

describe('jq-wasm', () => {
  it('compiles, filters, fails, and filters again, without the environment', async () => {
    const help = (filter: string) => runBuilt(['help', '--jq', filter], { env: { SVC_TOKEN: 'tok-en-1' } });
    expect(await help('.name')).toMatchObject({ code: 0, stdout: 'svc\n' });
    expect(await help('env, $ENV')).toMatchObject({ code: 0, stdout: '{}\n{}\n' });
    expect(await help('.[')).toMatchObject({ code: 2, stdout: '' });
    expect((await help('def f: [f]; f')).stderr).toMatch(
      /^svc: --jq: the filter or its input is too large or too deep/,
    );
    expect((await help('error("x")')).stderr).toContain('--jq: x');
  });
});

describe('yaml', () => {
  const body = (text: string) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'body.yaml'), text);
    return runBuilt(['chat', '-f', 'body.yaml', '--exact', '--dry-run', '--local'], { cwd });
  };

  it('reads every form of a scalar and a collection, and rejects the types of YAML 1.1 and broken text', async () => {
    const text = [
      'model: &name m # a comment',
      'messages:',
      "- {role: user, content: 'it''s'}",
      '- role: user',
      '  content: |-',
      '    two',
      '    lines',
      '- role: user',
      '  content: >-',
      '    one',
      '    line',
      'user: *name',
      'seed: 0x1F',
      'temperature: 1.50',
      'stop: ["a", b]',
      'stream: true',
    ].join('\n');
    const { code, stdout, stderr } = await body(text);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(JSON.parse(stdout)).toMatchObject({
      model: 'm',
      messages: [{ content: "it's" }, { content: 'two\nlines' }, { content: 'one line' }],
      user: 'm',
      seed: 31,
      temperature: 1.5,
      stop: ['a', 'b'],
      stream: true,
    });
    for (const wrong of ['a: !!timestamp 2001-01-01', 'a: !!set {b}', 'a: !!omap [b: 1]', 'a: !!binary aGk=', 'a: [1'])
      expect(await body(wrong), wrong).toMatchObject({ code: 3, stdout: '' });
  });
});

describe('ajv', () => {
  it('resolves references of a schema by path and URL, and rejects one without a target', async () => {
    const { child, env } = await serve();
    const ended = waitForExit(child);
    const ask = (schema: object) => {
      const response_format = { type: 'json_schema', json_schema: { name: 'a', schema } };
      const request = { model: 'm', messages: [{ role: 'user', content: 'hi' }], response_format };
      return runBuilt(['chat', '-f', '-', '-q'], { env, stdin: JSON.stringify(request) });
    };
    const word = { type: 'string', enum: ['yes'] };
    const $id = 'https://schemas.invalid/root.json';
    for (const [$ref, more] of [
      ['#/$defs/word', { $defs: { word } }],
      ['#/$defs/a%20b~1c', { $defs: { 'a b/c': word } }],
      ['#/$defs/word', { $id, $defs: { word } }],
      [`${$id}#/$defs/word`, { $id, $defs: { word } }],
    ] as const) {
      const { code, stdout, stderr } = await ask({
        type: 'object',
        properties: { a: { $ref } },
        required: ['a'],
        ...more,
      });
      expect({ code, stderr }, $ref).toMatchObject({ code: 0 });
      expect(JSON.parse(stdout)).toEqual({ a: 'yes' });
    }
    expect(await ask({ $ref: '#/$defs/missing' })).not.toMatchObject({ code: 0 });
    expect(await ask({ type: 'object' })).toMatchObject({ code: 0, stdout: '{}\n' });
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /^svc: to keep this URL [^\n]*\nsvc: the service accepts the credentials of [^\n]*\n$/,
      ),
    });
  });
});
