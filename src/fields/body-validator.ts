import { duplicateKeys } from '../json/duplicate-keys.ts';
import { type JsonNode, startOffset } from '../json/json-node.ts';
import { collectAdvice } from './advice.ts';
import type { Fields } from './field.ts';
import { type Finding, firstOfEachKind, type PendingFinding } from './finding.ts';
import { createSchemaInspector } from './schema-validator.ts';

/** What there is to say about a body: errors and warnings together, in the order they stand in the text. */
export type BodyValidator = (root: JsonNode) => Finding[];

/** The judge of a body, for the command line, batches and the local service alike. Of findings without end it tells the first. */
export function createBodyValidator(fields: Fields): BodyValidator {
  const inspect = createBodyInspector(fields);
  return (root) => firstOfEachKind(inspect(root));
}

/** What the judge of a body or a part of one remarks, in no order. */
export function createBodyInspector(fields: Fields): (root: JsonNode) => PendingFinding[] {
  // Made for the first body: of a service with many operations most are never called.
  let inspectSchema: ((root: JsonNode) => PendingFinding[]) | undefined;
  return (root) => {
    inspectSchema ??= createSchemaInspector(fields);
    return [
      ...inspectSchema(root),
      ...collectAdvice(root, { type: 'object', fields }),
      ...duplicateFieldFindings(root),
    ];
  };
}

function* duplicateFieldFindings({ doc }: JsonNode): Generator<PendingFinding> {
  const message = 'stands more than once; the last one counts';
  for (const { value, path } of duplicateKeys(doc)) {
    yield {
      level: 'warning',
      code: 'duplicate',
      offset: startOffset(value),
      describe: () => ({ path: path(), message }),
    };
  }
}
