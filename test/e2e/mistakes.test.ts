import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { cleanEnv, program, waitForExit } from '../support/process.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const page = new URL('./mistakes.md', import.meta.url);

// Processes that run at the same time.
const CONCURRENCY = 8;

// Every block of the page is run, and the page is rendered again with what svc printed. `npm run generate` rewrites it:
// read the diff before it is committed.
it('each mistake prints what happened, why, and the next step', { timeout: 240_000 }, async () => {
  const text = readFileSync(page, 'utf8');
  const blocks = [...text.matchAll(/^```console\n[\s\S]*?^```$/gm)].map(([block]) => block);
  expect(blocks.length).toBeGreaterThanOrEqual(60);
  const rendered = new Map<string, string>();
  const queue = [...blocks];
  const work = async (): Promise<void> => {
    for (let block = queue.shift(); block !== undefined; block = queue.shift())
      rendered.set(block, await renderBlock(block));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  const actual = text.replace(/^```console\n[\s\S]*?^```$/gm, (block) => rendered.get(block) ?? '');
  await expect(actual).toMatchFileSnapshot(page.pathname);
});

it('each mistake names what it happened to, and none is a bug in svc', () => {
  const text = readFileSync(page, 'utf8');
  expect(text.match(/bug in svc|undefined|\[object/g)).toEqual(null);
});

it('at least 95 of 100 failures have a line with the next step, or with what to fix', () => {
  const blocks = [...readFileSync(page, 'utf8').matchAll(/^```console\n([\s\S]*?)^exit (\d+)\n```$/gm)];
  const failed = blocks.filter(([, , code]) => code !== '0').map(([, text = '']) => text);
  const silent = failed.filter((text) => !/^ {2}\S/m.test(text));
  expect(silent.length / failed.length, silent.join('\n')).toBeLessThanOrEqual(0.05);
});

/** The setup of a block (its lines with `#`), its command, and what the command printed. */
async function renderBlock(block: string): Promise<string> {
  const lines = block.split('\n').slice(1, -1);
  const setup = lines.filter((line) => line.startsWith('# ')).map((line) => line.slice(2));
  const command = lines.find((line) => line.startsWith('$ '))?.slice(2) ?? '';
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
  const { code, stderr } = await runCommand(command, cwd, cleanEnv(cwd, env));
  const printed = stderr
    .replaceAll(`127.0.0.1:${port}`, '127.0.0.1:8080')
    .replaceAll(`port ${port}`, 'port 8080')
    .replaceAll(cwd, '~')
    .replace(/\d{4}-\d\d-\d\dT[\d:]+Z$/gm, '…')
    .replace(/retrying in [\d.]+ s|retrying now|retrying(?= \()/g, 'retrying in … s')
    .replace(/\d+ ms\b|(?:[\d.]+ s, )?[\d.]+\/s/g, '…')
    .replace(/\n$/, '');
  const input = lines.filter((line) => line.startsWith('# ') || line.startsWith('$ '));
  return ['```console', ...input, ...(printed === '' ? [] : [printed]), `exit ${code}`, '```'].join('\n');
}

/** Runs svc in this process; by the built program if the command needs a shell, or the thread of jq, which is part of the build. */
async function runCommand(
  command: string,
  cwd: string,
  env: Record<string, string>,
): Promise<{ code: number | null; stderr: string }> {
  const isProgram = !command.startsWith('svc ') || /[|&;<>`]|\$\(|--jq/.test(command);
  const body = isProgram ? `"${process.execPath}" "${program}" "$@"` : `printf '%s\\0' "$@"`;
  const script = `svc() { ${body}; }\n${command}${isProgram ? ' >/dev/null' : ''}`;
  const child = spawn('bash', ['-c', script], { cwd, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end();
  const ended = await waitForExit(child);
  return isProgram ? ended : svc(ended.stdout.split('\0').slice(0, -1), { cwd, env, stdin: '' });
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
