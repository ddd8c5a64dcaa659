import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { allCommands } from '../../src/cli/all-commands.ts';
import { flagForms } from '../../src/flag.ts';
import { inShell, run } from '../support/process.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const DEPTH = 100_000;
const nested = (open: string, inner: string, close: string, depth = DEPTH): string =>
  open.repeat(depth) + inner + close.repeat(depth);
const documents = {
  arrays: nested('[', '', ']'),
  objects: nested('{"a":', '1', '}'),
  errors: nested('{"error":', '"x"', '}'),
  details: nested('{"detail":[', '1', ']}'),
};
const env = { SVC_TOKEN: 'tok-en-1', SVC_USERNAME: 'ada', SVC_PASSWORD: 'pass-word-1' };

function expectNoCrash({ code, stderr }: { code: number | null; stderr: string }): void {
  expect([0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], stderr.slice(0, 500)).toContain(code);
  expect(stderr).not.toMatch(/Maximum call stack|^\s+(\| )?\s*at .*:\d+|bug in svc/m);
}

/** Serves each document as a response of a status: `/<status>/<document>`. */
async function deepServer(depth: number): Promise<string> {
  const server = createServer((request, response) => {
    const [, status, name = ''] = /^\/(\d+)\/(\w+)/.exec(request.url ?? '') ?? [];
    const shapes: Record<string, string> = {
      arrays: nested('[', '', ']', depth),
      objects: nested('{"a":', '1', '}', depth),
      errors: nested('{"error":', '"x"', '}', depth),
      details: nested('{"detail":[', '1', ']}', depth),
    };
    request.resume().on('end', () => {
      response.writeHead(Number(status), { 'Content-Type': 'application/json' }).end(shapes[name]);
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

// Commands that take no document, wait for a signal, or run another program.
const others = ['serve', 'mcp', 'call run'];

describe.each(
  allCommands.filter(({ name }) => !others.includes(name)).map((command) => [command.name, command] as const),
)('svc %s', (_, { words, argument, flags }) => {
  it.each(Object.entries(documents))('survives %s 100,000 deep in every input', async (_name, text) => {
    const cwd = temporaryDirectory();
    for (const ending of ['json', 'jsonl', 'yaml']) writeFileSync(join(cwd, `deep.${ending}`), `${text}\n`);
    // An output is written, and nothing is removed or opened.
    const taken = flags.flatMap((flag) => {
      const form = flagForms(flag)[0] ?? '';
      if (/<json>/.test(form)) return [[`--${flag.name}`, '@deep.json']];
      if (/<@file>/.test(form)) return [[`--${flag.name}`, '@deep.json']];
      return /^--(file|batch|rows|input)\b.*<file>/.test(form) || flag.name === 'batch'
        ? ['json', 'jsonl', 'yaml'].map((ending) => [`--${flag.name}`, `deep.${ending}`])
        : [];
    });
    const positional = argument?.isFile ? [['deep.json'], ['deep.jsonl']] : [];
    for (const args of [...taken, ...positional]) {
      const local = flags.some(({ name }) => name === 'local') ? ['--local'] : [];
      expectNoCrash(await svc([...words, ...args, ...local], { cwd }));
    }
    expectNoCrash(await svc(words, { cwd, stdin: text, env: { CI: '1' } }));
  });
});

describe('the built program', () => {
  it('closes the line of an error that is nested 200,000 deep, in a request and in a batch', async () => {
    const url = await deepServer(200_000);
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), '{"messages":[{"role":"user","content":"x"}]}\n');
    for (const name of Object.keys(documents)) {
      const base = ['-m', 'm', '--retries', '0', '--base-url', `${url}/422/${name}`];
      const single = await run(['chat', 'hi', ...base], { env });
      expectNoCrash(single);
      expect(single.code).toBe(5);
      const batch = ['chat', '--batch', 'in.jsonl', '-o', `${name}.jsonl`, ...base];
      const first = await run(batch, { cwd, env });
      expectNoCrash(first);
      expect([first.code, first.stderr]).toEqual([10, expect.stringContaining('1 failed, 0 unknown')]);
      const again = await run([...batch, '--resume'], { cwd, env });
      expect([again.code, again.stderr]).toEqual([10, expect.stringContaining('1 failed, 0 unknown')]);
    }
  });

  it('imports attributes of spans that are nested deep, and keeps every value', async () => {
    const lists = nested('{"arrayValue":{"values":[', '{"intValue":"7"}', ']}}', 3000);
    const maps = nested('{"kvlistValue":{"values":[{"key":"a","value":', '{"intValue":"7"}', '}]}}', 3000);
    for (const value of [lists, maps, nested('{"arrayValue":{"values":[', '{"intValue":"7"}', ']}}')]) {
      const span = `{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"x","startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000001000000000","attributes":[{"key":"deep","value":${value}}]}`;
      const cwd = temporaryDirectory();
      writeFileSync(join(cwd, 'spans.json'), `{"resourceSpans":[{"scopeSpans":[{"spans":[${span}]}]}]}`);
      const result = await run(['call', 'import', 'spans.json', '--project-id', 'a/b', '--dry-run'], { cwd, env });
      expectNoCrash(result);
      expect(result.code).toBe(0);
    }
  });

  it('reports a schema, or a value, that is nested too deeply to be checked', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'deep.json'), nested('{"properties":{"a":', '{}', '}}', 20_000));
    writeFileSync(join(cwd, 'const.json'), `{"const":${documents.objects}}`);
    writeFileSync(
      join(cwd, 'tree.json'),
      '{"$defs":{"n":{"additionalProperties":{"$ref":"#/$defs/n"}}},"$ref":"#/$defs/n"}',
    );
    const content = JSON.stringify(documents.objects);
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.end(
          `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":${content}}}]}`,
        );
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const base = ['-m', 'm', '--base-url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`];
    for (const [file, code] of [
      ['deep.json', 2],
      ['const.json', 13],
      ['tree.json', 13],
    ] as const) {
      const result = await run(['chat', 'hi', ...base, '--expect-schema', `@${file}`], { cwd, env });
      expectNoCrash(result);
      expect([result.code, result.stderr]).toEqual([code, expect.stringContaining('it is nested too deeply')]);
      expectNoCrash(await run(['chat', 'hi', '--local', '--json-schema', `@${file}`], { cwd, env }));
    }
  });

  it('responds to each message of mcp, also one of more than 256 MiB', async () => {
    const deep = Object.values(documents).map(
      (text, at) =>
        `{"jsonrpc":"2.0","id":${at},"method":"tools/call","params":{"name":"chat","arguments":{"messages":${text}}}}`,
    );
    const result = await run(['mcp', '--local'], { env, stdin: `${deep.join('\n')}\n` });
    expectNoCrash(result);
    expect(result.stdout.trim().split('\n')).toHaveLength(deep.length);
    const ping = '{"jsonrpc":"2.0","id":9,"method":"ping"}';
    const large = await inShell(`(head -c 270000000 /dev/zero | tr '\\0' x; echo; echo '${ping}') | svc mcp`, { env });
    expect(large.code).toBe(0);
    expect(large.stdout.trim().split('\n')).toEqual([
      expect.stringContaining('the message is longer than 33 MiB'),
      '{"jsonrpc":"2.0","id":9,"result":{}}',
    ]);
  });
});
