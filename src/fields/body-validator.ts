import { duplicateKeys } from '../json/duplicate-keys.ts';
import type { JsonNode } from '../json/json-node.ts';
import type { Fields } from './field.ts';
import { type Finding, firstOfEachKind, type PendingFinding, pendingWarning } from './finding.ts';
import { createSchemaInspector } from './schema-validator.ts';

/** Returns the errors and warnings of a body, in the order of the text. */
export type BodyValidator = (root: JsonNode) => Finding[];

/** The one validator of bodies: command line, batches and local service use it. It returns the first hundred findings of each kind. */
export function createBodyValidator(fields: Fields): BodyValidator {
  const inspect = createBodyInspector(fields);
  return (root) => firstOfEachKind(inspect(root));
}

/** All findings of a body or of a part of one, unordered. */
export function createBodyInspector(fields: Fields): (root: JsonNode) => PendingFinding[] {
  // Created for the first body: most operations of a service are never called.
  let inspectSchema: ((root: JsonNode) => PendingFinding[]) | undefined;
  return (root) => {
    inspectSchema ??= createSchemaInspector(fields, true);
    return [...inspectSchema(root), ...duplicateFieldFindings(root)];
  };
}

function* duplicateFieldFindings({ doc }: JsonNode): Generator<PendingFinding> {
  const message = 'is given more than once; the last value counts';
  for (const { value, path } of duplicateKeys(doc))
    yield pendingWarning('duplicate', value, () => ({ path: path(), message }));
}
