import { Buffer } from 'node:buffer';
import type { Document, Node, Scalar } from 'yaml';
import { isAlias, isCollection, isMap, isNode, isPair, isScalar, parseDocument } from 'yaml';
import type { Issue } from '../errors.ts';
import { JsonError } from '../json/json-error.ts';
import { createNodeFinder } from '../json/node-finder.ts';
import { parseJson } from '../json/parse-json.ts';
import { createPositionLookup, formatPosition } from '../json/text-position.ts';
import { decodeUtf8 } from '../json/utf8.ts';
import { isIssue, type JsonSource, parseJsonSource } from './json-source.ts';

/**
 * The source of a YAML body (1.2, core schema) as compact JSON in which numbers keep their text; positions are those of the
 * YAML file. Returns the issue, with line and column, of text that is not YAML or has no JSON form.
 */
export function parseYamlSource(label: string, bytes: Uint8Array): JsonSource | Issue {
  // Text that is not UTF-8 has no lines, so its location is a byte, as for JSON.
  const invalid = invalidTextIssue(label, bytes);
  if (invalid) return invalid;
  const text = decodeUtf8(bytes).toString();
  const positionInYaml = createCharPositionLookup(text);
  try {
    const { json, offsets } = yamlToJson(text);
    const doc = parseJson(json);
    return { label, doc, find: createNodeFinder(doc), position: (offset) => positionInYaml(offsets.get(offset) ?? 0) };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const at = formatPosition(label, positionInYaml(error.offset));
    return { path: '', at, message: `invalid YAML body: ${error.message}` };
  }
}

function invalidTextIssue(label: string, bytes: Uint8Array): Issue | undefined {
  const probe = parseJsonSource(label, bytes);
  if (!isIssue(probe) || !/UTF-/.test(probe.message)) return undefined;
  return { ...probe, message: probe.message.replace('invalid JSON', 'invalid YAML body') };
}

// The parser counts UTF-16 units; positions count bytes.
function createCharPositionLookup(text: string): (charOffset: number) => { line: number; column: number } {
  const position = createPositionLookup(Buffer.from(text));
  return (charOffset) => position(Buffer.byteLength(text.slice(0, charOffset)));
}

/** YAML that cannot be a body: `offset` counts UTF-16 units of the text. */
class YamlError extends JsonError {}

/** A YAML document as JSON text, and where in the YAML each of its values starts, by the byte offset in the JSON. */
interface ConvertedYaml {
  readonly json: string;
  readonly offsets: ReadonlyMap<number, number>;
}

// The parser takes two seconds for this many.
const MAX_YAML_CHARS = 1024 * 1024;
// Beyond this size, aliases are an attack.
const MAX_EXPANDED_BYTES = 4 * MAX_YAML_CHARS;
const MAX_YAML_DEPTH = 500;
const CORE_TAGS: ReadonlySet<string> = new Set(['map', 'seq', 'str', 'int', 'float', 'bool', 'null']);

/** Converts a YAML 1.2 document of the core schema. Throws YamlError for what is not YAML or has no JSON form. */
export function yamlToJson(text: string): ConvertedYaml {
  if (text.length > MAX_YAML_CHARS) throw new YamlError('larger than 1 MiB', 0, 'write large bodies as JSON');
  const doc = parseYaml(text);
  const converter: Converter = { doc, parts: [], offsets: new Map(), bytes: 0, depth: 0 };
  writeNode(converter, doc.contents);
  return { json: converter.parts.join(''), offsets: converter.offsets };
}

interface Converter {
  readonly doc: Document.Parsed;
  readonly parts: string[];
  readonly offsets: Map<number, number>;
  bytes: number;
  depth: number;
}

function parseYaml(text: string): Document.Parsed {
  let doc: Document.Parsed;
  try {
    doc = parseDocument(text, { version: '1.2', schema: 'core', prettyErrors: false, intAsBigInt: true });
  } catch (error) {
    if (error instanceof RangeError) throw new YamlError('nested too deeply', 0);
    throw error;
  }
  const [problem] = [...doc.errors, ...doc.warnings].sort((left, right) => left.pos[0] - right.pos[0]);
  if (problem?.code === 'MULTIPLE_DOCS')
    throw new YamlError('several documents', problem.pos[0], 'a body must be one document');
  if (problem) throw new YamlError(problem.message, problem.pos[0]);
  if (doc.directives.yaml.explicit && doc.directives.yaml.version !== '1.2')
    throw new YamlError('%YAML 1.1', 0, 'only YAML 1.2 is accepted');
  return doc;
}

function writeNode(converter: Converter, node: unknown, alias?: Node): void {
  if (isAlias(node)) {
    const target = node.resolve(converter.doc);
    if (!target) throw new YamlError(`the alias *${node.source} has no anchor`, offsetOf(node));
    writeNode(converter, target, alias ?? node);
    return;
  }
  if (alias && converter.bytes > MAX_EXPANDED_BYTES) throw new YamlError('the aliases expand too far', offsetOf(alias));
  rejectForeignTag(node);
  converter.offsets.set(converter.bytes, offsetOf(node));
  if (!isCollection(node)) {
    emit(converter, isScalar(node) ? scalarJson(node) : 'null');
    return;
  }
  converter.depth += 1;
  if (converter.depth > MAX_YAML_DEPTH) throw new YamlError('nested too deeply', offsetOf(node));
  emit(converter, isMap(node) ? '{' : '[');
  for (const [index, item] of node.items.entries()) {
    if (index > 0) emit(converter, ',');
    if (isPair(item)) emit(converter, `${keyJson(item.key)}:`);
    writeNode(converter, isPair(item) ? item.value : item, alias);
  }
  emit(converter, isMap(node) ? '}' : ']');
  converter.depth -= 1;
}

// The parser reads times, bytes, sets and ordered maps in every schema where a tag names them.
function rejectForeignTag(node: unknown): void {
  const [, name] = (isNode(node) && /^tag:yaml\.org,2002:(.*)$/.exec(node.tag ?? '')) || [];
  if (name !== undefined && !CORE_TAGS.has(name))
    throw new YamlError(`the tag !!${name} has no JSON form`, offsetOf(node));
}

function keyJson(key: unknown): string {
  if (!isScalar(key)) throw new YamlError('a key must be a string', offsetOf(key));
  rejectForeignTag(key);
  return JSON.stringify(typeof key.value === 'string' ? key.value : (key.source ?? ''));
}

function scalarJson(scalar: Scalar): string {
  const { value, source = '' } = scalar;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return /^-?(?:0|[1-9]\d*)$/.test(source) ? source : String(value);
  if (typeof value === 'number') return numberJson(scalar, source, value);
  return 'null';
}

// JSON writes 0.5 for .5, and 1.0 stays 1.0.
function numberJson(scalar: Scalar, source: string, value: number): string {
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(source)) return source;
  if (!Number.isFinite(value) && /[a-z]/i.test(source.replace(/e/gi, '')))
    throw new YamlError(`${source} is not a JSON number`, offsetOf(scalar), 'use null');
  const [, sign = '', whole = '', fraction = '', power = ''] =
    /^([-+]?)0*(\d*)\.?(\d*)((?:[eE][-+]?\d+)?)$/.exec(source) ?? [];
  return `${sign === '-' ? '-' : ''}${whole || '0'}${fraction && `.${fraction}`}${power}`;
}

function emit(converter: Converter, text: string): void {
  converter.parts.push(text);
  converter.bytes += Buffer.byteLength(text);
}

function offsetOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}
