import { itemsOf, type JsonNode, kindOf, membersOf, stringOf, textOf } from '../../json/node.ts';
import { decimalOf, writeDecimal } from './decimal.ts';
import { Unsure } from './unsure.ts';

const DEEPEST = 200;

/** A text that two JSON values share exactly when JSON Schema calls them equal. Throws Unsure where one is too deep. */
export function canonical(node: JsonNode, depth = 0): string {
  if (depth > DEEPEST) throw new Unsure('const');
  switch (kindOf(node)) {
    case 'object': {
      const members = new Map(Array.from(membersOf(node), ({ key, value }) => [key, canonical(value, depth + 1)]));
      const sorted = [...members].sort(([left], [right]) => (left < right ? -1 : 1));
      return `{${sorted.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
    }
    case 'list':
      return `[${Array.from(itemsOf(node), (item) => canonical(item, depth + 1)).join(',')}]`;
    case 'string':
      return JSON.stringify(stringOf(node));
    case 'number': {
      const value = decimalOf(textOf(node));
      if (!value) throw new Unsure('const');
      return writeDecimal(value);
    }
    default:
      return textOf(node);
  }
}
