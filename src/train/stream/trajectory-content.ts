import type { ChunkLifetime } from './chunk-batcher.ts';
import type { TextSource } from './text-source.ts';
import type { TrajectoryChecks } from './trajectory-checks.ts';

/** The trajectories of a body, wherever they come from. */
export interface TrajectoryContent {
  readonly sources: readonly TextSource[];
  /**
   * Reads everything for the first time and has it checked; what cannot be read on is told to the checks. The bytes are
   * those of the list as it is sent, where that is known by then; they are passing where they can be had again.
   */
  readonly readFirst: (checks: TrajectoryChecks) => AsyncIterable<Uint8Array>;
  /** The lasting bytes between the brackets of a list of the body (usually there is one, 0), once everything was read. */
  readonly rereadArray: (arrayIndex: number) => AsyncIterable<Uint8Array>;
  /** What `first` yields is not the list: the order is known only when everything was read. */
  readonly isReordered: boolean;
}

/** What is sent as it is read for the first time has to last; what is only looked at then need not. */
export function chunkLifetimeFor(sources: readonly TextSource[]): ChunkLifetime {
  return sources.some(({ isSinglePass }) => isSinglePass) ? 'lasting' : 'passing';
}
