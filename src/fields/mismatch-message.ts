import { type JsonNode, kindOf, rawText, stringOf } from '../json/json-node.ts';
import type { JsonPath } from '../json/json-path.ts';
import type { Shape } from './field.ts';
import { referenceKind, stringFormats } from './string-formats.ts';

// Long values are cut: a finding shall fit on a line.
const MAX_SHOWN_CHARS = 40;

/** What a shape asks for, as the end of a sentence: `an integer from 1 to 5000`. */
export function describeShape(shape: Shape): string {
  const description = describeNonNullShape(shape);
  return shape.nullable ? `${description} or null` : description;
}

/** How the value at a path disagrees with the shape of the whole: `must be a list, not "x"`; of a secret not what it is. */
export function mismatchMessage(rootShape: Shape, path: JsonPath, node: JsonNode): string {
  const shape: Shape & { readonly filledByService?: true; readonly secret?: true } = shapeAtPath(rootShape, path);
  if (shape.filledByService) return 'is set by the service only; leave it out';
  return `must be ${describeShape(shape)}${shape.secret ? '' : `, not ${describeValue(node)}`}`;
}

function shapeAtPath(rootShape: Shape, path: JsonPath): Shape {
  return path.reduce<Shape>((shape, step) => {
    if (shape.type === 'list') return shape.of;
    if (shape.type !== 'object') return shape;
    return (typeof step === 'string' ? shape.fields?.[step] : undefined) ?? shape.values ?? { type: 'json' };
  }, rootShape);
}

// What a value is, short enough for a message: `"abc"`, `12.5`, `a list`.
function describeValue(node: JsonNode): string {
  const kind = kindOf(node);
  if (kind === 'object') return 'an object';
  if (kind === 'list') return 'a list';
  if (kind !== 'string') return truncateText(rawText(node));
  const text = stringOf(node);
  const ref = referenceKind(text);
  return JSON.stringify(truncateText(text)) + (ref ? ` (${ref === 'call ref' ? 'a' : 'an'} ${ref})` : '');
}

function describeNonNullShape(shape: Shape): string {
  switch (shape.type) {
    case 'string':
      if (shape.oneOf) return shape.oneOf.map((value) => JSON.stringify(value)).join(' or ');
      return shape.format ? stringFormats[shape.format].description : 'a string';
    case 'number':
      return `a number${describeRange(shape)}`;
    case 'integer':
      return `an integer${describeRange(shape)}`;
    case 'boolean':
      return 'true or false';
    case 'list':
      return 'a list';
    case 'object':
      return 'an object';
    case 'either':
      return joinWithOr(shape.of.map(describeShape));
    case 'json':
      return 'JSON';
  }
}

function describeRange({ min, max }: { min?: number | bigint; max?: number | bigint }): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

function joinWithOr(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function truncateText(text: string): string {
  const characters = [...text.slice(0, MAX_SHOWN_CHARS * 2)];
  return characters.length > MAX_SHOWN_CHARS
    ? `${characters.slice(0, MAX_SHOWN_CHARS).join('')}…`
    : characters.join('');
}
