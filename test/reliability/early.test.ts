import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { run } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { bodyPieces, writePieces } from '../support/trajectories.ts';

const answers: readonly [status: string, text: string, code: number][] = [
  ['401 Unauthorized', '{"error":"Unauthorized"}', 4],
  ['413 Payload Too Large', '{"detail":"too much of it"}', 5],
];

// What servers do with a connection on which they responded before the body had arrived.
const ends: { readonly [name: string]: (socket: Socket, answer: string) => void } = {
  'reads on': (socket, answer) => void socket.write(answer),
  'closes its side': (socket, answer) => void socket.end(answer),
  closes: (socket, answer) => void socket.pause().write(answer, () => socket.destroy()),
  resets: (socket, answer) => void socket.pause().write(answer, () => socket.resetAndDestroy()),
  'stops reading': (socket, answer) => void socket.pause().write(answer),
};

describe('a rejection in the middle of an upload stops it and is reported', () => {
  it.each(
    Object.keys(ends).flatMap((name) => answers.map(([status, text, code]) => [name, status, text, code] as const)),
  )('where the server %s after %s', async (name, status, text, code) => {
    const server = await refusing(
      1_000_000,
      `HTTP/1.1 ${status}\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
      ends[name],
    );
    const cwd = temporaryDirectory();
    writePieces(join(cwd, 'body.json'), bodyPieces(20_000_000, 1000));
    const { stderr, ...result } = await run(['train', '-f', 'body.json', '--error-format', 'json'], {
      cwd,
      env: { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1' },
    });
    const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
    expect(result.code, stderr).toBe(code);
    expect(error).toMatchObject({ status: Number(status.slice(0, 3)), applied: 'no' });
    expect(server.received()).toBeLessThan(20_000_000);
  });
});

it('a success in the middle of an upload is shown with a warning', async () => {
  const text = '{"id":"0190b5c0-0000-7000-8000-000000000001"}';
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n`;
  const server = await refusing(100, head + text, ends['stops reading']);
  const cwd = temporaryDirectory();
  writePieces(join(cwd, 'body.json'), bodyPieces(20_000_000, 1000));
  const { code, stdout, stderr } = await run(['train', '-f', 'body.json'], {
    cwd,
    env: { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1' },
  });
  expect({ code, stdout: stdout.trim() }, stderr).toEqual({ code: 0, stdout: text });
  expect(stderr).toMatch(/warning: the service responded after \d+ of \d+ bytes of the body were sent/);
});

async function refusing(
  after: number,
  answer: string,
  act: ((socket: Socket, answer: string) => void) | undefined,
): Promise<{ url: string; received: () => number }> {
  let received = 0;
  let isAnswered = false;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket
      .on('error', () => {})
      .on('data', (piece) => {
        received += piece.length;
        if (isAnswered || received < after) return;
        isAnswered = true;
        act?.(socket, answer);
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { url: `http://127.0.0.1:${port}`, received: () => received };
}
