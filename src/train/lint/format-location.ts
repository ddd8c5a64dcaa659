import type { Buffer } from 'node:buffer';
import { formatJsonPath, type JsonPath } from '../../json/json-node.ts';
import { formatPosition } from '../../json/text-position.ts';
import { locationInside, type TextLocation } from '../stream/text-location.ts';

/** `groups.jsonl:12:7`: the location of an offset in a part of a text that starts at `start`. */
export function formatLocation(label: string, start: TextLocation, bytes?: Buffer, offset = 0): string {
  return formatPosition(label, bytes ? locationInside(bytes, start, offset) : start);
}

/** `trajectory_groups[3].trajectories[17].reward`. */
export function formatTrajectoryPath(group: number, trajectory?: number, fieldPath: JsonPath = []): string {
  const outer = ['trajectory_groups', group];
  return formatJsonPath(trajectory === undefined ? outer : [...outer, 'trajectories', trajectory, ...fieldPath]);
}
