import type { TextLocation } from '../stream/text-location.ts';
import { formatLocation, formatTrajectoryPath } from './format-location.ts';
import { createGroupStats, type GroupStats } from './group-stats.ts';
import { countGroup, type LintSummary } from './lint-summary.ts';

/** The groups that are not over: the one that passes, or, where trajectories are put into groups, all of them. */
export interface OpenGroups {
  /** The group of a number; where it is not open yet it begins at that place. */
  readonly getOrOpen: (index: number, label: string, location: TextLocation) => GroupStats;
  /** Counts all of them: they are over. */
  readonly closeAll: () => void;
  /** Forgets all of them: what there is of them says nothing. */
  readonly discardAll: () => void;
}

/** No groups yet; those that are over are counted in the summary. */
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
