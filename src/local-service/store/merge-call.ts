import { applySplices, splicesToSetMembers } from '../../json/edit.ts';
import { kindOf, membersOf, rawText, rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';

/** The stored start of a call with the members of a later one set. Null members count as absent (docs/servers.md). */
export function mergeCallStart(stored: string, later: string): string {
  const doc = parseJson(stored);
  const updates = new Map(
    Array.from(membersOf(rootOf(parseJson(later))))
      .filter(({ value }) => kindOf(value) !== 'null')
      .map(({ key, value }) => [key, { key, text: rawText(value) }]),
  );
  return applySplices(doc.bytes, splicesToSetMembers(rootOf(doc), [...updates.values()])).toString();
}
