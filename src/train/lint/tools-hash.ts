import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { getMember, itemsOf, type JsonNode, kindOf, rawBytes } from '../../json/json-node.ts';
import { compactChunks } from '../../json/write-json.ts';

/** A hash of the tools of a trajectory, whitespace aside; the empty string for none, null and an empty array. */
export function createToolsHasher(): (trajectory: JsonNode) => string {
  // Most trajectories of a file have the same tools as the one before.
  let previous: { readonly bytes: Buffer | undefined; readonly name: string } = { bytes: undefined, name: '' };
  return (trajectory) => {
    const tools = getMember(trajectory, 'tools');
    if (!tools || kindOf(tools) === 'null' || (kindOf(tools) === 'list' && itemsOf(tools).next().done)) return '';
    const bytes = rawBytes(tools);
    if (!previous.bytes?.equals(bytes)) previous = { bytes: Buffer.from(bytes), name: hashTools(tools) };
    return previous.name;
  };
}

function hashTools(tools: JsonNode): string {
  const hash = createHash('sha256');
  for (const piece of compactChunks(tools)) hash.update(piece);
  return hash.digest('base64');
}
