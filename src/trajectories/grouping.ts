import { type JsonNode, kindOf, stringOf, textOf } from '../json/node.ts';
import { formatPath, nodeAt, type Path } from '../json/path.ts';

/** Puts trajectories that stand alone into groups: those with the same value at a path, in the order of the first of each. */
export interface Grouping {
  /** The group of a trajectory and its place in it, both from 0; or why it has none. */
  readonly memberOf: (trajectory: JsonNode) => { readonly group: number; readonly at: number } | string;
  /** The group of the trajectory that was asked about last; none, if it has none. */
  readonly last: () => number | undefined;
  readonly groups: () => number;
}

/**
 * Groups by the value at a path. `onlyNeighbours`: a group is over when another begins, because what was sent cannot be
 * added to.
 */
export function groupBy(path: Path, onlyNeighbours: boolean): Grouping {
  const known = new Map<string, { readonly group: number; count: number }>();
  let lastKey: string | undefined;
  let last: number | undefined;
  return {
    memberOf: (trajectory) => {
      last = undefined;
      const value = nodeAt(trajectory, path);
      if (!value) return `has no ${formatPath(path)}, by which it would be grouped`;
      const key = kindOf(value) === 'string' ? `"${stringOf(value)}` : textOf(value);
      const group = known.get(key) ?? { group: known.size, count: 0 };
      if (onlyNeighbours && group.count > 0 && key !== lastKey)
        return `its group, ${textOf(value)}, is over; sort by ${formatPath(path)}, or leave out --no-spool`;
      known.set(key, group);
      lastKey = key;
      last = group.group;
      group.count += 1;
      return { group: group.group, at: group.count - 1 };
    },
    last: () => last,
    groups: () => known.size,
  };
}
