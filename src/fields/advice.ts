import { endOffset, isTrue, type JsonNode, kindOf, rawText, startOffset } from '../json/json-node.ts';
import type { JsonPath } from '../json/json-path.ts';
import { compareNumberLiterals } from '../json/number-literal.ts';
import { qualityWarnings, rejectionWarnings, type SiblingValues } from './advice-warnings.ts';
import { closestMatch } from './closest-match.ts';
import type { Field, Fields } from './field.ts';
import type { Finding, PendingFinding } from './finding.ts';

/** Adds warnings about valid fields that are likely mistakes: deprecated ones, and values that real servers reject (docs/servers.md). */
export function adviseField(
  name: string,
  field: Field,
  node: JsonNode,
  siblings: SiblingValues,
  parentPath: JsonPath,
  add: (finding: PendingFinding) => void,
): void {
  const { advice, deprecated, excludes } = field;
  const warn = (code: Finding['code'], message: string): void =>
    add({
      level: 'warning',
      code,
      offset: startOffset(node),
      describe: () => ({ path: [...parentPath, name], message }),
    });
  if (deprecated) warn('deprecated', `is deprecated; ${deprecated}`);
  // The service takes an absent sibling as true, so leaving it out is as wrong as true.
  if (excludes && isTrue(node) && !siblings.has(excludes)) warn('advice', `needs ${excludes} to be false`);
  if (!advice) return;
  if (!isOutsideRange(node, field)) {
    for (const message of rejectionWarnings(node, advice, siblings)) warn('advice', message);
  }
  const size = endOffset(node) - startOffset(node);
  if (size > (advice.bytes ?? Number.POSITIVE_INFINITY))
    warn('large', `has ${size} bytes; servers accept at most ${advice.bytes}`);
  for (const message of qualityWarnings(node, advice, siblings)) warn('unwise', message);
}

/** The warning about a field that the service does not know. */
export function unknownFieldFinding(key: string, value: JsonNode, fields: Fields, path: JsonPath): PendingFinding {
  const describe: PendingFinding['describe'] = () => {
    const suggestion = closestMatch(key, Object.keys(fields));
    const message = `is not a field the service knows${suggestion ? `; did you mean ${suggestion}?` : ''}`;
    return { path: [...path, key], message };
  };
  return { level: 'warning', code: 'unknown', offset: startOffset(value), describe };
}

/** The warning about a field that the interface leaves optional and most servers require. */
export function missingFieldFinding(object: JsonNode, name: string, path: JsonPath): PendingFinding {
  const describe: PendingFinding['describe'] = () => ({
    path: [...path, name],
    message: 'is required by most servers',
  });
  return { level: 'warning', code: 'missing', offset: startOffset(object), describe };
}

// A number outside of the printed range is an error already.
function isOutsideRange(node: JsonNode, field: Field): boolean {
  if (kindOf(node) !== 'number' || !('min' in field)) return false;
  const { min, max } = field;
  return (
    (min !== undefined && compareNumberLiterals(rawText(node), String(min)) < 0) ||
    (max !== undefined && compareNumberLiterals(rawText(node), String(max)) > 0)
  );
}
