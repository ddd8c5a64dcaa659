import type { Place } from '../trajectories/place.ts';
import { type Group, newGroup } from './group.ts';
import { pathText, placeText } from './place.ts';
import { countGroup, type Summary } from './summary.ts';

/** The groups that are not over: the one that passes, or, where trajectories are put into groups, all of them. */
export interface OpenGroups {
  /** The group of a number; where it is not open yet it begins at that place. */
  readonly at: (index: number, label: string, place: Place) => Group;
  /** Counts all of them: they are over. */
  readonly close: () => void;
  /** Forgets all of them: what there is of them says nothing. */
  readonly drop: () => void;
}

/** No groups yet; those that are over are counted in the summary. */
export function openGroups(summary: Summary): OpenGroups {
  const open = new Map<number, Group>();
  return {
    at: (index, label, place) => {
      const group = open.get(index) ?? newGroup(index, label, place);
      open.set(index, group);
      return group;
    },
    close: () => {
      for (const group of open.values())
        countGroup(summary, group, placeText(group.label, group.place), pathText(group.index));
      open.clear();
    },
    drop: () => open.clear(),
  };
}
