import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { folder } from '../support/svc.ts';

const libraries = ['zod', 'undici', 'conf', 'ora', 'chalk', 'libsql', 'read', 'eventsource-parser'];

// Which modules a run loaded, by the coverage Node itself writes.
async function modules(args: readonly string[], env: Readonly<Record<string, string>> = {}, wanted = 0) {
  const coverage = folder();
  const { code } = await run(args, { env: { ...env, NODE_V8_COVERAGE: coverage }, cwd: folder() });
  expect(code).toBe(wanted);
  return readdirSync(coverage).flatMap((name): string[] => {
    const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8'));
    return result.map(({ url }: { url: string }) => url);
  });
}

async function loaded(args: readonly string[]): Promise<string[]> {
  const urls = await modules(args);
  return libraries.filter((library) => urls.some((url) => url.includes(`/node_modules/${library}/`)));
}

describe('heavy libraries are loaded only where they are used', () => {
  it.each<[string[], string[]]>([
    [['--version'], []],
    [['--help'], []],
    [['chat', '--help'], []],
    [['help', 'environment'], []],
    [['completion', 'bash'], []],
    [['spec', 'chat'], []],
    [['profile', 'list'], []],
    [['chat', 'x', '--dry-run'], ['zod']],
    [
      ['chat', 'x', '--local', '-q'],
      ['zod', 'libsql'],
    ],
  ])('svc %j loads %j', async (args, wanted) => {
    expect(await loaded(args)).toEqual(wanted);
  });
});

it('a request over plain http loads nothing about TLS and proxies, one over https does', async () => {
  const server = await rawServer((socket) => socket.end(httpAnswer('{"choices":[{"message":{"content":"hi"}}]}')));
  const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1' };
  const chat = ['chat', 'x', '--no-stdin', '-q', '--cacert', 'none.pem'];
  const about = (urls: readonly string[]) => urls.filter((url) => /\/dist\/(tls|tunnel|certificates)-/.test(url));
  expect(about(await modules(chat, env))).toEqual([]);
  expect(about(await modules(chat, { ...env, SVC_BASE_URL: 'https://127.0.0.1:9' }, 12))).toHaveLength(1);
});
