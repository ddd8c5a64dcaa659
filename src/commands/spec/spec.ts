import { buildSkeleton } from '../../body/build-body.ts';
import { createBodyDependencies } from '../../body/input-reader.ts';
import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { bodySkeleton, flagName } from '../../fields/field.ts';
import { objectSchema } from '../../fields/json-schema.ts';
import { type FlagValues, getStringFlag } from '../../flag.ts';
import { rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import type { JsonValue } from '../../json/write-json.ts';
import { allOperations } from '../../operations/all-operations.ts';
import { flagTarget, type Operation } from '../../operations/operation.ts';
import { redactSecretFields } from '../../operations/secret-fields.ts';
import { issueText } from '../../output/failure-text.ts';
import { REDACTED } from '../../output/reporter.ts';
import { requestedFormat } from '../../results/output-format.ts';
import { openResultOutput, printResult, type ResultOutput, resultOf } from '../../results/print-result.ts';
import { commentedJson, commentedYaml } from './commented-skeleton.ts';
import { openApiDocument } from './openapi.ts';

const VIEWS = ['response', 'reply', 'skeleton', 'openapi'] as const;

/** Prints the JSON Schema of a body or response, a skeleton of a body, or the OpenAPI document of all operations. */
export const runSpec: RunCommand = async ({ args, flags }, context) => {
  const output = await openResultOutput('document', flags, context);
  const views = VIEWS.filter((name) => flags.has(name)).map((name) => (name === 'reply' ? 'response' : name));
  const [view, other] = new Set(views);
  if (other) throw usageFailure(`--${view} cannot be combined with --${other}`, 'remove one of them');
  if (view === 'skeleton') rejectSeparateValue(args);
  const isSmallest = view === 'skeleton' && getStringFlag(flags, 'skeleton') !== 'all';
  rejectUnusedBodyFlags(flags, isSmallest ? findOperation(args) : undefined);
  if (view === 'openapi' && args.length > 0)
    throw usageFailure('--openapi covers all operations', 'remove the name of the operation');
  const print = (value: JsonValue): Promise<void> => printResult({ ...resultOf(value), isIndented: true }, output);
  if (view === 'openapi') await print(openApiDocument(allOperations));
  else if (view === 'skeleton') await printSkeleton(findOperation(args), flags, output, context);
  else await print(operationSchema(findOperation(args), view));
  await context.stdout.end();
};

// Flags of the body fill in the smallest body only, and each operation has its own.
function rejectUnusedBodyFlags(flags: FlagValues, operation: Operation | undefined): void {
  const used = operation ? bodyFlagNames(operation) : [];
  const unused = allOperations.flatMap(bodyFlagNames).find((name) => flags.has(name) && !used.includes(name));
  if (unused === undefined) return;
  throw operation
    ? usageFailure(`--${unused} is not a flag of svc ${operation.command.join(' ')}`, 'remove it')
    : usageFailure(`--${unused} fills in the smallest body only`, `add --skeleton without =all, or remove --${unused}`);
}

function bodyFlagNames(operation: Operation): string[] {
  return [
    'set',
    ...Object.keys(flagTarget(operation).fields).map(flagName),
    ...Object.keys(operation.shorthands ?? {}),
  ];
}

async function printSkeleton(
  operation: Operation,
  flags: FlagValues,
  output: ResultOutput,
  context: Context,
): Promise<void> {
  const { stdout } = context;
  if (getStringFlag(flags, 'skeleton') === 'all') {
    const format = requestedFormat('document', flags);
    // A job with its trajectories is usually too large for YAML, which is read whole.
    const isUsuallyLarge = typeof operation.arguments?.as === 'object';
    if (format === 'yaml' || (format === undefined && !isUsuallyLarge)) await stdout.write(commentedYaml(operation));
    else if (format === undefined) await stdout.write(commentedJson(operation));
    else await printResult({ ...resultOf(bodySkeleton(operation.body)), isIndented: true }, output);
    return;
  }
  const { draft, warnings } = await buildSkeleton(operation, flags, createBodyDependencies(context));
  for (const warning of warnings) await context.report.warn(issueText(warning));
  const redacted = parseJson(redactSecretFields(rootOf(draft.doc), operation, () => REDACTED));
  await printResult({ doc: redacted, isIndented: true }, output);
}

function operationSchema(operation: Operation, view: 'response' | undefined): JsonValue {
  const [title, fields] = view === 'response' ? ['response', operation.reply] : ['body', operation.body];
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `${title} of svc ${operation.command.join(' ')}`,
    description: operation.summary,
    ...objectSchema(fields),
  };
}

// `--skeleton all` is `--skeleton` and an argument.
function rejectSeparateValue(args: readonly string[]): void {
  if (args.includes('all') && operationOf(args.filter((word) => word !== 'all')))
    throw usageFailure('--skeleton takes a value only after =', 'write --skeleton=all');
}

function operationOf(args: readonly string[]): Operation | undefined {
  return allOperations.find(({ command }) => command.join(' ') === args.join(' '));
}

function findOperation(args: readonly string[]): Operation {
  const operation = operationOf(args);
  if (operation) return operation;
  const name = args.join(' ');
  const names = allOperations.map(({ command }) => command.join(' ')).join(', ');
  throw usageFailure(
    name === '' ? 'the name of an operation is missing' : `${JSON.stringify(name)} is not an operation`,
    `choose one of: ${names}`,
  );
}
