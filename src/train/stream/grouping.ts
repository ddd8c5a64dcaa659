import { type JsonNode, kindOf, rawText, stringOf } from '../../json/json-node.ts';
import { formatJsonPath, type JsonPath, nodeAtPath } from '../../json/json-path.ts';

/** Puts trajectories that stand alone into groups: those with the same value at a path, in the order of the first of each. */
export interface Grouping {
  /** The group of a trajectory and its place in it, both from 0; or why it has none. */
  readonly assignGroup: (trajectory: JsonNode) => { readonly group: number; readonly at: number } | string;
  /** The group of the trajectory that was asked about last; none, if it has none. */
  readonly lastGroup: () => number | undefined;
  readonly groupCount: () => number;
}

/**
 * Groups by the value at a path. `onlyNeighbours`: a group is over when another begins, because what was sent cannot be
 * added to.
 */
export function createGrouping(path: JsonPath, isAdjacentOnly: boolean): Grouping {
  const groups = new Map<string, { readonly group: number; count: number }>();
  let lastKey: string | undefined;
  let lastGroup: number | undefined;
  return {
    assignGroup: (trajectory) => {
      lastGroup = undefined;
      const value = nodeAtPath(trajectory, path);
      if (!value) return `has no ${formatJsonPath(path)}, by which it would be grouped`;
      const key = kindOf(value) === 'string' ? `"${stringOf(value)}` : rawText(value);
      const group = groups.get(key) ?? { group: groups.size, count: 0 };
      if (isAdjacentOnly && group.count > 0 && key !== lastKey)
        return `its group, ${rawText(value)}, is over; sort by ${formatJsonPath(path)}, or leave out --no-spool`;
      groups.set(key, group);
      lastKey = key;
      lastGroup = group.group;
      group.count += 1;
      return { group: group.group, at: group.count - 1 };
    },
    lastGroup: () => lastGroup,
    groupCount: () => groups.size,
  };
}
