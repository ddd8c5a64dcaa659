import type { Buffer } from 'node:buffer';
import type { JsonDocument } from '../json/document.ts';
import { kindOf, membersOf, rootOf, startOf } from '../json/node.ts';

/** A body whose lists of groups are still empty, cut where they are to be filled: one part more than there are lists. */
export function cutAtLists({ bytes, tape }: JsonDocument): readonly Buffer[] {
  const parts: Buffer[] = [];
  let start = 0;
  for (const { key, value } of membersOf(rootOf({ bytes, tape }))) {
    if (key !== 'trajectory_groups' || kindOf(value) !== 'list') continue;
    const inside = startOf(value) + 1;
    parts.push(bytes.subarray(start, inside));
    start = inside;
  }
  return [...parts, bytes.subarray(start)];
}

/** The body with its lists filled. */
export async function* assembled(
  parts: readonly Uint8Array[],
  list: (number: number) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (const [at, part] of parts.entries()) {
    if (at > 0) yield* list(at - 1);
    if (part.length > 0) yield part;
  }
}
