import * as z from 'zod/mini';
import { formatByteSize } from '../files/byte-size.ts';
import {
  createNodeFinder,
  duplicateKeys,
  endOffset,
  isTrue,
  itemsOf,
  type JsonKind,
  type JsonNode,
  type JsonPath,
  kindOf,
  membersOf,
  nodeAtPath,
  rawText,
  startOffset,
  stringOf,
} from '../json/json-node.ts';
import { compareNumberLiterals, isIntegerLiteral } from '../json/number-literal.ts';
import { closestMatch, joinWithOr } from './closest-match.ts';
import { type Advice, type Field, type Fields, flagName, type Shape } from './field.ts';
import {
  type BodyRequirements,
  type Finding,
  firstOfEachKind,
  type PendingFinding,
  pendingWarning,
} from './finding.ts';
import { isWithin, mismatchMessage, toleratedForm, toleratedFormMessage } from './mismatch-message.ts';
import { hasFormat, parseTime, stringFormats } from './string-formats.ts';

type ObjectShape = Extract<Shape, { readonly type: 'object' }>;

/** Returns errors and warnings in the order of the text: the first hundred of each kind. */
export type BodyValidator = (root: JsonNode) => Finding[];

/** The one validator of bodies: command line, batches and local service use it. For responses it has no warnings. */
export function createBodyValidator(requirements: BodyRequirements, hasWarnings = true): BodyValidator {
  const { body, accepted, foreign, rules } = requirements;
  const others = { ...(accepted && { accepted }), ...(foreign && { foreign }) };
  const inspect = createBodyInspector({ type: 'object', fields: body, ...others }, hasWarnings);
  return (root) => {
    const findings = inspect(root);
    for (const { path, message, code = 'advice' } of rules?.(root) ?? []) {
      const node = nodeAtPath(root, path) ?? nodeAtPath(root, path.slice(0, -1)) ?? root;
      findings.push(pendingWarning(code, node, () => ({ path, message })));
    }
    return firstOfEachKind(findings);
  };
}

/** All findings of a body or of a part of one, unordered, without those of rules. */
export function createBodyInspector(shape: ObjectShape, hasWarnings = true): (root: JsonNode) => PendingFinding[] {
  // Created for the first body: most operations of a service are never called.
  let schema: z.ZodMiniType | undefined;
  const message = 'is given more than once; the last value counts';
  return (root) => {
    schema ??= zodSchema(shape);
    const findings: PendingFinding[] = [];
    const add = hasWarnings ? (finding: PendingFinding) => void findings.push(finding) : undefined;
    const { error } = schema.safeParse(toZodInput(root, shape, [], add));
    for (const finding of error ? schemaErrors(error.issues, root, shape) : []) findings.push(finding);
    for (const { value, path } of hasWarnings ? duplicateKeys(root.doc) : [])
      findings.push(pendingWarning('duplicate', value, () => ({ path: path(), message })));
    return findings;
  };
}

function zodSchema(shape: Shape): z.ZodMiniType {
  const schema = nonNullZodSchema(shape);
  return shape.nullable ? z.nullable(schema) : schema;
}

function nonNullZodSchema(shape: Shape): z.ZodMiniType {
  if (shape.type === 'json') return z.any();
  if (shape.type === 'boolean') return nodeOfKind('boolean');
  if (shape.type === 'list') return z.array(zodSchema(shape.of));
  if (shape.type === 'either') return z.union(shape.of.map(zodSchema));
  if (shape.type === 'string') {
    if (shape.oneOf) return z.enum(shape.oneOf);
    return shape.format ? z.string().check(z.regex(new RegExp(stringFormats[shape.format].pattern, 'u'))) : z.string();
  }
  if (shape.type === 'object') {
    if (!shape.fields) return shape.values ? z.record(z.string(), zodSchema(shape.values)) : nodeOfKind('object');
    const entries = Object.entries(shape.fields).map(([name, field]) => {
      const schema = field.isReadOnly ? z.null() : zodSchema(field);
      return [name, field.required ? schema : z.optional(schema)] as const;
    });
    return z.object(Object.fromEntries(entries));
  }
  const hasForm = (node: JsonNode): boolean => shape.type === 'number' || isIntegerLiteral(rawText(node));
  return nodeOfKind('number').check(z.refine((node) => isWithin(rawText(node), shape) && hasForm(node)));
}

function nodeOfKind(kind: JsonKind): z.ZodMiniType<JsonNode> {
  const isNode = (view: unknown): view is JsonNode => typeof view === 'object' && view !== null && 'doc' in view;
  return z.custom<JsonNode>((view) => isNode(view) && kindOf(view) === kind, { abort: true });
}

function schemaErrors(issues: readonly z.core.$ZodIssue[], root: JsonNode, rootShape: Shape): PendingFinding[] {
  const find = createNodeFinder(root.doc);
  return issues.map((issue) => {
    const path: JsonPath = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
    const nodesOnPath = find(path, root);
    const node = nodesOnPath.at(-1) ?? root;
    const isMissing = nodesOnPath.length <= path.length;
    const describe: PendingFinding['describe'] = () => {
      if (isMissing) return { path, message: 'is required' };
      const message = mismatchMessage(rootShape, path, node);
      return { path, message, flagMessage: mismatchMessage(rootShape, path, node, true) };
    };
    return { level: 'error', code: isMissing ? 'missing' : 'invalid', offset: startOffset(node), describe };
  });
}

/** A value for zod: plain values down to the depth of the shape, nodes below. */
type ZodInput = typeof notAnObject | null | boolean | string | JsonNode | ZodInput[] | { [key: string]: ZodInput };

type AddFinding = ((finding: PendingFinding) => void) | undefined;

// Replaces a value that should be an object and is not, because zod would accept a node as an object.
const notAnObject = Symbol('not an object');

// Returns the input of zod, which finds the errors, and adds the warnings on the way. Forms that servers tolerate are left
// out. The walk is only as deep as the shape; numbers stay nodes, because their text decides.
function toZodInput(node: JsonNode, shape: Shape, path: JsonPath, add: AddFinding): ZodInput {
  const kind = kindOf(node);
  if (kind === 'null') return null;
  if (shape.type === 'string') return kind === 'string' ? stringOf(node) : node;
  if (shape.type === 'list' && kind === 'list') {
    const needsPath = add && isContainer(shape.of);
    return Array.from(itemsOf(node), (item, at) => toZodInput(item, shape.of, needsPath ? [...path, at] : path, add));
  }
  if (shape.type === 'object' && (shape.fields || shape.values))
    return kind === 'object' ? objectToZodInput(node, shape, path, add) : notAnObject;
  if (shape.type !== 'either') return node;
  return toZodInput(node, shape.of.find(({ type }) => type === kind) ?? { type: 'json' }, path, add);
}

// A scalar has no findings of its own here, so its path is never read.
function isContainer({ type }: Shape): boolean {
  return type === 'list' || type === 'object' || type === 'either';
}

const noFields: Fields = {};

function objectToZodInput(node: JsonNode, shape: ObjectShape, path: JsonPath, add: AddFinding): ZodInput {
  const { fields = noFields, values: others, hasOpenFields, accepted, takesNull } = shape;
  // Without a prototype, `__proto__` is an ordinary name; no field has such a name, and an object with one takes half the time.
  const input: { [key: string]: ZodInput } = others ? Object.create(null) : {};
  const siblings = new Map<string, JsonNode>();
  for (const { key, value } of membersOf(node)) siblings.set(key, value);
  const owner = add && { path, siblings, add };
  for (const [key, value] of siblings) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    const tolerated = field && toleratedForm(value, field);
    if (field && tolerated) {
      // For zod, the field must not be missing.
      if (field.required) input[key] = 'format' in field && field.format ? stringFormats[field.format].sample : '';
      // A null that most servers reject as missing gets the warning about that alone.
      if (!owner || (kindOf(value) === 'null' && (takesNull || field.advice?.required))) continue;
      const describe = () => ({ path: [...path, key], message: toleratedFormMessage(value, field) });
      if (!tolerated.isUsual) owner.add(pendingWarning('tolerated', value, describe));
      adviseField(key, field, value, owner);
    } else if (field) {
      input[key] = toZodInput(value, field, add && isContainer(field) ? [...path, key] : path, add);
      if (owner) adviseField(key, field, value, owner);
    } else if (others) input[key] = toZodInput(value, others, path, add);
    else if (owner && shape.fields && !hasOpenFields) {
      const advice = accepted && Object.hasOwn(accepted, key) ? accepted[key] : undefined;
      if (advice) adviseField(key, { type: 'json', advice }, value, owner);
      else owner.add(unknownFieldFinding(key, value, shape, path));
    }
  }
  if (!owner) return input;
  // The interface leaves these fields optional, and most servers require them.
  for (const name in fields) {
    const field = fields[name];
    if (!field?.advice?.required) continue;
    const value = siblings.get(name);
    const [fact, rest] = value ? ['must not be null', '; most servers reject it'] : ['is required', ' by most servers'];
    const describe = () => ({ path: [...path, name], message: fact + rest, fact });
    if (!value || (kindOf(value) === 'null' && toleratedForm(value, field)))
      owner.add(pendingWarning(value ? 'null' : 'missing', value ?? node, describe));
  }
  return input;
}

// The object of a field. Of duplicates, the last sibling counts.
interface FieldOwner {
  readonly path: JsonPath;
  readonly siblings: ReadonlyMap<string, JsonNode>;
  readonly add: NonNullable<AddFinding>;
}

function adviseField(
  name: string,
  field: Shape & Pick<Field, 'advice' | 'deprecated' | 'excludes'>,
  node: JsonNode,
  { path, siblings, add }: FieldOwner,
): void {
  const { advice, deprecated, excludes } = field;
  if (!advice && !deprecated && !excludes) return;
  const warn = (code: Finding['code'], message: string, flagMessage = message, fact = message): void =>
    add(pendingWarning(code, node, () => ({ path: [...path, name], message, flagMessage, fact })));
  if (deprecated)
    warn('deprecated', `is deprecated; use ${deprecated}`, `is deprecated; use --${flagName(deprecated)}`);
  if (excludes && isTrue(node)) {
    const excluded = siblings.get(excludes);
    const message = `cannot be true together with ${excludes}; set ${excludes} to false`;
    const flagMessage = `needs --no-${flagName(excludes)}`;
    const describe: PendingFinding['describe'] = () => ({ path: [...path, name], message, flagMessage });
    if (isTrue(excluded)) add({ ...pendingWarning('excluded', node, describe), level: 'error' });
    // The service takes an absent sibling as true, so leaving it out is as wrong as true; null is absent (docs/internals/servers.md).
    else if (!excluded || kindOf(excluded) === 'null') warn('advice', `needs ${excludes} to be false`);
  }
  if (!advice) return;
  // A number outside of the range of the interface is an error already.
  if (!('min' in field) || kindOf(node) !== 'number' || isWithin(rawText(node), field))
    for (const [fact, rest = ''] of rejectionReasons(node, advice, siblings))
      warn('advice', fact + rest, fact + rest, fact);
  const { bytes, wants, keeps, after } = advice;
  const size = endOffset(node) - startOffset(node);
  if (bytes !== undefined && size > bytes)
    warn('large', `is ${formatByteSize(size)}; servers accept at most ${formatByteSize(bytes)}`);
  const earlier = after && siblings.get(after);
  if (earlier && timeOf(node) <= timeOf(earlier)) warn('unwise', `is not after ${after}, so the window is empty`);
  if (wants && isActive(node) && !isActive(siblings.get(wants.member)))
    warn(
      'unwise',
      `also set ${wants.member}; without it, ${wants.otherwise}`,
      `also set --${flagName(wants.member)}; without it, ${wants.otherwise}`,
    );
  if (keeps !== undefined && size > keeps)
    warn('unwise', `is ${formatByteSize(size)}; servers silently replace fields above ${formatByteSize(keeps)}`);
}

function unknownFieldFinding(name: string, value: JsonNode, shape: ObjectShape, path: JsonPath): PendingFinding {
  const describe: PendingFinding['describe'] = () => {
    const { fields = noFields, foreign = {} } = shape;
    const near = closestMatch(name, Object.keys(fields));
    const hint = Object.hasOwn(foreign, name) ? foreign[name] : near && `did you mean ${near}?`;
    return { path: [...path, name], message: `is not a known field${hint ? `; ${hint}` : ''}` };
  };
  const sameAs = `.${[...path, name].filter((step) => typeof step === 'string').join('.')}`;
  return { ...pendingWarning('unknown', value, describe), sameAs };
}

type Reason = readonly [fact: string, rest?: string];

function* rejectionReasons(node: JsonNode, advice: Advice, siblings: FieldOwner['siblings']): Generator<Reason> {
  const kind = kindOf(node);
  const text = kind === 'string' ? stringOf(node) : undefined;
  if (kind === 'number') yield* numberReasons(rawText(node), advice, siblings);
  if (advice.isNonEmpty && (kind === 'list' ? !isActive(node) : text === '')) yield ['must not be empty'];
  if (advice.hasText && [node, ...itemsOf(node)].some((one) => kindOf(one) === 'string' && stringOf(one) === ''))
    yield ['must not contain an empty string'];
  if (advice.oneOf && !(text !== undefined && advice.oneOf.includes(text)))
    yield [`should be ${joinWithOr(advice.oneOf.map((value) => JSON.stringify(value)))}`];
  if (text !== undefined && advice.format && !hasFormat(text, advice.format))
    yield [`should be ${stringFormats[advice.format].description}`, '; most servers reject other values'];
  if (!isActive(node)) return;
  const isEmptyObject = kind === 'object' && membersOf(node).next().done === true;
  if (advice.needs && !isEmptyObject && !isActive(siblings.get(advice.needs)))
    yield [`needs ${advice.needs}`, ` (--${flagName(advice.needs)})`];
  for (const other of advice.conflicts ?? [])
    if (isActive(siblings.get(other)))
      yield [`cannot be combined with ${other}`, '; most servers reject both together'];
}

function* numberReasons(text: string, advice: Advice, siblings: FieldOwner['siblings']): Generator<Reason> {
  const { min, max, above, atMost = [] } = advice;
  const end = `; most servers reject ${text}`;
  const compareTo = (limit: number | bigint | string): number => compareNumberLiterals(text, String(limit));
  if (min !== undefined && compareTo(min) < 0) yield [`should be at least ${min}`, end];
  if (max !== undefined && compareTo(max) > 0) yield [`should be at most ${max}`, end];
  if (above !== undefined && compareTo(above) <= 0) yield [`should be above ${above}`, end];
  for (const other of atMost) {
    const limit = siblings.get(other);
    if (limit && kindOf(limit) === 'number' && compareTo(rawText(limit)) > 0)
      yield [`should be at most ${other}, ${rawText(limit)}`, end];
  }
}

function timeOf(node: JsonNode): number {
  return kindOf(node) === 'string' ? parseTime(stringOf(node)) : Number.NaN;
}

// Absent, null, false, 0 and [] all mean off.
function isActive(node: JsonNode | undefined): boolean {
  const kind = node && kindOf(node);
  if (!node || kind === 'null') return false;
  if (kind === 'boolean') return isTrue(node);
  if (kind === 'number') return compareNumberLiterals(rawText(node), '0') !== 0;
  return kind !== 'list' || itemsOf(node).next().done === false;
}
