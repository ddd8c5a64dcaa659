import * as z from 'zod/mini';
import { isTrue, type JsonKind, type JsonNode, kindOf, rawText, startOffset } from '../json/json-node.ts';
import type { JsonPath } from '../json/json-path.ts';
import { createNodeFinder, type NodeFinder } from '../json/node-finder.ts';
import { compareNumberLiterals, isIntegerLiteral } from '../json/number-literal.ts';
import type { Fields, Shape } from './field.ts';
import { type Finding, firstOfEachKind, type PendingFinding } from './finding.ts';
import { mismatchMessage } from './mismatch-message.ts';
import { stringFormats } from './string-formats.ts';
import { toZodInput } from './zod-input.ts';

export interface ValidatorOptions {
  /** For replies: null passes for any member that is not required. */
  readonly lenient?: boolean;
}

/** The verdicts of an examiner, told. */
export function createSchemaValidator(fields: Fields, options?: ValidatorOptions): (root: JsonNode) => Finding[] {
  const inspect = createSchemaInspector(fields, options);
  return (root) => firstOfEachKind(inspect(root));
}

/**
 * The examiner of bodies and replies: a zod schema built from the fields, whose verdicts are put in our words. All
 * remarks are errors.
 */
export function createSchemaInspector(
  fields: Fields,
  { lenient = false }: ValidatorOptions = {},
): (root: JsonNode) => PendingFinding[] {
  const shape: Shape = { type: 'object', fields };
  const schema = zodSchema(shape, lenient);
  return (root) => {
    const { error } = schema.safeParse(toZodInput(root, shape));
    const find = createNodeFinder(root.doc);
    return (error?.issues ?? []).map((issue) => toPendingFinding(issue, find, root, shape));
  };
}

function zodSchema(shape: Shape, lenient: boolean): z.ZodMiniType {
  const schema = nonNullZodSchema(shape, lenient);
  return shape.nullable ? z.nullable(schema) : schema;
}

function nonNullZodSchema(shape: Shape, lenient: boolean): z.ZodMiniType {
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
      return z.array(zodSchema(shape.of, lenient));
    case 'object':
      if (shape.fields) return objectZodSchema(shape.fields, lenient);
      return shape.values ? z.record(z.string(), zodSchema(shape.values, lenient)) : nodeOfKind('object');
    case 'either':
      return z.union(shape.of.map((one) => zodSchema(one, lenient)));
    case 'json':
      return z.any();
  }
}

function objectZodSchema(fields: Fields, lenient: boolean): z.ZodMiniType {
  let schema: z.ZodMiniType<Record<string, unknown>> = z.object(
    Object.fromEntries(
      Object.entries(fields).map(([name, field]) => {
        const one = field.filledByService ? z.null() : zodSchema(field, lenient);
        if (field.required) return [name, one];
        return [name, lenient ? z.nullish(one) : z.optional(one)];
      }),
    ),
  );
  for (const [name, { excludes }] of Object.entries(fields)) {
    if (!excludes) continue;
    // `when`: told beside the other findings, not only once those are mended.
    schema = schema.check(
      z.refine((view) => !(isTrueInput(view[name]) && isTrueInput(view[excludes])), {
        path: [name],
        params: { excludes },
        when: ({ value }) => typeof value === 'object' && value !== null,
      }),
    );
  }
  return schema;
}

function numberZodSchema({ min, max }: { min?: number | bigint; max?: number | bigint }): z.ZodMiniType<JsonNode> {
  return nodeOfKind('number').check(
    z.refine(
      (node) =>
        (min === undefined || compareNumberLiterals(rawText(node), String(min)) >= 0) &&
        (max === undefined || compareNumberLiterals(rawText(node), String(max)) <= 0),
    ),
  );
}

function nodeOfKind(kind: JsonKind): z.ZodMiniType<JsonNode> {
  return z.custom<JsonNode>((view) => isJsonNode(view) && kindOf(view) === kind, { abort: true });
}

function isJsonNode(view: unknown): view is JsonNode {
  return typeof view === 'object' && view !== null && 'doc' in view;
}

function isTrueInput(view: unknown): boolean {
  return isJsonNode(view) && isTrue(view);
}

function toPendingFinding(issue: z.core.$ZodIssue, find: NodeFinder, root: JsonNode, rootShape: Shape): PendingFinding {
  const path: JsonPath = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  const nodesOnPath = find(path, root);
  const node = nodesOnPath.at(-1) ?? root;
  const offset = startOffset(node);
  if (nodesOnPath.length <= path.length) {
    return { level: 'error', code: 'missing', offset, describe: () => ({ path, message: 'is required' }) };
  }
  const excludedField = issue.code === 'custom' ? issue.params?.excludes : undefined;
  if (typeof excludedField === 'string') {
    const message = `cannot be true together with ${excludedField}; set ${excludedField} to false`;
    return { level: 'error', code: 'excluded', offset, describe: () => ({ path, message }) };
  }
  const describe: PendingFinding['describe'] = () => ({ path, message: mismatchMessage(rootShape, path, node) });
  return { level: 'error', code: 'invalid', offset, describe };
}
