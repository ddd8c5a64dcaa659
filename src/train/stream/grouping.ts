import {
  formatJsonPath,
  type JsonNode,
  type JsonPath,
  kindOf,
  nodeAtPath,
  rawText,
  stringOf,
} from '../../json/json-node.ts';

/** Groups single trajectories by the value at a path, in the order in which the values first appear. */
export interface Grouping {
  /** The index of the group and of the trajectory in it, from 0; or the reason why it has no group. */
  readonly assignGroup: (trajectory: JsonNode) => { readonly group: number; readonly at: number } | string;
  /** The group of the last trajectory; undefined if it has none. */
  readonly lastGroup: () => number | undefined;
  readonly groupCount: () => number;
}

/** Groups by the value at a path. */
export function createGrouping(path: JsonPath): Grouping {
  const groups = new Map<string, { readonly group: number; count: number }>();
  let lastGroup: number | undefined;
  return {
    assignGroup: (trajectory) => {
      lastGroup = undefined;
      const value = nodeAtPath(trajectory, path);
      if (!value) return `has no ${formatJsonPath(path)} to group by`;
      const key = kindOf(value) === 'string' ? `"${stringOf(value)}` : rawText(value);
      const group = groups.get(key) ?? { group: groups.size, count: 0 };
      groups.set(key, group);
      lastGroup = group.group;
      group.count += 1;
      return { group: group.group, at: group.count - 1 };
    },
    lastGroup: () => lastGroup,
    groupCount: () => groups.size,
  };
}
