import { z } from 'zod';
import { isTrue, type JsonKind, type JsonNode, kindOf, textOf } from '../json/node.ts';
import { compareNumbers, isInteger } from '../json/number.ts';
import { nodeAt, type Path } from '../json/path.ts';
import { expected, found } from './expectation.ts';
import type { Fields, Shape } from './field.ts';
import type { Finding } from './finding.ts';
import { formats } from './formats.ts';
import { viewOf } from './view.ts';

export type Validate = (root: JsonNode) => Finding[];

// Telling where a finding is means walking there, so a list of a million bad elements is not told in full.
const MOST_FINDINGS = 1000;

/**
 * The judge of bodies and replies: a zod schema built from the fields, whose verdicts are told in our words. All
 * findings are errors. `lenient`, for replies, takes null for any member that is not required.
 */
export function validator(fields: Fields, { lenient = false } = {}): Validate {
  const shape: Shape = { type: 'object', fields };
  const schema = schemaOf(shape, lenient);
  return (root) => {
    const { error } = schema.safeParse(viewOf(root, shape));
    const issues = error?.issues ?? [];
    const findings = issues.slice(0, MOST_FINDINGS).map((issue) => findingOf(issue, root, shape));
    if (issues.length <= MOST_FINDINGS) return findings;
    const message = `and ${issues.length - MOST_FINDINGS} more findings like these`;
    return [...findings, { path: [], level: 'error', code: 'invalid', message }];
  };
}

function schemaOf(shape: Shape, lenient: boolean): z.ZodType {
  const schema = nonNullSchema(shape, lenient);
  return shape.nullable ? schema.nullable() : schema;
}

function nonNullSchema(shape: Shape, lenient: boolean): z.ZodType {
  switch (shape.type) {
    case 'string':
      if (shape.oneOf) return z.enum(shape.oneOf);
      return shape.format ? z.string().regex(new RegExp(formats[shape.format].pattern, 'u')) : z.string();
    case 'integer':
      return numbers(shape).refine((node) => isInteger(textOf(node)));
    case 'number':
      return numbers(shape);
    case 'boolean':
      return ofKind('boolean');
    case 'list':
      return z.array(schemaOf(shape.of, lenient));
    case 'object':
      if (shape.fields) return members(shape.fields, lenient);
      return shape.values ? z.record(z.string(), schemaOf(shape.values, lenient)) : ofKind('object');
    case 'either':
      return z.union(shape.of.map((one) => schemaOf(one, lenient)));
    case 'json':
      return z.any();
  }
}

function members(fields: Fields, lenient: boolean): z.ZodType {
  let schema: z.ZodType<Record<string, unknown>> = z.object(
    Object.fromEntries(
      Object.entries(fields).map(([name, field]) => {
        const one = field.filledByService ? z.null() : schemaOf(field, lenient);
        if (field.required) return [name, one];
        return [name, lenient ? one.nullish() : one.optional()];
      }),
    ),
  );
  for (const [name, { excludes }] of Object.entries(fields)) {
    if (!excludes) continue;
    // `when`: told beside the other findings, not only once those are mended.
    schema = schema.refine((view) => !(isTrueView(view[name]) && isTrueView(view[excludes])), {
      path: [name],
      params: { excludes },
      when: ({ value }) => typeof value === 'object' && value !== null,
    });
  }
  return schema;
}

function numbers({ min, max }: { min?: number | bigint; max?: number | bigint }): z.ZodType<JsonNode> {
  return ofKind('number').refine(
    (node) =>
      (min === undefined || compareNumbers(textOf(node), String(min)) >= 0) &&
      (max === undefined || compareNumbers(textOf(node), String(max)) <= 0),
  );
}

function ofKind(kind: JsonKind): z.ZodType<JsonNode> {
  return z.custom<JsonNode>((view) => isNode(view) && kindOf(view) === kind, { abort: true });
}

function isNode(view: unknown): view is JsonNode {
  return typeof view === 'object' && view !== null && 'doc' in view;
}

function isTrueView(view: unknown): boolean {
  return isNode(view) && isTrue(view);
}

function findingOf(issue: z.core.$ZodIssue, root: JsonNode, outermost: Shape): Finding {
  const path: Path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  const node = nodeAt(root, path);
  if (!node) return { path, level: 'error', code: 'missing', message: 'is required' };
  const excluded = issue.code === 'custom' ? issue.params?.excludes : undefined;
  if (typeof excluded === 'string') {
    const message = `cannot be true together with ${excluded}; set ${excluded} to false`;
    return { path, level: 'error', code: 'excluded', message };
  }
  return { path, level: 'error', code: 'invalid', message: disagreement(shapeAt(outermost, path), node) };
}

function disagreement(
  shape: Shape & { readonly filledByService?: true; readonly secret?: true },
  node: JsonNode,
): string {
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
