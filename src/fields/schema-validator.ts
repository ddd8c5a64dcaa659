import * as z from 'zod/mini';
import {
  createNodeFinder,
  duplicateKeys,
  itemsOf,
  type JsonKind,
  type JsonNode,
  type JsonPath,
  kindOf,
  membersOf,
  type NodeFinder,
  nodeAtPath,
  rawText,
  startOffset,
  stringOf,
} from '../json/json-node.ts';
import { isIntegerLiteral } from '../json/number-literal.ts';
import { adviseField, unknownFieldFinding } from './advice.ts';
import type { AcceptedFields, Field, Fields, Shape } from './field.ts';
import { type BodyRules, type Finding, firstOfEachKind, type PendingFinding, pendingWarning } from './finding.ts';
import { isInRange, mismatchMessage, toleratedForm, toleratedFormMessage } from './mismatch-message.ts';
import { stringFormats } from './string-formats.ts';

type ObjectShape = Extract<Shape, { readonly type: 'object' }>;

/** As createSchemaInspector, but sorted by position and limited to the first hundred findings of each kind. */
export function createSchemaValidator(fields: Fields): (root: JsonNode) => Finding[] {
  const inspect = createSchemaInspector({ type: 'object', fields }, false);
  return (root) => firstOfEachKind(inspect(root));
}

/** Checks values with a zod schema of the fields. One walk finds all errors and warnings; null passes in optional fields. */
function createSchemaInspector(shape: ObjectShape, hasWarnings: boolean): (root: JsonNode) => PendingFinding[] {
  const schema = zodSchema(shape);
  return (root) => {
    const findings: PendingFinding[] = [];
    const add = hasWarnings ? (finding: PendingFinding) => void findings.push(finding) : undefined;
    const { error } = schema.safeParse(toZodInput(root, shape, [], add));
    if (!error) return findings;
    const find = createNodeFinder(root.doc);
    for (const issue of error.issues) findings.push(toPendingFinding(issue, find, root, shape));
    return findings;
  };
}

function zodSchema(shape: Shape): z.ZodMiniType {
  const schema = nonNullZodSchema(shape);
  return shape.nullable ? z.nullable(schema) : schema;
}

function nonNullZodSchema(shape: Shape): z.ZodMiniType {
  switch (shape.type) {
    case 'string':
      if (shape.oneOf) return z.enum(shape.oneOf);
      return shape.format
        ? z.string().check(z.regex(new RegExp(stringFormats[shape.format].pattern, 'u')))
        : z.string();
    case 'integer':
    case 'number': {
      const hasForm = (node: JsonNode): boolean => shape.type === 'number' || isIntegerLiteral(rawText(node));
      return nodeOfKind('number').check(z.refine((node) => isInRange(node, shape) && hasForm(node)));
    }
    case 'boolean':
      return nodeOfKind('boolean');
    case 'list':
      return z.array(zodSchema(shape.of));
    case 'object':
      if (shape.fields)
        return z.object(
          Object.fromEntries(Object.entries(shape.fields).map(([name, field]) => [name, fieldZodSchema(field)])),
        );
      return shape.values ? z.record(z.string(), zodSchema(shape.values)) : nodeOfKind('object');
    case 'either':
      return z.union(shape.of.map(zodSchema));
    case 'json':
      return z.any();
  }
}

function fieldZodSchema(field: Field): z.ZodMiniType {
  const schema = field.isReadOnly ? z.null() : zodSchema(field);
  return field.required ? schema : z.optional(schema);
}

function nodeOfKind(kind: JsonKind): z.ZodMiniType<JsonNode> {
  const isNode = (view: unknown): view is JsonNode => typeof view === 'object' && view !== null && 'doc' in view;
  return z.custom<JsonNode>((view) => isNode(view) && kindOf(view) === kind, { abort: true });
}

function toPendingFinding(issue: z.core.$ZodIssue, find: NodeFinder, root: JsonNode, rootShape: Shape): PendingFinding {
  const path: JsonPath = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  const nodesOnPath = find(path, root);
  const node = nodesOnPath.at(-1) ?? root;
  const offset = startOffset(node);
  if (nodesOnPath.length <= path.length)
    return { level: 'error', code: 'missing', offset, describe: () => ({ path, message: 'is required' }) };
  const describe: PendingFinding['describe'] = () => ({
    path,
    message: mismatchMessage(rootShape, path, node),
    flagMessage: mismatchMessage(rootShape, path, node, true),
  });
  return { level: 'error', code: 'invalid', offset, describe };
}

/** A value for zod: plain values down to the depth of the shape, nodes below. */
type ZodInput = typeof notAnObject | null | boolean | string | JsonNode | ZodInput[] | { [key: string]: ZodInput };

// Receives the warnings of the walk; undefined if none are wanted.
type AddFinding = ((finding: PendingFinding) => void) | undefined;

// Replaces a value that should be an object and is not, because zod would accept a node as an object.
const notAnObject = Symbol('not an object');

/**
 * Walks a value under a shape once: returns the input of zod, which finds the errors, and adds the warnings on the way.
 * Forms that servers tolerate are warnings and left out. The walk is only as deep as the shape, so the depth of a
 * payload does not matter; numbers stay nodes, because their text decides.
 */
function toZodInput(node: JsonNode, shape: Shape, path: JsonPath, add: AddFinding): ZodInput {
  const kind = kindOf(node);
  if (kind === 'null') return null;
  switch (shape.type) {
    case 'string':
      return kind === 'string' ? stringOf(node) : node;
    case 'list': {
      if (kind !== 'list') return node;
      const needsPath = add && isContainer(shape.of);
      return Array.from(itemsOf(node), (item, at) => toZodInput(item, shape.of, needsPath ? [...path, at] : path, add));
    }
    case 'object':
      if (!(shape.fields || shape.values)) return node;
      if (kind !== 'object') return notAnObject;
      return objectToZodInput(node, shape, path, add);
    case 'either':
      return toZodInput(node, shape.of.find(({ type }) => type === kind) ?? { type: 'json' }, path, add);
    default:
      return node;
  }
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
  for (const [key, value] of siblings) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (field) {
      const tolerated = toleratedForm(value, field);
      if (tolerated) {
        const isNull = kindOf(value) === 'null';
        // For zod, the field must not be missing.
        if (field.required) input[key] = 'format' in field && field.format ? stringFormats[field.format].sample : '';
        // A null that most servers reject as missing gets the warning about that alone.
        if (!add || (isNull && (takesNull || field.advice?.required))) continue;
        const describe = () => ({ path: [...path, key], message: toleratedFormMessage(value, field) });
        if (!tolerated.isUsual) add(pendingWarning('tolerated', value, describe));
        adviseField(key, field, value, siblings, path, add);
        continue;
      }
      input[key] = toZodInput(value, field, add && isContainer(field) ? [...path, key] : path, add);
      if (add) adviseField(key, field, value, siblings, path, add);
    } else if (others) input[key] = toZodInput(value, others, path, add);
    else if (add && shape.fields && !hasOpenFields) {
      const advice = accepted && Object.hasOwn(accepted, key) ? accepted[key] : undefined;
      if (advice) adviseField(key, { type: 'json', advice }, value, siblings, path, add);
      else add(unknownFieldFinding(key, value, fields, path));
    }
  }
  if (add) addMissingFields(node, fields, siblings, path, add);
  return input;
}

// The interface leaves these fields optional, and most servers require them.
function addMissingFields(
  node: JsonNode,
  fields: Fields,
  siblings: ReadonlyMap<string, JsonNode>,
  path: JsonPath,
  add: NonNullable<AddFinding>,
): void {
  for (const name in fields) {
    const field = fields[name];
    if (!field?.advice?.required) continue;
    const value = siblings.get(name);
    const message = value ? 'must not be null; most servers reject it' : 'is required by most servers';
    if (!value || (kindOf(value) === 'null' && toleratedForm(value, field)))
      add(pendingWarning(value ? 'null' : 'missing', value ?? node, () => ({ path: [...path, name], message })));
  }
}

/** Returns the errors and warnings of a body, in the order of the text. */
export type BodyValidator = (root: JsonNode) => Finding[];

/** The checks of a body: its fields, and rules about several of them. */
interface BodyRequirements {
  readonly body: Fields;
  readonly accepted?: AcceptedFields;
  readonly rules?: BodyRules;
}

/** The one validator of bodies: command line, batches and local service use it. It returns the first hundred findings of each kind. */
export function createBodyValidator({ body, accepted, rules }: BodyRequirements): BodyValidator {
  const inspect = createBodyInspector({ type: 'object', fields: body, ...(accepted && { accepted }) });
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
export function createBodyInspector(shape: ObjectShape): (root: JsonNode) => PendingFinding[] {
  // Created for the first body: most operations of a service are never called.
  let inspectSchema: ((root: JsonNode) => PendingFinding[]) | undefined;
  const message = 'is given more than once; the last value counts';
  return (root) => {
    inspectSchema ??= createSchemaInspector(shape, true);
    const findings = inspectSchema(root);
    for (const { value, path } of duplicateKeys(root.doc))
      findings.push(pendingWarning('duplicate', value, () => ({ path: path(), message })));
    return findings;
  };
}
