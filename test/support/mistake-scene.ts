import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { cleanEnv } from './process.ts';
import { temporaryDirectory } from './svc.ts';

/** The page of mistakes, each of which is run. */
export const mistakesPage = new URL('../e2e/mistakes.md', import.meta.url).pathname;

/** A mistake: its command as bash reads it, and where it is made. */
export interface Mistake {
  readonly block: string;
  readonly command: string;
  readonly setup: readonly string[];
}

/** What a mistake is made in: a directory with the files of its setup, and the environment that reaches its service. */
export interface Scene {
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly port: number;
}

/** The blocks of the page, in order. */
export function readMistakes(): Mistake[] {
  const blocks = [...readFileSync(mistakesPage, 'utf8').matchAll(/^```console\n[\s\S]*?^```$/gm)].map(
    ([block]) => block,
  );
  return blocks.map((block) => {
    const lines = block.split('\n').slice(1, -1);
    return {
      block,
      setup: lines.filter((line) => line.startsWith('# ')).map((line) => line.slice(2)),
      command: lines.find((line) => line.startsWith('$ '))?.slice(2) ?? '',
    };
  });
}

/** Makes the files of a setup and starts its service; both end with the test. */
export async function openScene(setup: readonly string[]): Promise<Scene> {
  const cwd = temporaryDirectory();
  for (const line of setup) {
    const [, name, content = ''] = /^file (\S+?): ?(.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    mkdirSync(dirname(join(cwd, name)), { recursive: true, mode: 0o700 });
    writeFileSync(join(cwd, name), content.replaceAll('\\n', '\n'), { mode: 0o600 });
  }
  const port = await startService(setup);
  const scheme = setup.includes('https to a port that speaks http') ? 'https' : 'http';
  const env = {
    PORT: String(port),
    ...(setup.includes('no base URL') ? {} : { SVC_BASE_URL: `${scheme}://127.0.0.1:${port}` }),
    ...(setup.includes('no credentials')
      ? {}
      : { SVC_USERNAME: 'ada', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1' }),
  };
  return { cwd, env: cleanEnv(cwd, env), port };
}

/** Starts what the setup says about the service, on a port of loopback. */
async function startService(setup: readonly string[]): Promise<number> {
  const [, status = '200', body = '{}'] =
    setup.flatMap((line) => [/^response (\d+) ?(.*)$/.exec(line) ?? []]).find(({ length }) => length > 0) ?? [];
  const headers = setup.flatMap((line) => {
    const [, name, value] = /^response header ([\w-]+): (.*)$/.exec(line) ?? [];
    return name && value ? [[name, value] as const] : [];
  });
  const server: Server = setup.some((line) => /^the service (never responds|resets)/.test(line))
    ? createServer((socket) => {
        socket.on('error', () => {});
        if (setup.includes('the service resets the connection')) socket.once('data', () => socket.resetAndDestroy());
      })
    : createHttpServer((request, response) => {
        request.resume().on('end', () => {
          response.writeHead(Number(status), { 'Content-Type': 'application/json', ...Object.fromEntries(headers) });
          response.end(body.replaceAll('\\n', '\n'));
        });
      });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (setup.includes('nothing listens')) await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
