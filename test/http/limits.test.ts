import { describe, expect, it } from 'vitest';
import { bodyChunks } from '../../src/http/body-chunks.ts';
import type { ExchangeSignal, HttpRequest, HttpResponse, RequestBody, Send } from '../../src/http/message.ts';
import {
  createDeadline,
  noDeadline,
  type RequestProgress,
  TimeLimitError,
  watchExchange,
} from '../../src/http/time-limits.ts';
import { clock } from '../support/clock.ts';

const request: HttpRequest = { method: 'POST', url: 'https://svc.test/', headers: [], body: new Uint8Array() };

/** A Send that the test controls, and that ends when its signal is aborted. */
function pending(): {
  send: Send;
  answer: (body: AsyncIterable<Uint8Array>) => void;
  signal: () => ExchangeSignal | undefined;
  interim: () => void;
  /** The body of the request, as a connection takes it. */
  take: () => AsyncIterator<Uint8Array>;
} {
  let body: RequestBody = new Uint8Array();
  let resolve: (reply: HttpResponse) => void = () => {};
  let signal: ExchangeSignal | undefined;
  let interim: HttpRequest['onInterimResponse'];
  return {
    send: (sent) =>
      new Promise((settle, reject) => {
        resolve = settle;
        signal = sent.signal;
        interim = sent.onInterimResponse;
        body = sent.body;
        sent.signal?.addEventListener('abort', () => reject(new Error('aborted')));
      }),
    answer: (body) => resolve({ status: 200, statusText: '', headers: [], body }),
    signal: () => signal,
    interim: () => interim?.(),
    take: () =>
      (async function* () {
        yield* bodyChunks(body);
      })(),
  };
}

function setup(time = clock(), deadline = noDeadline) {
  const progress: RequestProgress = { phase: 'nothing', sentBytes: 0, attempts: 0 };
  const wire = pending();
  const send = watchExchange(deadline, progress, time.after)(wire.send);
  return { time, progress, wire, send };
}

async function limitOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'none';
  } catch (error) {
    return error instanceof TimeLimitError ? `${error.limit} ${error.limitMs}` : String(error);
  }
}

async function read(reply: Promise<HttpResponse>): Promise<void> {
  for await (const _ of (await reply).body);
}

describe('limits of an exchange', () => {
  it('10 s to connect, but not once the body is being sent', async () => {
    const slow = setup();
    const limit = limitOf(slow.send(request));
    slow.time.advance(9_999);
    slow.time.advance(1);
    expect(await limit).toBe('connect 10000');
    const connected = setup();
    const outcome = limitOf(connected.send(request));
    connected.progress.phase = 'part';
    connected.time.advance(10_000);
    expect(connected.wire.signal()?.aborted).toBe(false);
    connected.time.advance(590_000);
    expect(await outcome).toBe('firstByte 600000');
  });

  it('an upload that makes progress is not silent', async () => {
    const { time, wire, send, progress } = setup();
    const pieces = piecesOnDemand();
    const outcome = limitOf(send({ ...request, body: { length: 3, chunks: pieces.all } }));
    progress.phase = 'part';
    const leaving = wire.take();
    for (let minute = 0; minute < 30; minute += 9) {
      pieces.give();
      await leaving.next();
      time.advance(9 * 60_000);
    }
    expect(wire.signal()?.aborted).toBe(false);
    time.advance(60_000);
    expect(await outcome).toBe('firstByte 600000');
  });

  it('slow interim responses are a heartbeat, up to 10,000', async () => {
    const { time, wire, send, progress } = setup();
    const outcome = limitOf(send(request));
    progress.phase = 'all';
    for (let count = 1; count < 10_000; count += 1) {
      wire.interim();
      if (count % 99 === 0) time.advance(10_000);
      expect(wire.signal()?.aborted, String(count)).toBe(false);
    }
    wire.interim();
    expect(await outcome).toBe('Error: the server sent 10000 interim responses (1xx) before a response');
    expect(time.pending()).toBe(0);
  });

  it('10 min after the last interim response', async () => {
    const { time, wire, send, progress } = setup();
    const outcome = limitOf(send(request));
    progress.phase = 'all';
    time.advance(599_999);
    wire.interim();
    time.advance(599_999);
    expect(wire.signal()?.aborted).toBe(false);
    time.advance(1);
    expect(await outcome).toBe('firstByte 600000');
  });

  it('a deadline over attempts, waits and reading the response', async () => {
    const time = clock();
    const deadline = createDeadline(5000, time);
    time.advance(3000);
    expect(deadline.remainingMs()).toBe(2000);
    const { wire, send } = setup(time, deadline);
    const reply = send(request);
    wire.answer(stalling(wire));
    const outcome = limitOf(read(reply));
    await reply;
    time.advance(2000);
    expect(await outcome).toBe('total 5000');
    expect(createDeadline(undefined, time).remainingMs()).toBe(Number.POSITIVE_INFINITY);
    expect(time.pending()).toBe(0);
  });

  it('2 min between chunks of the response', async () => {
    const { time, wire, send, progress } = setup();
    const reply = send(request);
    progress.phase = 'all';
    wire.answer(stalling(wire, Buffer.from('a')));
    const pieces: string[] = [];
    const outcome = limitOf(
      (async () => {
        for await (const piece of (await reply).body) pieces.push(piece.toString());
      })(),
    );
    await time.settled(() => pieces.length === 1);
    time.advance(119_999);
    expect(wire.signal()?.aborted).toBe(false);
    time.advance(1);
    expect(await outcome).toBe('idle 120000');
  });

  it('the end of the exchange stops the timers', async () => {
    const { time, wire, send } = setup();
    const reply = send(request);
    wire.answer(
      (async function* () {
        yield Buffer.from('x');
      })(),
    );
    await read(reply);
    expect(time.pending()).toBe(0);
  });

  it('the signal of the request keeps its own reason', async () => {
    const { send } = setup();
    const controller = new AbortController();
    const outcome = send({ ...request, signal: controller.signal });
    controller.abort(new Error('by the user'));
    await expect(outcome).rejects.toThrow('by the user');
  });
});

/** A body whose chunks the test provides. */
function piecesOnDemand(): { all: () => AsyncGenerator<Uint8Array>; give: () => void } {
  let give = (): void => {};
  let given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return {
    all: async function* () {
      for (;;) {
        await given;
        given = new Promise((resolve) => {
          give = resolve;
        });
        yield Buffer.from('x');
      }
    },
    give: () => give(),
  };
}

async function* stalling(
  wire: { signal: () => ExchangeSignal | undefined },
  ...first: Uint8Array[]
): AsyncGenerator<Uint8Array> {
  yield* first;
  const signal = wire.signal();
  await new Promise((_, reject) => {
    if (signal?.aborted) reject(new Error('aborted'));
    signal?.addEventListener('abort', () => reject(new Error('aborted')));
  });
}
