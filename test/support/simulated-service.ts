/** A service on a simulated clock: it ends each request with `true`, or refuses it with `false`. */
export type SimulatedService = (
  now: number,
  random: () => number,
  at: Schedule,
  end: (isDone: boolean) => void,
) => void;
type Schedule = (time: number, action: () => void) => void;
/** The requests that a service takes at a time. */
type Capacity = (now: number) => number;

/** How many requests a client has in flight, and what it hears of them. */
export interface SimulatedClient {
  readonly current: () => number;
  readonly onResponse: (now: number, startedAt: number, isFull: boolean) => void;
  readonly onOverload: (now: number, retryAfterMs: number) => void;
  /** When it starts, and when it sends its last request. */
  readonly from?: number;
  readonly to?: number;
}

export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return ((state ^ (state >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** Refuses what exceeds its capacity; ends everything that it holds during a stall after it. */
export function refusingService(latencyMs: number, capacity: Capacity, stall = { from: 0, to: 0 }): SimulatedService {
  let busy = 0;
  return (now, random, at, end) => {
    if (busy >= capacity(now)) return at(now + 1, () => end(false));
    busy += 1;
    const endsAt = now + latencyMs * (0.9 + random() / 5);
    const isStalled = endsAt > stall.from && now < stall.to;
    at(isStalled ? Math.max(endsAt, stall.to + random() * latencyMs) : endsAt, () => {
      busy -= 1;
      end(true);
    });
  };
}

/** Queues what exceeds its capacity, so that latency grows. */
export function queueingService(latencyMs: number, capacity: Capacity): SimulatedService {
  let busy = 0;
  const queue: ((now: number) => void)[] = [];
  return (now, random, at, end) => {
    const run = (startedAt: number): void => {
      busy += 1;
      const endsAt = startedAt + latencyMs * (0.9 + random() / 5);
      at(endsAt, () => {
        busy -= 1;
        while (busy < capacity(endsAt) && queue.length > 0) queue.shift()?.(endsAt);
        end(true);
      });
    };
    if (busy < capacity(now)) run(now);
    else queue.push(run);
  };
}

/** Refuses this share of requests, however few are in flight; `meanInFlight` is that of all requests. */
export function sporadicService(latencyMs: number, share: number) {
  let [inFlight, requests, sum] = [0, 0, 0];
  const service: SimulatedService = (now, random, at, end) => {
    inFlight += 1;
    requests += 1;
    sum += inFlight;
    const isDone = random() >= share;
    at(now + latencyMs * (0.9 + random() / 5), () => {
      inFlight -= 1;
      end(isDone);
    });
  };
  return { service, meanInFlight: () => sum / requests };
}

/** Refuses what exceeds a rate. */
export function ratedService(latencyMs: number, perSecond: number, burst: number): SimulatedService {
  let tokens = burst;
  let filledAt = 0;
  return (now, _, at, end) => {
    tokens = Math.min(burst, tokens + ((now - filledAt) * perSecond) / 1000);
    filledAt = now;
    const isTaken = tokens >= 1;
    if (isTaken) tokens -= 1;
    at(now + (isTaken ? latencyMs : 1), () => end(isTaken));
  };
}

/** Takes so many requests per window of time. */
export function windowedService(latencyMs: number, most: number, windowMs = 1000): SimulatedService {
  let [taken, window] = [0, 0];
  return (now, random, at, end) => {
    if (Math.floor(now / windowMs) > window) [window, taken] = [Math.floor(now / windowMs), 0];
    const isTaken = taken < most;
    if (isTaken) taken += 1;
    at(now + (isTaken ? latencyMs * (0.9 + random() / 5) : 1), () => end(isTaken));
  };
}

export function fixedLimit(limit: number): SimulatedClient {
  return { current: () => limit, onResponse: () => {}, onOverload: () => {} };
}

/** Lets clients with endless lines send to a service until `to`; counts, per client, what ended from `from` on, in milliseconds. */
export function simulate(
  service: SimulatedService,
  clients: readonly SimulatedClient[],
  from: number,
  to: number,
  seed = 1,
) {
  const events: { readonly time: number; readonly action: () => void }[] = [];
  const at: Schedule = (time, action) => {
    let index = events.length;
    while (index > 0 && (events[index - 1]?.time ?? 0) < time) index -= 1;
    events.splice(index, 0, { time, action });
  };
  const random = seededRandom(seed);
  let now = 0;
  const counts = clients.map((client) => {
    const count = { done: 0, refused: 0, allDone: 0 };
    let active = 0;
    let notBefore = 0;
    let refusalsInRow = 0;
    const fill = (): void => {
      while (active < client.current() && now >= notBefore && now < (client.to ?? to)) {
        active += 1;
        const startedAt = now;
        service(now, random, at, (isDone) => {
          const isCounted = now >= from;
          if (isDone) client.onResponse(now, startedAt, active >= client.current());
          else client.onOverload(now, 0);
          active -= 1;
          refusalsInRow = isDone ? 0 : refusalsInRow + 1;
          // As the batch does for a service that refuses even one request.
          if (refusalsInRow > 2 && client.current() === 1) {
            notBefore = now + Math.min(1000, 50 * 2 ** refusalsInRow);
            at(notBefore, fill);
          }
          if (isDone) count.allDone += 1;
          if (isCounted && isDone) count.done += 1;
          if (isCounted && !isDone) count.refused += 1;
          fill();
        });
      }
    };
    at(client.from ?? 0, fill);
    return count;
  });
  for (let next = events.pop(); next && next.time <= to; next = events.pop()) {
    now = next.time;
    next.action();
  }
  return counts;
}

/** Ends one request after the other, 1.2 ms each, and pauses for up to 400 ms now and then, as a busy machine with a slow disk. */
export function pausingService(): SimulatedService {
  let freeAt = 0;
  return (now, random, at, end) => {
    const pauseMs = random() < 0.005 ? random() * 400 : 0;
    freeAt = Math.max(freeAt, now) + pauseMs + random() * 2.4;
    at(freeAt, () => end(true));
  };
}

/** A processor that svc and the service share with others: slow at first, and slow again in spells. */
export function sharedProcessor(): SimulatedService {
  let freeAt = 0;
  let requests = 0;
  let spell = { end: 0, factor: 1 };
  return (now, random, at, end) => {
    requests += 1;
    if (now > spell.end) spell = { end: now + 100 + 800 * random(), factor: random() < 0.5 ? 1 : 1 + 4 * random() };
    const warmUp = 1 + 4 * Math.exp(-requests / 300);
    freeAt = Math.max(freeAt, now) + 0.6 * random() * spell.factor * warmUp;
    at(freeAt, () => end(true));
  };
}

const steady = (capacity: number) => (): number => capacity;
const after =
  (before: number, later: number) =>
  (now: number): number =>
    now < 20_000 ? before : later;

/** The services that the limit is measured with, and the best fixed number at each. */
export const simulatedServices: readonly {
  readonly name: string;
  readonly best: number;
  readonly create: () => SimulatedService;
}[] = [
  { name: '1 ms, 1 at a time', best: 1, create: () => refusingService(1, steady(1)) },
  { name: '20 ms, 6 at a time', best: 6, create: () => refusingService(20, steady(6)) },
  { name: '20 ms, a queue behind 6', best: 6, create: () => queueingService(20, steady(6)) },
  { name: '500 ms, 1 at a time', best: 1, create: () => refusingService(500, steady(1)) },
  { name: '500 ms, 6 at a time', best: 6, create: () => refusingService(500, steady(6)) },
  { name: '500 ms, 32 at a time', best: 32, create: () => refusingService(500, steady(32)) },
  { name: '500 ms, 200 at a time', best: 200, create: () => refusingService(500, steady(200)) },
  { name: '500 ms, a queue behind 32', best: 32, create: () => queueingService(500, steady(32)) },
  { name: '20 ms, 100 per second', best: 2, create: () => ratedService(20, 100, 20) },
  { name: '500 ms, 64 at a time, then 32', best: 32, create: () => refusingService(500, after(64, 32)) },
  { name: '100 ms, 32 at a time, then 64', best: 64, create: () => refusingService(100, after(32, 64)) },
  {
    name: '500 ms, 32 at a time, a stall of 20 s',
    best: 32,
    create: () => refusingService(500, steady(32), { from: 5000, to: 25_000 }),
  },
];
