import { itemsOf, type JsonNode, kindOf, membersOf, rawText, stringOf } from '../../../json/json-node.ts';
import { formatDecimal, parseDecimal } from './decimal.ts';
import { UnsupportedKeyword } from './unsupported-keyword.ts';

const MAX_VALUE_DEPTH = 200;

/** A text that two JSON values share exactly when JSON Schema calls them equal. Throws Unsure where one is too deep. */
export function canonicalJson(node: JsonNode, depth = 0): string {
  if (depth > MAX_VALUE_DEPTH) throw new UnsupportedKeyword('const');
  switch (kindOf(node)) {
    case 'object': {
      const entries = new Map(Array.from(membersOf(node), ({ key, value }) => [key, canonicalJson(value, depth + 1)]));
      const sorted = [...entries].sort(([left], [right]) => (left < right ? -1 : 1));
      return `{${sorted.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
    }
    case 'list':
      return `[${Array.from(itemsOf(node), (item) => canonicalJson(item, depth + 1)).join(',')}]`;
    case 'string':
      return JSON.stringify(stringOf(node));
    case 'number': {
      const value = parseDecimal(rawText(node));
      if (!value) throw new UnsupportedKeyword('const');
      return formatDecimal(value);
    }
    default:
      return rawText(node);
  }
}
