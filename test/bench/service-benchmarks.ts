import { join } from 'node:path';
import { noPostgres } from '../support/postgres.ts';
import type { Benchmark } from './comparison.ts';
import { type LocalService, localService, postgresService } from './local-service.ts';
import type { Peer } from './peer.ts';

/** A benchmark that starts a service, and ends it afterwards. */
export interface Prepared {
  readonly name: string;
  readonly open: () => Promise<{ readonly benchmark: Benchmark; readonly close: () => Promise<void> }>;
}

// Enough that the start of the client, which counts, does not matter.
const REQUESTS = 20_000;
const ROUNDS = 3;
// One round is not counted, and one more run of each peer is for its memory.
const RUNS = ROUNDS + 2;
const SAMPLES = 20;

/** The benchmarks of `svc serve`; `url` is that of a service that responds at once and stores nothing. */
export function serviceBenchmarks(root: string, url: string): Prepared[] {
  const stores: Stores = { embedded: () => localService(root, 0) };
  if (!noPostgres()) stores.PostgreSQL = () => postgresService(root);
  const rates = Object.entries(stores).flatMap(([store, open]) =>
    ['call start', 'feedback replace'].flatMap((operation) =>
      [1, 8, 64].map((connections) => rate(root, url, { operation, connections }, store, open)),
    ),
  );
  return [...rates, samples(root)];
}

type Stores = { [name: string]: () => Promise<LocalService> };

function rate(
  root: string,
  bare: string,
  { operation, connections }: { readonly operation: string; readonly connections: number },
  store: string,
  start: Stores[string],
): Prepared {
  const requests = connections > 1 ? REQUESTS : REQUESTS / 4;
  const name = `${requests} times ${operation} in the local service, ${store}, ${connections} open`;
  const open = async () => {
    const service = await start();
    const peer = (what: string, url: string): Peer =>
      load(root, `${what}, ${connections} open`, url, operation, requests, connections);
    const peers = [peer('node:http', bare), peer('svc serve', service.url)] as const;
    const startMs = service.processorMs();
    const close = async (): Promise<void> => {
      const perRequest = (service.processorMs() - startMs) / (RUNS * requests);
      process.stdout.write(`processor time of svc serve: ${perRequest.toFixed(3)} ms per request\n`);
      await service.close();
    };
    return { benchmark: { name, rounds: ROUNDS, peers, aims: [] }, close };
  };
  return { name, open };
}

function samples(root: string): Prepared {
  const name = `${SAMPLES} times feedback schema in the local service`;
  const open = async () => {
    const small = await localService(root, 10_000);
    const large = await localService(root, 1_000_000);
    const [first, second] = [small, large].map(({ url, records }) =>
      load(root, `of ${records} records`, url, 'feedback schema', SAMPLES, 1),
    );
    if (!first || !second) throw new Error('there are two');
    return {
      benchmark: {
        name,
        rounds: 5,
        peers: [first, second] as const,
        aims: [{ peer: second.name, to: first.name, most: 1.5 }],
      },
      close: async () => void (await Promise.all([small.close(), large.close()])),
    };
  };
  return { name, open };
}

function load(root: string, name: string, url: string, operation: string, requests: number, connections: number): Peer {
  const script = join(root, 'test/bench/peers/load.js');
  return {
    name,
    command: [process.execPath, script, url, operation, String(requests), String(connections)],
    env: {},
    until: 'end',
  };
}
