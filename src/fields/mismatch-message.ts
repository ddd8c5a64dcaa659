import {
  firstStringMember,
  getMember,
  type JsonNode,
  type JsonPath,
  kindName,
  kindOf,
  rawText,
  stringOf,
} from '../json/json-node.ts';
import { compareNumberLiterals, isIntegerLiteral, likelyNumbers } from '../json/number-literal.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { joinWithOr } from './closest-match.ts';
import { type Field, type Shape, shownBounds } from './field.ts';
import { hasFormat, referenceKind, stringFormats } from './string-formats.ts';

const MAX_SHOWN_CHARS = 40;
// Of a value that a hint repeats.
const MAX_MEANT_CHARS = 200;

/** The values that a shape accepts: `an integer from 1 to 5000 or null`; for a flag, without null. */
export function describeShape(shape: Shape, isFlag = false): string {
  return joinWithOr([...formsOf(shape), ...nullForm(shape, isFlag)]);
}

/** The message for a value that does not match its shape: `must be an array, not "x"`; secrets are not shown. */
export function mismatchMessage(rootShape: Shape, path: JsonPath, node: JsonNode, isFlag = false): string {
  const shape: Shape & Pick<Field, 'isReadOnly' | 'isSecret' | 'wider'> = shapeAtPath(rootShape, path);
  if (shape.isReadOnly) return 'is set by the service only; remove it';
  const list =
    shape.type === 'either' && kindOf(node) === 'list' ? shape.of.find(({ type }) => type === 'list') : undefined;
  if (list?.type === 'list') return `each element must be ${describeShape(list.of)}`;
  const { wider = [] } = shape;
  // A flag takes text only.
  const expressible = isFlag ? wider.filter(({ type }) => type !== 'object' && type !== 'list') : wider;
  // Other kinds of refs and times are not worth a suggestion.
  const named = expressible.filter((form) => !('format' in form));
  const forms = [...formsOf(shape), ...named.flatMap(formsOf), ...nullForm(shape, isFlag)];
  const accepted = joinWithOr([...new Set(forms)]);
  const hint = isFlag ? dayHint(shape, node) : (meantHint(shape, node) ?? dayHint(shape, node));
  return `must be ${accepted}${shape.isSecret ? '' : `, not ${describeValue(node)}`}${hint}`;
}

/** A form that the interface does not show and most servers accept (docs/internals/servers.md); usual forms cause no warning. */
export function toleratedForm(node: JsonNode, field: Field): { readonly isUsual?: true } | undefined {
  if (kindOf(node) === 'null') return field.required || field.nullable || field.type === 'json' ? undefined : {};
  return field.wider && !isOfShape(node, field) ? field.wider.find((shape) => isOfShape(node, shape)) : undefined;
}

export function toleratedFormMessage(node: JsonNode, field: Field): string {
  const leniency = kindOf(node) === 'null' ? 'treat null as absent' : `also accept ${describeValue(node)}`;
  return `should be ${describeShape(field)}; most servers ${leniency}`;
}

type NumberRange = { readonly min?: number | bigint; readonly max?: number | bigint };

/** Compares the text of a number exactly. */
export function isWithin(text: string, { min, max }: NumberRange): boolean {
  if (min !== undefined && compareNumberLiterals(text, String(min)) < 0) return false;
  return max === undefined || compareNumberLiterals(text, String(max)) <= 0;
}

function isOfShape(node: JsonNode, shape: Shape): boolean {
  const fields = Object.entries((shape.type === 'object' && shape.fields) || {});
  if (kindOf(node) === 'object' && fields.length > 0)
    return fields.every(([name, field]) => {
      const value = getMember(node, name);
      return value !== undefined && isOfShape(value, field);
    });
  if (shape.type !== 'string' || kindOf(node) !== 'string') return kindOf(node) === shape.type;
  const text = stringOf(node);
  return shape.oneOf?.includes(text) ?? (shape.format === undefined || hasFormat(text, shape.format));
}

function shapeAtPath(rootShape: Shape, path: JsonPath): Shape {
  return path.reduce<Shape>((shape, step) => {
    if (shape.type === 'list') return shape.of;
    if (shape.type !== 'object') return shape;
    return (typeof step === 'string' ? shape.fields?.[step] : undefined) ?? shape.values ?? { type: 'json' };
  }, rootShape);
}

/** The JSON that a value of another type likely means at a path: 0.7 for "0,7", the array that a text holds, or what the field has for a text. */
export function likelyJson(rootShape: Shape, path: JsonPath, node: JsonNode): string[] {
  const shape = shapeAtPath(rootShape, path);
  const { type, meant } = shape;
  const kind = kindOf(node);
  const text = kind === 'string' ? stringOf(node) : kind === 'number' && type === 'boolean' ? rawText(node) : '';
  if (text === '' || text.length > MAX_MEANT_CHARS) return [];
  if (type === 'number' || type === 'integer')
    return likelyNumbers(text).filter((one) => isWithin(one, shape) && (type === 'number' || isIntegerLiteral(one)));
  if (type === 'boolean' && /^(?:true|false)$/i.test(text)) return [text.toLowerCase()];
  const root = /^[[{]/.test(text) ? tryParseJson(text) : undefined;
  // Of Anthropic and LangChain, for a tool.
  if (text === 'any' && type === 'string' && meant) return ['"required"'];
  // `{"type":"tool","name":"f"}` of other APIs.
  const name = meant?.includes('"name"') ? firstStringMember(root, 'name') : undefined;
  if (root && name === undefined) return kindOf(root) === type || meant ? [text] : [];
  return meant ? [meant.replace('<text>', () => JSON.stringify(name ?? text).slice(1, -1))] : [];
}

function meantHint(shape: Shape, node: JsonNode): string | undefined {
  if (shape.type === 'list' && shape.of.type === 'object' && kindOf(node) === 'object')
    return '; write it in brackets: [{...}]';
  const values = likelyJson(shape, [], node);
  if (values.length === 0) return undefined;
  return `; write ${joinWithOr(values)}${/^[[{]|^true,/.test(values.join('')) ? '' : ' without quotes'}`;
}

function dayHint(shape: Shape, node: JsonNode): string {
  if (shape.type !== 'string' || shape.format !== 'date-time' || kindOf(node) !== 'string') return '';
  const isDayWrong = hasFormat(stringOf(node).replace(/-\d\d(?=[Tt])/, '-01'), 'date-time');
  return isDayWrong ? '; that day does not exist' : '';
}

function describeValue(node: JsonNode): string {
  const kind = kindOf(node);
  if (kind === 'object' || kind === 'list') return kindName(node);
  if (kind !== 'string') return truncateText(rawText(node));
  const text = stringOf(node);
  const ref = referenceKind(text);
  return JSON.stringify(truncateText(text)) + (ref ? ` (${ref})` : '');
}

function nullForm({ nullable }: Shape, isFlag = false): string[] {
  return nullable && !isFlag ? ['null'] : [];
}

function formsOf(shape: Shape): string[] {
  if (shape.type === 'either') return shape.of.flatMap((one) => [...formsOf(one), ...nullForm(one)]);
  if (shape.type === 'number' || shape.type === 'integer')
    return [`${shape.type === 'number' ? 'a number' : 'an integer'}${describeRange(shape)}`];
  if (shape.type !== 'string')
    return [{ boolean: 'true or false', list: 'an array', object: 'an object', json: 'JSON' }[shape.type]];
  if (shape.oneOf) return shape.oneOf.map((value) => JSON.stringify(value));
  return [shape.format ? stringFormats[shape.format].description : 'a string'];
}

function describeRange(shape: Shape): string {
  const { min, max } = shownBounds(shape);
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

function truncateText(text: string): string {
  const characters = [...text.slice(0, MAX_SHOWN_CHARS * 2)];
  return characters.slice(0, MAX_SHOWN_CHARS).join('') + (characters.length > MAX_SHOWN_CHARS ? '…' : '');
}
