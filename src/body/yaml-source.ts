import { Buffer } from 'node:buffer';
import type { Alias, CST, Document, Node, Scalar } from 'yaml';
import { Composer, isAlias, isCollection, isMap, isNode, isPair, isScalar, Lexer, Parser } from 'yaml';
import type { Issue } from '../errors.ts';
import { JsonError } from '../json/json-error.ts';
import { createNodeFinder } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { createPositionLookup, decodeUtf8 } from '../json/utf8.ts';
import { type JsonSource, syntaxIssue } from './json-source.ts';

/** A YAML body (1.2, core schema) as compact JSON in which numbers keep their text; positions are those of the YAML. */
export function parseYamlSource(label: string, bytes: Uint8Array): JsonSource | Issue {
  let text = '';
  // The parser counts UTF-16 units; positions count bytes.
  const byteOffset = (charOffset = 0): number => Buffer.byteLength(text.slice(0, charOffset));
  try {
    text = decodeUtf8(bytes).toString();
    if (text.trim() === '') throw new YamlError('the text is empty', 0);
    const position = createPositionLookup(Buffer.from(text));
    const { json, offsets } = yamlToJson(text);
    const doc = parseJson(json);
    return { label, doc, find: createNodeFinder(doc), position: (offset) => position(byteOffset(offsets.get(offset))) };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const offset = error instanceof YamlError ? byteOffset(error.offset) : error.offset;
    return syntaxIssue(label, bytes, offset, `invalid YAML body: ${error.message}`);
  }
}

/** YAML that cannot be a body: `offset` counts UTF-16 units of the text. */
class YamlError extends JsonError {}

const MAX_YAML_CHARS = 1024 * 1024;
// The parser takes more than a second for this many.
const MAX_YAML_TOKENS = 500_000;
// Beyond these sizes, aliases are an attack.
const MAX_EXPANDED_BYTES = 4 * MAX_YAML_CHARS;
const MAX_EXPANDED_VALUES = 200_000;
const MAX_YAML_DEPTH = 500;
const LARGE_BODY_FIX = 'write large bodies as JSON';
const CORE_TAGS: ReadonlySet<string> = new Set(['map', 'seq', 'str', 'int', 'float', 'bool', 'null']);

/** `offsets` are the places of the values in the YAML, by their byte offsets in the JSON. Throws YamlError. */
export function yamlToJson(text: string): { readonly json: string; readonly offsets: ReadonlyMap<number, number> } {
  if (text.length > MAX_YAML_CHARS) throw new YamlError('larger than 1 MiB', 0, LARGE_BODY_FIX);
  // The latest node with each anchor, and the node that each alias stands for, resolved where the alias is written.
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  const parts: string[] = [];
  const offsets = new Map<number, number>();
  let bytes = 0;
  let expandedValues = 0;
  const emit = (json: string): void => {
    parts.push(json);
    bytes += Buffer.byteLength(json);
  };
  const addAnchor = (node: unknown): void => {
    if ((isScalar(node) || isCollection(node)) && node.anchor) anchors.set(node.anchor, node);
  };
  const resolveAlias = (alias: Alias): Node => {
    const target = targets.get(alias) ?? anchors.get(alias.source);
    if (!target) throw new YamlError(`the alias *${alias.source} has no anchor`, offsetOf(alias));
    targets.set(alias, target);
    return target;
  };
  const writeNode = (node: unknown, depth: number, alias?: Alias): void => {
    if (isAlias(node)) {
      writeNode(resolveAlias(node), depth, alias ?? node);
      return;
    }
    if (alias) expandedValues += 1;
    else addAnchor(node);
    if (alias && (bytes > MAX_EXPANDED_BYTES || expandedValues > MAX_EXPANDED_VALUES))
      throw new YamlError('the aliases expand too far', offsetOf(alias));
    offsets.set(bytes, offsetOf(node));
    if (!isCollection(node)) {
      emit(isScalar(node) ? scalarJson(node) : 'null');
      return;
    }
    if (depth > MAX_YAML_DEPTH) throw new YamlError('nested too deeply', offsetOf(node));
    emit(isMap(node) ? '{' : '[');
    const keys = new Set<unknown>();
    for (const [index, item] of node.items.entries()) {
      if (index > 0) emit(',');
      if (isPair(item)) {
        if (!alias) addAnchor(item.key);
        rejectMergeKey(item.key);
        emit(`${keyJson(isAlias(item.key) ? resolveAlias(item.key) : item.key, offsetOf(item.key), keys)}:`);
      }
      writeNode(isPair(item) ? item.value : item, depth + 1, alias);
    }
    emit(isMap(node) ? '}' : ']');
  };
  writeNode(parseYaml(text), 1);
  return { json: parts.join(''), offsets };
}

function parseYaml(text: string): unknown {
  // The library would compare each key with all others of its map.
  const options = {
    version: '1.2',
    schema: 'core',
    intAsBigInt: true,
    uniqueKeys: false,
    resolveKnownTags: false,
  } as const;
  // It creates an error for each mistake, and only the first one is reported.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const [doc, second] = new Composer(options).compose(parseTokens(text), true, text.length);
    if (doc) rejectInvalid(doc, text);
    if (second) throw new YamlError('several documents', second.range[0], 'a body must be one document');
    return doc?.contents;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function* parseTokens(text: string): Generator<CST.Token> {
  const parser = new Parser();
  let count = 0;
  let hasError = false;
  for (const source of new Lexer().lex(text)) {
    count += 1;
    if (count > MAX_YAML_TOKENS)
      throw new YamlError(`more than ${MAX_YAML_TOKENS} tokens`, parser.offset, LARGE_BODY_FIX);
    // Its stack also holds the document and a scalar.
    if (parser.stack.length > MAX_YAML_DEPTH + 2) throw new YamlError('nested too deeply', parser.offset);
    for (const token of parser.next(source)) {
      if (token.type === 'error' && hasError) continue;
      hasError ||= token.type === 'error';
      yield token;
    }
  }
  yield* parser.end();
}

function rejectInvalid({ errors, warnings, directives }: Document.Parsed, text: string): void {
  const problems = [errors, warnings].flat();
  if (problems.length > 0) {
    const { pos, message } = problems.reduce((first, next) => (next.pos[0] < first.pos[0] ? next : first));
    const [, tag] = /^Unresolved tag: tag:yaml\.org,2002:(.*)$/.exec(message) ?? [];
    const tagMessage =
      tag && (CORE_TAGS.has(tag) ? `the value is not a !!${tag}` : `the tag !!${tag} has no JSON form`);
    throw (
      indentationError(text, message, pos[0]) ??
      openBracketError(text, message, pos[0]) ??
      new YamlError(
        tagMessage ?? message.replace(/^Nested mappings.*/, 'a colon and a space begin a mapping in a value'),
        pos[0],
        /^Nested mappings|reserved character/.test(message) ? 'put the value in quotes' : undefined,
      )
    );
  }
  if (directives.yaml.explicit && directives.yaml.version !== '1.2')
    throw new YamlError('%YAML 1.1', 0, 'only YAML 1.2 is accepted');
}

// The library describes a key in the wrong column by the syntax that it then expects.
function indentationError(text: string, message: string, offset: number): YamlError | undefined {
  const isNested = message.startsWith('Nested mappings');
  if (!isNested && !/^Sequence item without|must start at the same column/.test(message)) return undefined;
  const keys = [...text.matchAll(/^([ \t]*(?:- +)*)([\w-]+):/gm)].map(({ index, 1: indent = '', 2: name }) => ({
    name,
    column: indent.length,
    offset: index + indent.length,
  }));
  const at =
    keys.findLastIndex((key) => key.offset <= text.indexOf('\n', offset) + 1 || key.offset <= offset) +
    (isNested ? 1 : 0);
  const [before, key] = keys.slice(Math.max(0, at - 1));
  return key && before && key.column !== before.column
    ? new YamlError(`"${key.name}" must start in the same column as "${before.name}"`, key.offset)
    : undefined;
}

// The library names the end of the block that it read as the rest of the sequence or mapping.
function openBracketError(text: string, message: string, offset: number): YamlError | undefined {
  const [, closing] = /^Flow .* end with a ([\]}])$/.exec(message) ?? [];
  const opening = closing === ']' ? '[' : '{';
  const at = text.lastIndexOf(opening, offset);
  return closing && at !== -1 ? new YamlError(`the ${opening} is not closed`, at, `add the ${closing}`) : undefined;
}

// YAML 1.1 copies the fields of the value; in YAML 1.2 the key is an ordinary one, which nobody means.
function rejectMergeKey(key: unknown): void {
  if (isScalar(key) && key.value === '<<' && key.type === 'PLAIN' && key.tag === undefined)
    throw new YamlError('<< is a merge key', offsetOf(key), 'write the fields out, or quote the key: "<<"');
}

// Keys are compared as values of YAML, where 0x1 is 1, and as keys of JSON, where "1" is 1.
function keyJson(key: unknown, offset: number, keys: Set<unknown>): string {
  if (!isScalar(key)) throw new YamlError('a key must be a string', offset);
  const { value } = key;
  const name = typeof value === 'string' ? value : (key.source ?? '');
  if (keys.has(name) || keys.has(value)) throw new YamlError('Map keys must be unique', offset);
  keys.add(name).add(value);
  return JSON.stringify(name);
}

function scalarJson(scalar: Scalar): string {
  const { value, source = '' } = scalar;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return /^-?(?:0|[1-9]\d*)$/.test(source) ? source : String(value);
  if (typeof value === 'number') return numberJson(scalar, source, value);
  return 'null';
}

function numberJson(scalar: Scalar, source: string, value: number): string {
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(source)) return source;
  if (!Number.isFinite(value) && /[a-z]/i.test(source.replace(/e/gi, '')))
    throw new YamlError(`${source} is not a JSON number`, offsetOf(scalar), 'use a number or null');
  const [, sign = '', whole = '', fraction = '', power = ''] =
    /^([-+]?)0*(\d*)\.?(\d*)((?:[eE][-+]?\d+)?)$/.exec(source) ?? [];
  return `${sign === '-' ? '-' : ''}${whole || '0'}${fraction && `.${fraction}`}${power}`;
}

function offsetOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}
