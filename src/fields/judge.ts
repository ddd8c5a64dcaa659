import { duplicateKeys } from '../json/duplicates.ts';
import { type JsonNode, startOf } from '../json/node.ts';
import { nodeAt } from '../json/path.ts';
import { advise } from './advice.ts';
import type { Fields } from './field.ts';
import type { Finding } from './finding.ts';
import { validator } from './validator.ts';

/** Everything there is to say about a body: errors and warnings together, in the order they stand in the text. */
export type Judge = (root: JsonNode) => Finding[];

/** The judge of a body, for the command line, batches and the local service alike. */
export function judgeOf(fields: Fields): Judge {
  const validate = validator(fields);
  return (root) => {
    const findings = [...validate(root), ...advise(root, { type: 'object', fields }), ...duplicates(root)];
    const placed = findings.map((finding) => ({ finding, at: placeOf(root, finding) }));
    return placed.sort((left, right) => left.at - right.at).map(({ finding }) => finding);
  };
}

function duplicates(root: JsonNode): Finding[] {
  const message = 'stands more than once; the last one counts';
  return duplicateKeys(root.doc).map((path) => ({ path, level: 'warning', code: 'duplicate', message }));
}

// What is missing has no place of its own: it goes where its object begins.
function placeOf(root: JsonNode, { path }: Finding): number {
  const node = nodeAt(root, path) ?? nodeAt(root, path.slice(0, -1));
  return node ? startOf(node) : 0;
}
