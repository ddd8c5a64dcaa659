import type { Buffer } from 'node:buffer';
import { type JsonDocument, kindOf, membersOf, rootOf, startOffset } from '../../json/json-node.ts';

/** Splits a body at its empty group arrays, where the groups go: one part more than there are arrays. */
export function splitAtGroupArrays(doc: JsonDocument): readonly Buffer[] {
  const parts: Buffer[] = [];
  let start = 0;
  for (const { key, value } of membersOf(rootOf(doc))) {
    if (key !== 'trajectory_groups' || kindOf(value) !== 'list') continue;
    const inside = startOffset(value) + 1;
    parts.push(doc.bytes.subarray(start, inside));
    start = inside;
  }
  return [...parts, doc.bytes.subarray(start)];
}

/** The body with its group arrays filled in. */
export async function* assembleBody(
  parts: readonly Uint8Array[],
  readArray: (number: number) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (const [at, part] of parts.entries()) {
    if (at > 0) yield* readArray(at - 1);
    if (part.length > 0) yield part;
  }
}
