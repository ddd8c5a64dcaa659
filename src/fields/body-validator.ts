import { duplicateKeys } from '../json/duplicate-keys.ts';
import { type JsonNode, startOffset } from '../json/json-node.ts';
import type { Fields } from './field.ts';
import { type Finding, firstOfEachKind, type PendingFinding } from './finding.ts';
import { createSchemaInspector } from './schema-validator.ts';

/** Returns the errors and warnings of a body, in the order of the text. */
export type BodyValidator = (root: JsonNode) => Finding[];

/** The validator of a body, for the command line, batches and the local service alike: of each kind the first hundred findings. */
export function createBodyValidator(fields: Fields): BodyValidator {
  const inspect = createBodyInspector(fields);
  return (root) => firstOfEachKind(inspect(root));
}

/** All findings of a body or a part of one, in no order. */
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
  for (const { value, path } of duplicateKeys(doc)) {
    yield {
      level: 'warning',
      code: 'duplicate',
      offset: startOffset(value),
      describe: () => ({ path: path(), message }),
    };
  }
}
