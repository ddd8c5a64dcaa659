import { duplicateKeys } from '../json/duplicates.ts';
import { type JsonNode, startOf } from '../json/node.ts';
import { advise } from './advice.ts';
import type { Fields } from './field.ts';
import { type Finding, type Remark, told } from './finding.ts';
import { examiner } from './validator.ts';

/** What there is to say about a body: errors and warnings together, in the order they stand in the text. */
export type Judge = (root: JsonNode) => Finding[];

/** The judge of a body, for the command line, batches and the local service alike. Of findings without end it tells the first. */
export function judgeOf(fields: Fields): Judge {
  const remark = remarksOf(fields);
  return (root) => told(remark(root));
}

/** What the judge of a body or a part of one remarks, in no order. */
export function remarksOf(fields: Fields): (root: JsonNode) => Remark[] {
  // Made for the first body: of a service with many operations most are never called.
  let examine: ((root: JsonNode) => Remark[]) | undefined;
  return (root) => {
    examine ??= examiner(fields);
    return [...examine(root), ...advise(root, { type: 'object', fields }), ...duplicates(root)];
  };
}

function* duplicates({ doc }: JsonNode): Generator<Remark> {
  const message = 'stands more than once; the last one counts';
  for (const { value, path } of duplicateKeys(doc)) {
    yield { level: 'warning', code: 'duplicate', at: startOf(value), tell: () => ({ path: path(), message }) };
  }
}
