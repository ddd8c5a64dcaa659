import * as z from 'zod/mini';
import { type JsonKind, type JsonNode, kindOf, rawText, startOffset } from '../json/json-node.ts';
import type { JsonPath } from '../json/json-path.ts';
import { createNodeFinder, type NodeFinder } from '../json/node-finder.ts';
import { isIntegerLiteral } from '../json/number-literal.ts';
import type { Fields, Shape } from './field.ts';
import { type Finding, firstOfEachKind, type PendingFinding } from './finding.ts';
import { isInRange, mismatchMessage, type NumberRange } from './mismatch-message.ts';
import { stringFormats } from './string-formats.ts';
import { toZodInput } from './zod-input.ts';

/** As createSchemaInspector, but sorted by position and limited to the first hundred findings of each kind. */
export function createSchemaValidator(fields: Fields): (root: JsonNode) => Finding[] {
  const inspect = createSchemaInspector(fields, false);
  return (root) => firstOfEachKind(inspect(root));
}

/**
 * Checks bodies and responses against a zod schema built from the fields: one walk finds all errors and, on request, all
 * warnings. Null passes for any field that is not required.
 */
export function createSchemaInspector(fields: Fields, hasWarnings: boolean): (root: JsonNode) => PendingFinding[] {
  const shape: Shape = { type: 'object', fields };
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
      return numberZodSchema(shape).check(z.refine((node) => isIntegerLiteral(rawText(node))));
    case 'number':
      return numberZodSchema(shape);
    case 'boolean':
      return nodeOfKind('boolean');
    case 'list':
      return z.array(zodSchema(shape.of));
    case 'object':
      if (shape.fields) return objectZodSchema(shape.fields);
      return shape.values ? z.record(z.string(), zodSchema(shape.values)) : nodeOfKind('object');
    case 'either':
      return z.union(shape.of.map(zodSchema));
    case 'json':
      return z.any();
  }
}

function objectZodSchema(fields: Fields): z.ZodMiniType {
  return z.object(
    Object.fromEntries(
      Object.entries(fields).map(([name, field]) => {
        const one = field.isReadOnly ? z.null() : zodSchema(field);
        return [name, field.required ? one : z.optional(one)];
      }),
    ),
  );
}

function numberZodSchema(range: NumberRange): z.ZodMiniType<JsonNode> {
  return nodeOfKind('number').check(z.refine((node) => isInRange(node, range), { abort: true }));
}

function nodeOfKind(kind: JsonKind): z.ZodMiniType<JsonNode> {
  return z.custom<JsonNode>((view) => isJsonNode(view) && kindOf(view) === kind, { abort: true });
}

function isJsonNode(view: unknown): view is JsonNode {
  return typeof view === 'object' && view !== null && 'doc' in view;
}

function toPendingFinding(issue: z.core.$ZodIssue, find: NodeFinder, root: JsonNode, rootShape: Shape): PendingFinding {
  const path: JsonPath = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  const nodesOnPath = find(path, root);
  const node = nodesOnPath.at(-1) ?? root;
  const offset = startOffset(node);
  if (nodesOnPath.length <= path.length) {
    return { level: 'error', code: 'missing', offset, describe: () => ({ path, message: 'is required' }) };
  }
  const describe: PendingFinding['describe'] = () => ({
    path,
    message: mismatchMessage(rootShape, path, node),
    flagMessage: mismatchMessage(rootShape, path, node, true),
  });
  return { level: 'error', code: 'invalid', offset, describe };
}
