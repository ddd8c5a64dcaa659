import { type Peer, peakOf, timeOf } from './peer.ts';

/** Peers that do the same, and what is wanted of them. */
export interface Contest {
  readonly name: string;
  /** The first one is what the others are compared with. */
  readonly peers: readonly [Peer, ...Peer[]];
  readonly aims: readonly Aim[];
  /** The most rounds, where each takes long. */
  readonly rounds?: number;
}

/** The most one peer may take of what another takes. */
export interface Aim {
  readonly peer: string;
  readonly to: string;
  readonly most: number;
}

/** What came of one peer. */
export interface Row {
  readonly name: string;
  /** Milliseconds. */
  readonly median: number;
  /** The quartiles, between which half of the runs are. */
  readonly spread: readonly [low: number, high: number];
  /** The median of what it took to what the first one took in the same round. */
  readonly ratio: number;
  /** The most memory of a run of its own, in MiB. */
  readonly peak: number;
}

/** What came of a contest. */
export interface Comparison {
  readonly name: string;
  readonly rows: readonly Row[];
  /** What came of the aims. */
  readonly aims: readonly (Aim & { readonly ratio: number })[];
}

/**
 * Has the peers of a contest run side by side: in each round every one once, another one first each time, so that what
 * else goes on in the machine disturbs them alike. One round before is not counted.
 */
export async function compared({ name, peers, aims }: Contest, rounds: number): Promise<Comparison> {
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
