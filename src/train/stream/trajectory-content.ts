import type { TextSource } from './text-source.ts';
import type { TrajectoryChecks } from './trajectory-checks.ts';

/** The trajectories of a body. */
export interface TrajectoryContent {
  readonly sources: readonly TextSource[];
  /**
   * Reads and checks everything for the first time; syntax errors are reported to the checks. Yields the bytes of the group
   * array as it is sent, unless `isReordered`. Chunks are `passing`.
   */
  readonly readFirst: (checks: TrajectoryChecks) => AsyncIterable<Uint8Array>;
  /** The `sendable` bytes between the brackets of a group array (usually 0, the only one), once everything was read. */
  readonly rereadArray: (arrayIndex: number) => AsyncIterable<Uint8Array>;
  /** `readFirst` does not yield the group array: the order is known only when everything was read. */
  readonly isReordered: boolean;
}
