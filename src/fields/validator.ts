import * as z from 'zod/mini';
import { type Find, finderIn } from '../json/finder.ts';
import { isTrue, type JsonKind, type JsonNode, kindOf, startOf, textOf } from '../json/node.ts';
import { compareNumbers, isInteger } from '../json/number.ts';
import type { Path } from '../json/path.ts';
import { disagreement } from './expectation.ts';
import type { Fields, Shape } from './field.ts';
import { type Finding, type Remark, told } from './finding.ts';
import { formats } from './formats.ts';
import { viewOf } from './view.ts';

export interface ValidatorOptions {
  /** For replies: null passes for any member that is not required. */
  readonly lenient?: boolean;
}

/** The verdicts of an examiner, told. */
export function validator(fields: Fields, options?: ValidatorOptions): (root: JsonNode) => Finding[] {
  const examine = examiner(fields, options);
  return (root) => told(examine(root));
}

/**
 * The examiner of bodies and replies: a zod schema built from the fields, whose verdicts are put in our words. All
 * remarks are errors.
 */
export function examiner(fields: Fields, { lenient = false }: ValidatorOptions = {}): (root: JsonNode) => Remark[] {
  const shape: Shape = { type: 'object', fields };
  const schema = schemaOf(shape, lenient);
  return (root) => {
    const { error } = schema.safeParse(viewOf(root, shape));
    const find = finderIn(root.doc);
    return (error?.issues ?? []).map((issue) => remarkOf(issue, find, root, shape));
  };
}

function schemaOf(shape: Shape, lenient: boolean): z.ZodMiniType {
  const schema = nonNullSchema(shape, lenient);
  return shape.nullable ? z.nullable(schema) : schema;
}

function nonNullSchema(shape: Shape, lenient: boolean): z.ZodMiniType {
  switch (shape.type) {
    case 'string':
      if (shape.oneOf) return z.enum(shape.oneOf);
      return shape.format ? z.string().check(z.regex(new RegExp(formats[shape.format].pattern, 'u'))) : z.string();
    case 'integer':
      return numbers(shape).check(z.refine((node) => isInteger(textOf(node))));
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

function members(fields: Fields, lenient: boolean): z.ZodMiniType {
  let schema: z.ZodMiniType<Record<string, unknown>> = z.object(
    Object.fromEntries(
      Object.entries(fields).map(([name, field]) => {
        const one = field.filledByService ? z.null() : schemaOf(field, lenient);
        if (field.required) return [name, one];
        return [name, lenient ? z.nullish(one) : z.optional(one)];
      }),
    ),
  );
  for (const [name, { excludes }] of Object.entries(fields)) {
    if (!excludes) continue;
    // `when`: told beside the other findings, not only once those are mended.
    schema = schema.check(
      z.refine((view) => !(isTrueView(view[name]) && isTrueView(view[excludes])), {
        path: [name],
        params: { excludes },
        when: ({ value }) => typeof value === 'object' && value !== null,
      }),
    );
  }
  return schema;
}

function numbers({ min, max }: { min?: number | bigint; max?: number | bigint }): z.ZodMiniType<JsonNode> {
  return ofKind('number').check(
    z.refine(
      (node) =>
        (min === undefined || compareNumbers(textOf(node), String(min)) >= 0) &&
        (max === undefined || compareNumbers(textOf(node), String(max)) <= 0),
    ),
  );
}

function ofKind(kind: JsonKind): z.ZodMiniType<JsonNode> {
  return z.custom<JsonNode>((view) => isNode(view) && kindOf(view) === kind, { abort: true });
}

function isNode(view: unknown): view is JsonNode {
  return typeof view === 'object' && view !== null && 'doc' in view;
}

function isTrueView(view: unknown): boolean {
  return isNode(view) && isTrue(view);
}

function remarkOf(issue: z.core.$ZodIssue, find: Find, root: JsonNode, outermost: Shape): Remark {
  const path: Path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  const found = find(path, root);
  const node = found.at(-1) ?? root;
  const at = startOf(node);
  if (found.length <= path.length) {
    return { level: 'error', code: 'missing', at, tell: () => ({ path, message: 'is required' }) };
  }
  const excluded = issue.code === 'custom' ? issue.params?.excludes : undefined;
  if (typeof excluded === 'string') {
    const message = `cannot be true together with ${excluded}; set ${excluded} to false`;
    return { level: 'error', code: 'excluded', at, tell: () => ({ path, message }) };
  }
  const tell: Remark['tell'] = () => ({ path, message: disagreement(outermost, path, node) });
  return { level: 'error', code: 'invalid', at, tell };
}
