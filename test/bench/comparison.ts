import { type Peer, peakOf, timeOf } from './peer.ts';

/** Peers that do the same, and the goals for them. */
export interface Benchmark {
  readonly name: string;
  /** The others are compared with the first one. */
  readonly peers: readonly [Peer, ...Peer[]];
  readonly aims: readonly Aim[];
  /** The maximum number of rounds, if each takes long. */
  readonly rounds?: number;
}

/** The maximum ratio of the time of one peer to that of another. */
interface Aim {
  readonly peer: string;
  readonly to: string;
  readonly most: number;
}

/** The result of one peer. */
interface Row {
  readonly name: string;
  /** Milliseconds. */
  readonly median: number;
  /** The lower and upper quartile. */
  readonly spread: readonly [low: number, high: number];
  /** The median of its time relative to that of the first one in the same round. */
  readonly ratio: number;
  /** The peak memory of a separate run, in MiB. */
  readonly peak: number;
}

/** The result of a benchmark. */
export interface Comparison {
  readonly name: string;
  readonly rows: readonly Row[];
  /** The aims with their results. */
  readonly aims: readonly (Aim & { readonly ratio: number })[];
}

/**
 * Runs the peers of a benchmark in alternation: each once per round, starting with another one each time, so that other
 * load on the machine affects them equally. One round before is not counted.
 */
export async function comparePeers({ name, peers, aims }: Benchmark, rounds: number): Promise<Comparison> {
  const times = new Map<string, number[]>(peers.map((peer) => [peer.name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const at of peers.keys()) {
      const peer = peers[(at + round) % peers.length] ?? peers[0];
      const time = await timeOf(peer);
      if (round > 0) times.get(peer.name)?.push(time);
    }
  }
  const ratio = (peer: string, to: string): number => {
    const others = times.get(to) ?? [];
    return quantile(
      (times.get(peer) ?? []).map((time, at) => time / (others[at] ?? Number.NaN)),
      0.5,
    );
  };
  const rows: Row[] = [];
  for (const peer of peers) {
    const samples = times.get(peer.name) ?? [];
    const spread = [quantile(samples, 0.25), quantile(samples, 0.75)] as const;
    const peak = await peakOf(peer);
    rows.push({
      name: peer.name,
      median: quantile(samples, 0.5),
      spread,
      ratio: ratio(peer.name, peers[0].name),
      peak,
    });
  }
  return {
    name,
    rows,
    aims: aims.filter(({ to }) => times.has(to)).map((aim) => ({ ...aim, ratio: ratio(aim.peer, aim.to) })),
  };
}

function quantile(numbers: readonly number[], part: number): number {
  const sorted = [...numbers].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
