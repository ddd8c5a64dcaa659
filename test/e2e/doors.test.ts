import { cpSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { bundleFiles, grownParts, HEADROOM } from '../support/bundle-parts.ts';
import { done, event, streamHead } from '../support/event-stream.ts';
import { figure } from '../support/figure.ts';
import { inShell, run } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const dist = new URL('../../dist/', import.meta.url);

const whole = httpAnswer('{"id":"i","trace_id":"t","choices":[{"message":{"content":"hi"}}],"paths":[]}');
const chunk = '{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}';
const streamed = streamHead + event(chunk) + done;

// Which modules a run loaded, by the coverage Node itself writes.
async function modules(args: readonly string[], more: Readonly<Record<string, string>> = {}, wanted = 0) {
  const server = await rawServer((socket, request) => socket.end(request.includes('"stream":true') ? streamed : whole));
  const coverage = temporaryDirectory();
  const account = { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1', SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1' };
  const env = { ...account, NODE_V8_COVERAGE: coverage, ...more };
  const { code, stderr } = await run(args, { env, cwd: temporaryDirectory() });
  expect(code, stderr).toBe(wanted);
  return readdirSync(coverage).flatMap((name): string[] => {
    const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8'));
    return result.map(({ url }: { url: string }) => url);
  });
}

interface Load {
  readonly files: number;
  readonly bytes: number;
  readonly packages: readonly string[];
}

// The files of the bundle among them, their size, and the packages in them or loaded besides.
function loadOf(urls: readonly string[]): Load {
  const files = urls.filter((url) => url.startsWith(dist.href)).map((url) => fileURLToPath(url));
  const inputs = files.flatMap((file) => Object.keys(bundleFiles[`dist/${basename(file)}`]?.inputs ?? {}));
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  const packages = [...inputs, ...urls].flatMap((name) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(name)?.[1] ?? []);
  return { files: files.length, bytes, packages: [...new Set(packages)].sort() };
}

const request = ['commander', 'zod'];

// What each loads of the bundle, in files and kB, and exactly these packages.
const loads: readonly (readonly [args: readonly string[], files: number, kB: number, packages: readonly string[]])[] = [
  [['--version'], 1, 4, []],
  [['--help'], 1, 4, []],
  [['__complete', 'chat', '--m'], 4, 140, []],
  [['__complete', 'chat', '--profile', ''], 9, 409, request],
  [['chat', '--help'], 7, 221, ['commander']],
  [['help', 'environment'], 9, 224, ['commander']],
  [['completion', 'bash'], 8, 207, ['commander']],
  [['spec', 'chat'], 10, 418, request],
  [['profile', 'list'], 11, 412, request],
  [['chat', 'x', '--dry-run'], 9, 410, request],
  [['call', 'start', '--project-id', 'a/b', '--op-name', 'x'], 11, 493, [...request, 'undici']],
  [['chat', 'x'], 11, 496, [...request, 'undici']],
  [['chat', 'x', '--stream'], 13, 512, [...request, 'eventsource-parser', 'undici']],
  [['chat', 'x', '--local', '-q'], 19, 495, [...request, 'detect-libc', 'libsql', '@neon-rs/load']],
];

describe('what is loaded', () => {
  it.each(loads)('by svc %j: about %d files and %d kB, of libraries %j', async (args, files, kB, packages) => {
    const load = loadOf(await modules(args));
    figure(`svc ${args.join(' ')}: ${load.files} files, ${load.bytes} bytes`);
    expect(load.packages).toEqual([...packages].sort());
    expect(load.files, grownParts()).toBeLessThanOrEqual(Math.ceil(files * HEADROOM));
    expect(load.bytes, grownParts()).toBeLessThanOrEqual(kB * 1000 * HEADROOM);
  });
});

it('a request over plain http loads nothing about TLS and certificates; https and --cacert do', async () => {
  const chat = ['chat', 'x', '--no-stdin', '-q', '--retries', '0'];
  const about = (urls: readonly string[]) => urls.flatMap((url) => /\/dist\/(tls|certificates)-/.exec(url)?.[1] ?? []);
  expect(about(await modules(chat))).toEqual([]);
  expect(about(await modules([...chat, '--cacert', 'none.pem'], {}, 12))).toEqual(['certificates']);
  const { url } = await rawServer((socket) => socket.end(whole));
  expect(about(await modules(chat, { SVC_BASE_URL: url.replace('http:', 'https:') }, 7))).toEqual(['tls']);
});

it('a failure is reported without the file of the bundle that completes its hint', async () => {
  const cwd = temporaryDirectory();
  const root = new URL('../../', import.meta.url);
  for (const name of ['bin', 'dist', 'package.json']) cpSync(new URL(name, root), join(cwd, name), { recursive: true });
  const holding = Object.keys(bundleFiles).filter((file) => bundleFiles[file]?.inputs['src/cli/corrected-line.ts']);
  expect(holding).toHaveLength(1);
  for (const file of holding) rmSync(join(cwd, file));
  const { code, stderr } = await inShell(`"${process.execPath}" bin/svc.js chat -f none.json --local`, { cwd });
  expect([code, stderr]).toEqual([12, expect.stringContaining('cannot read none.json')]);
});
