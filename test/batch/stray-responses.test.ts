import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

const env = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1' };

interface KeptRequest {
  readonly body: string;
  readonly socket: Socket;
  /** Requests on this connection, this one included. */
  readonly count: number;
}

/** A server that keeps its connections, and determines what it sends over them. Returns its URL. */
async function keepingServer(onConnection: (socket: Socket) => void, onRequest: (request: KeptRequest) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let received = '';
    let count = 0;
    socket.on('error', () => {});
    onConnection(socket);
    socket.on('data', (piece) => {
      received += piece.toString('latin1');
      for (;;) {
        const [head, length] = /^.*?content-length: (\d+).*?\r\n\r\n/is.exec(received) ?? [];
        if (head === undefined || received.length < head.length + Number(length)) return;
        const body = received.slice(head.length, head.length + Number(length));
        received = received.slice(head.length + Number(length));
        count += 1;
        onRequest({ body, socket, count });
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}

const kept = (body: string): string =>
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const completion = (text: string): string =>
  kept(
    JSON.stringify({
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
      usage: {},
    }),
  );
const promptOf = (body: string): string => JSON.parse(body).messages[0].content;

function run(url: string, command: readonly string[], lines: readonly unknown[]) {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'in.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const batch = (...more: string[]): Promise<Result> =>
    svc([...command, '--base-url', url, '--batch', 'in.jsonl', '-o', 'out.jsonl', ...more], { cwd, env });
  const entries = (): Entry[] =>
    readFileSync(join(cwd, 'out.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { batch, entries };
}

const uuid = (at: number): string => `0199f3c0-5f3a-7c21-9b6e-${String(at).padStart(12, '0')}`;

interface Entry {
  readonly line: number;
  readonly exit_code: number;
  readonly applied: string;
  readonly warnings: string[];
  readonly error: { readonly message: string };
  readonly response: { readonly id: string; readonly choices: { readonly message: { readonly content: string } }[] };
}

const chats = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ messages: [{ role: 'user', content: `p${at + 1}` }] }));
const outcomes = (entries: readonly Entry[]) =>
  entries.map(({ line, exit_code, applied }) => [line, exit_code, applied]);

describe('a second response on a kept connection', () => {
  it('in the same packet makes the lines of that connection unknown, and the next line uses another connection', async () => {
    let connections = 0;
    const url = await keepingServer(
      () => {
        connections += 1;
      },
      ({ body, socket, count }) => {
        const answer = completion(promptOf(body));
        socket.write(connections === 1 && count === 3 ? answer + answer : answer);
      },
    );
    const { batch, entries } = run(url, ['chat'], chats(5));
    const { code, stderr } = await batch('--concurrency', '1');
    expect(outcomes(entries())).toEqual([
      [1, 8, 'unknown'],
      [2, 8, 'unknown'],
      [3, 8, 'unknown'],
      [4, 0, 'yes'],
      [5, 0, 'yes'],
    ]);
    expect(code).toBe(10);
    expect(connections).toBe(2);
    expect(stderr).toContain('svc: warning: line 3: the response may be for another request\n');
    expect(stderr).toContain('5 lines: 2 done, 0 failed, 3 unknown, 0 not sent');
    expect(stderr).toContain('lines that may have been applied: 1-3');
    // The response is kept, and nothing is sent again unasked.
    expect(entries()[2]?.response.choices[0]?.message.content).toBe('p3');
    expect((await batch('--resume')).code).toBe(10);
    expect(connections).toBe(2);
    expect((await batch('--resume', '--retry-unknown')).code).toBe(0);
    expect(outcomes(entries())).toEqual([1, 2, 3, 4, 5].map((line) => [line, 0, 'yes']));
  });

  it('that arrives after the next request was sent shifts responses: all of them become unknown', async () => {
    const url = await keepingServer(
      () => {},
      ({ body, socket, count }) => {
        const answer = completion(promptOf(body));
        // The second request gets a copy of the first response, and its own response comes later.
        if (count !== 2) socket.write(answer);
        else socket.write(completion('p1'), () => setImmediate(() => socket.write(answer)));
      },
    );
    const { batch, entries } = run(url, ['chat'], chats(8));
    const { code, stderr } = await batch('--concurrency', '1');
    const isWrong = ({ line, exit_code, response }: Entry): boolean =>
      exit_code === 0 && response.choices[0]?.message.content !== `p${line}`;
    expect(entries().filter(isWrong)).toEqual([]);
    expect(code).toBe(10);
    expect(stderr).toContain('line 2: the response may be for another request');
    expect(entries().map(({ line }) => line)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('does not matter if the responses have the ids of their requests', async () => {
    const url = await keepingServer(
      () => {},
      ({ body, socket }) => {
        const { id, trace_id } = JSON.parse(body).start;
        const answer = kept(JSON.stringify({ id, trace_id }));
        socket.write(answer + answer);
      },
    );
    const line = { start: { project_id: 'a/b', op_name: 'op' } };
    const { batch, entries } = run(url, ['call', 'start'], [line, line]);
    expect((await batch()).code).toBe(0);
    expect(outcomes(entries())).toEqual([
      [1, 0, 'yes'],
      [2, 0, 'yes'],
    ]);
  });
});

describe('what a server sends on an idle connection', () => {
  // The client ends the connection when it has read the last response: the server sends this after that.
  const endingWith = (notice: string) =>
    keepingServer(
      (socket) => {
        socket.allowHalfOpen = true;
        socket.on('end', () => socket.end(notice));
      },
      ({ body, socket }) => void socket.write(completion(promptOf(body))),
    );

  it.each([
    ['is no response as a notice of closing', '408 Request Time-out', 'Connection: close\r\n', 0, 'yes'],
    ['may be a response where it is a 408 that does not close', '408 Request Time-out', '', 8, 'unknown'],
    ['may be a response with any other status', '200 OK', 'Connection: close\r\n', 8, 'unknown'],
  ])('%s', async (_, status, header, exitCode, applied) => {
    const url = await endingWith(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n${header}\r\n`);
    const { batch, entries } = run(url, ['chat'], chats(2));
    await batch('--concurrency', '1');
    expect(outcomes(entries())).toEqual([1, 2].map((line) => [line, exitCode, applied]));
  });
});

describe('what a server sends in the packet of a response', () => {
  const notice = 'HTTP/1.1 408 Request Time-out\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

  it.each([
    ['is no response as a notice of closing', notice, 0, 'yes'],
    ['may be a response where it is a 408 that does not close', notice.replace(/Conn.*\r\n\r\n/, '\r\n'), 8, 'unknown'],
    ['may be a response after which comes a notice of closing', completion('x') + notice, 8, 'unknown'],
  ])('%s', async (_, extra, exitCode, applied) => {
    let connections = 0;
    const url = await keepingServer(
      () => {
        connections += 1;
      },
      ({ body, socket }) => void socket.end(completion(promptOf(body)) + extra),
    );
    const { batch, entries } = run(url, ['chat'], chats(3));
    await batch('--concurrency', '1');
    expect(outcomes(entries())).toEqual([1, 2, 3].map((line) => [line, exitCode, applied]));
    expect(connections).toBe(3);
  });

  it('may be part of its text, which stays unchanged', async () => {
    const url = await keepingServer(
      () => {},
      ({ socket }) => void socket.write(completion(notice)),
    );
    const { batch, entries } = run(url, ['chat'], chats(2));
    expect((await batch('--concurrency', '1')).code).toBe(0);
    expect(entries().map(({ response }) => response.choices[0]?.message.content)).toEqual([notice, notice]);
  });
});

it('data that arrives before a request is not its response', async () => {
  let requests = 0;
  const url = await keepingServer(
    (socket) => socket.write(completion('early')),
    () => {
      requests += 1;
    },
  );
  const { batch, entries } = run(url, ['chat'], chats(1));
  const { code } = await batch('--retries', '0', '--max-outage', '0');
  expect({ code, requests }).toEqual({ code: 10, requests: 0 });
  expect(entries()[0]).toMatchObject({ exit_code: 7, applied: 'no' });
  expect(entries()[0]?.error.message).toBe(
    `could not connect to ${url}: the server sent data before it received a request`,
  );
});

describe('a response with other ids', () => {
  const line = (id: string) => ({
    start: {
      project_id: 'a/b',
      op_name: 'op',
      id,
      trace_id: uuid(0),
      attributes: {},
      inputs: {},
      started_at: '2026-01-01T00:00:00Z',
    },
  });
  const scene = async (count: number) => {
    const url = await keepingServer(
      () => {},
      ({ socket }) => void socket.write(kept(`{"id":"other","trace_id":"${uuid(0)}"}`)),
    );
    return run(
      url,
      ['call', 'start'],
      Array.from({ length: count }, (_, at) => line(uuid(at + 1))),
    );
  };

  it('is a warning with its line, in the result as well', async () => {
    const { batch, entries } = await scene(2);
    const { code, stderr } = await batch('--ordered');
    const warning = (id: string) => `the response has id "other", but "${id}" was sent; it may be for another request`;
    expect(code).toBe(0);
    expect(stderr).toContain(`svc: warning: line 2: ${warning(uuid(2))}\n`);
    expect(entries().map(({ warnings }) => warnings)).toEqual([[warning(uuid(1))], [warning(uuid(2))]]);
  });

  it('for many lines is listed by line', async () => {
    const { batch } = await scene(12);
    const { stderr } = await batch();
    expect(stderr.match(/warning: line \d+: the response has id/g)).toHaveLength(5);
    expect(stderr).toContain('svc: warning: the responses of 12 lines have warnings: lines 1-12\n');
  });

  it('fails its line with --strict', async () => {
    const { batch, entries } = await scene(1);
    const { code } = await batch('--strict');
    expect(code).toBe(10);
    expect(entries()[0]).toMatchObject({ exit_code: 11, applied: 'yes', response: { id: 'other' } });
    expect(entries()[0]?.error.message).toContain(`the response has id "other", but "${uuid(1)}" was sent`);
  });
});

it('a service that closes connections without notice loses requests only until svc stops keeping connections', async () => {
  const url = await keepingServer(
    () => {},
    ({ body, socket, count }) => {
      if (count === 1) socket.write(completion(promptOf(body)));
      else socket.destroy();
    },
  );
  const { batch, entries } = run(url, ['chat'], chats(60));
  const { stderr } = await batch('--concurrency', '2');
  expect(outcomes(entries()).filter(([, code]) => code === 0).length, stderr).toBeGreaterThanOrEqual(58);
  expect(entries().every(({ applied }) => applied === 'yes' || applied === 'unknown')).toBe(true);
});
