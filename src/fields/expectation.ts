import { type JsonNode, kindOf, stringOf, textOf } from '../json/node.ts';
import type { Path } from '../json/path.ts';
import type { Shape } from './field.ts';
import { formats, refKind } from './formats.ts';

// Long values are cut: a finding shall fit on a line.
const SHOWN = 40;

/** What a shape asks for, as the end of a sentence: `an integer from 1 to 5000`. */
export function expected(shape: Shape): string {
  const wanted = expectedValue(shape);
  return shape.nullable ? `${wanted} or null` : wanted;
}

/** How the value at a path disagrees with the shape of the whole: `must be a list, not "x"`; of a secret not what it is. */
export function disagreement(outermost: Shape, path: Path, node: JsonNode): string {
  const shape: Shape & { readonly filledByService?: true; readonly secret?: true } = shapeAt(outermost, path);
  if (shape.filledByService) return 'is set by the service only; leave it out';
  return `must be ${expected(shape)}${shape.secret ? '' : `, not ${found(node)}`}`;
}

function shapeAt(outermost: Shape, path: Path): Shape {
  return path.reduce<Shape>((shape, step) => {
    if (shape.type === 'list') return shape.of;
    if (shape.type !== 'object') return shape;
    return (typeof step === 'string' ? shape.fields?.[step] : undefined) ?? shape.values ?? { type: 'json' };
  }, outermost);
}

// What a value is, short enough for a message: `"abc"`, `12.5`, `a list`.
function found(node: JsonNode): string {
  const kind = kindOf(node);
  if (kind === 'object') return 'an object';
  if (kind === 'list') return 'a list';
  if (kind !== 'string') return cut(textOf(node));
  const text = stringOf(node);
  const ref = refKind(text);
  return JSON.stringify(cut(text)) + (ref ? ` (${ref === 'call ref' ? 'a' : 'an'} ${ref})` : '');
}

function expectedValue(shape: Shape): string {
  switch (shape.type) {
    case 'string':
      if (shape.oneOf) return shape.oneOf.map((value) => JSON.stringify(value)).join(' or ');
      return shape.format ? formats[shape.format].shape : 'a string';
    case 'number':
      return `a number${range(shape)}`;
    case 'integer':
      return `an integer${range(shape)}`;
    case 'boolean':
      return 'true or false';
    case 'list':
      return 'a list';
    case 'object':
      return 'an object';
    case 'either':
      return listed(shape.of.map(expected));
    case 'json':
      return 'JSON';
  }
}

function range({ min, max }: { min?: number | bigint; max?: number | bigint }): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function cut(text: string): string {
  const characters = [...text.slice(0, SHOWN * 2)];
  return characters.length > SHOWN ? `${characters.slice(0, SHOWN).join('')}…` : characters.join('');
}
