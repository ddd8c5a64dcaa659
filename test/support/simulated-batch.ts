import { type BatchOptions, DEFAULT_BATCH_OPTIONS } from '../../src/batch/batch-options.ts';
import { createScheduler } from '../../src/batch/send/scheduler.ts';
import { withRetries } from '../../src/client/retry.ts';
import { type Effect, Failure } from '../../src/errors.ts';
import { type SimulatedService, seededRandom } from './simulated-service.ts';

export interface SimulatedBatch {
  /** Lines that ended, and how. */
  readonly done: number;
  readonly failed: number;
  readonly unknown: number;
  /** Requests that the service refused, of all. */
  readonly refused: number;
  readonly requests: number;
  /** Lines that the service ran more than once. */
  readonly twice: number;
  /** Milliseconds that requests took on average. */
  readonly meanMs: number;
  readonly stopReason: string | undefined;
}

export interface SimulatedRun {
  readonly service: SimulatedService;
  /** What a client sees of a request that is refused then. */
  readonly failure: Failure | ((now: number) => Failure);
  readonly effect?: Effect;
  readonly options?: Partial<BatchOptions>;
  readonly max?: number;
  /** Default: 3. */
  readonly maxRetries?: number;
  /** Counts from here. */
  readonly from?: number;
  readonly to: number;
  readonly seed?: number;
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Sends endless lines to a simulated service with the scheduler and the retries of a batch, on a clock of its own. */
export async function simulateBatch(run: SimulatedRun): Promise<SimulatedBatch> {
  const { batches } = await simulateBatches(run, [run.seed ?? 1]);
  const [batch] = batches;
  if (!batch) throw new Error('no batch');
  return batch;
}

/** The same by several processes at once, with a seed each; also when each request was sent. */
export async function simulateBatches(
  run: SimulatedRun,
  seeds: readonly number[],
): Promise<{ readonly batches: readonly SimulatedBatch[]; readonly sentAt: readonly number[] }> {
  const clock = createClock();
  const sentAt: number[] = [];
  const random = seededRandom(seeds[0] ?? 1);
  const service: Request = (end) => {
    if (clock.now() >= (run.from ?? 0)) sentAt.push(clock.now());
    run.service(clock.now(), random, (time, action) => void clock.at(time, action), end);
  };
  const running = seeds.map((seed) => startBatch(run, service, clock, seed === seeds[0] ? random : seededRandom(seed)));
  await clock.runUntil(run.to);
  return { batches: running.map((end) => end()), sentAt };
}

type Request = (end: (isDone: boolean) => void) => void;

function createClock() {
  const events: { readonly time: number; readonly action: () => void }[] = [];
  let now = 0;
  return {
    now: () => now,
    /** Calls back at a time; returns a function that cancels it. */
    at: (time: number, action: () => void): (() => void) => {
      const event = { time: Math.max(time, now), action };
      let index = events.length;
      while (index > 0 && (events[index - 1]?.time ?? 0) <= event.time) index -= 1;
      events.splice(index, 0, event);
      return () => void (events.includes(event) && events.splice(events.indexOf(event), 1));
    },
    runUntil: async (end: number): Promise<void> => {
      await settle();
      for (let next = events.pop(); next && next.time <= end; next = events.pop()) {
        now = next.time;
        next.action();
        while (events.at(-1)?.time === now) events.pop()?.action();
        await settle();
      }
      now = end;
    },
  };
}

function startBatch(
  { failure: refusal, effect = 'paid', options = {}, max = 64, maxRetries = 3, from = 0, to }: SimulatedRun,
  service: Request,
  { now, at }: ReturnType<typeof createClock>,
  random: () => number,
): () => SimulatedBatch {
  const runtime = {
    elapsed: now,
    after: (milliseconds: number, action: () => void) => at(now() + milliseconds, action),
    randomBytes: (count: number) => new Uint8Array(count).map(() => random() * 256),
  };
  const stop = new AbortController();
  const range = { initial: Math.min(8, max), max, maxHold: 'paid' } as const;
  const hooks = { onNotice: () => {}, onStop: () => {} };
  const scheduler = createScheduler({ ...DEFAULT_BATCH_OPTIONS, ...options }, range, runtime, stop.signal, hooks);
  const count = { done: 0, failed: 0, unknown: 0, refused: 0, requests: 0, twice: 0, sumMs: 0 };
  const attempt = async (turn: ReturnType<typeof scheduler.createTurn>, line: { runs: number }): Promise<void> => {
    await turn.acquire();
    const startedAt = now();
    const isDone = await new Promise<boolean>(service);
    const failure = isDone ? undefined : typeof refusal === 'function' ? refusal(now()) : refusal;
    if (isDone) line.runs += 1;
    if (startedAt >= from) {
      count.requests += 1;
      count.sumMs += now() - startedAt;
      if (failure) count.refused += 1;
      if (line.runs > 1) count.twice += 1;
    }
    turn.report(failure);
    if (failure) throw failure;
  };
  const sendLine = async (): Promise<void> => {
    const turn = scheduler.createTurn();
    const line = { runs: 0 };
    const sending = { signal: stop.signal, turn, onRetry: async () => turn.release() };
    const connection = { maxRetries };
    const failure = await withRetries(
      () => attempt(turn, line),
      { effect, connection },
      () => Number.POSITIVE_INFINITY,
      sending,
      runtime,
    ).then(
      () => undefined,
      (error: unknown) => (error instanceof Failure ? turn.toOutcome(error) : undefined),
    );
    const status = !failure ? 'done' : failure.facts.applied === 'unknown' ? 'unknown' : 'failed';
    if (now() >= from && !stop.signal.aborted && !scheduler.stopSignal.aborted) count[status] += 1;
    scheduler.addOutcome({ failure, status });
    turn.release();
  };
  const feed = async (): Promise<void> => {
    while (now() < to && !scheduler.stopSignal.aborted) await scheduler.start(sendLine);
  };
  void feed();
  return () => {
    const stopReason = scheduler.stopReason();
    stop.abort();
    return { ...count, meanMs: count.sumMs / Math.max(1, count.requests), stopReason };
  };
}
