import type { TextLocation } from '../stream/text-location.ts';
import { formatLocation, formatTrajectoryPath } from './format-location.ts';
import { createGroupStats, type GroupStats } from './group-stats.ts';
import { countGroup, type LintSummary } from './lint-summary.ts';

/** The groups that may still get trajectories: the current one, or all with `--group-by`. */
export interface OpenGroups {
  /** The group with an index; if it is not open, it starts at that location. */
  readonly getOrOpen: (index: number, label: string, location: TextLocation) => GroupStats;
  /** Adds all open groups to the summary. */
  readonly closeAll: () => void;
  /** Drops all open groups, because they are incomplete. */
  readonly discardAll: () => void;
}

/** No open groups; closed ones are added to the summary. */
export function createOpenGroups(summary: LintSummary): OpenGroups {
  const groupsByIndex = new Map<number, GroupStats>();
  return {
    getOrOpen: (index, label, location) => {
      const group = groupsByIndex.get(index) ?? createGroupStats(index, label, location);
      groupsByIndex.set(index, group);
      return group;
    },
    closeAll: () => {
      for (const group of groupsByIndex.values())
        countGroup(summary, group, formatLocation(group.label, group.location), formatTrajectoryPath(group.index));
      groupsByIndex.clear();
    },
    discardAll: () => groupsByIndex.clear(),
  };
}
