import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { compactPieces } from '../json/layout.ts';
import { bytesOf, itemsOf, type JsonNode, kindOf, member } from '../json/node.ts';

/** Tells the tools of trajectories apart: the same text for the same tools, but for blanks; none, null and an empty list are the same. */
export function toolsReader(): (trajectory: JsonNode) => string {
  // Most trajectories of a file have the tools of the one before.
  let last: { readonly bytes: Buffer | undefined; readonly name: string } = { bytes: undefined, name: '' };
  return (trajectory) => {
    const tools = member(trajectory, 'tools');
    if (!tools || kindOf(tools) === 'null' || (kindOf(tools) === 'list' && itemsOf(tools).next().done)) return '';
    const bytes = bytesOf(tools);
    if (!last.bytes?.equals(bytes)) last = { bytes: Buffer.from(bytes), name: nameOf(tools) };
    return last.name;
  };
}

function nameOf(tools: JsonNode): string {
  const hash = createHash('sha256');
  for (const piece of compactPieces(tools)) hash.update(piece);
  return hash.digest('base64');
}
