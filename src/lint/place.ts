import type { Buffer } from 'node:buffer';
import { formatPath, type Path } from '../json/path.ts';
import { type Place, placeInside } from '../trajectories/place.ts';

/** `groups.jsonl:12:7`, the place of an offset in a part of a text that begins at a place. */
export function placeText(label: string, start: Place, bytes?: Buffer, offset = 0): string {
  const { line, column } = bytes ? placeInside(bytes, start, offset) : start;
  return `${label}:${line}:${column}`;
}

/** `trajectory_groups[3].trajectories[17].reward`. */
export function pathText(group: number, trajectory?: number, inner: Path = []): string {
  const outer = ['trajectory_groups', group];
  return formatPath(trajectory === undefined ? outer : [...outer, 'trajectories', trajectory, ...inner]);
}
