import { openApiDocument } from '../cli/docs/openapi.ts';
import type { RunCommand } from '../command.ts';
import { usageFailure } from '../errors.ts';
import { objectSchema } from '../fields/json-schema.ts';
import { bodySkeleton } from '../fields/sample.ts';
import { getBooleanFlag } from '../flag.ts';
import type { JsonValue } from '../json/write-json.ts';
import { allOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { openResultOutput, printResult, resultOf } from '../results/print-result.ts';

/** Prints what the definitions say: the schema of a body or reply, a body to fill in, or the whole interface. */
export const runSpec: RunCommand = async ({ args, flags }, context) => {
  const output = openResultOutput('document', flags, context);
  const selectedFlags = ['reply', 'skeleton', 'openapi'].filter((name) => getBooleanFlag(flags, name));
  if (selectedFlags.length > 1)
    throw usageFailure(`--${selectedFlags.join(' and --')} are different things`, 'give one of them');
  const document =
    selectedFlags[0] === 'openapi'
      ? createOpenApiDocument(args)
      : createOperationSpec(findOperation(args), selectedFlags[0]);
  await printResult({ ...resultOf(document), isIndented: true }, output);
  await context.stdout.end();
};

function createOpenApiDocument(args: readonly string[]): JsonValue {
  if (args.length > 0) throw usageFailure('--openapi is about all operations', 'leave out the command');
  return openApiDocument(allOperations);
}

function createOperationSpec(operation: Operation, selectedFlag: string | undefined): JsonValue {
  if (selectedFlag === 'skeleton') return bodySkeleton(operation.body);
  const [title, fields] = selectedFlag === 'reply' ? ['reply', operation.reply] : ['body', operation.body];
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `${title} of svc ${operation.command.join(' ')}`,
    description: operation.summary,
    ...objectSchema(fields),
  };
}

function findOperation(args: readonly string[]): Operation {
  const name = args.join(' ');
  const operation = allOperations.find(({ command }) => command.join(' ') === name);
  if (operation) return operation;
  const names = allOperations.map(({ command }) => command.join(' ')).join(', ');
  throw usageFailure(
    name === '' ? 'the name of an operation is missing' : `there is no operation ${JSON.stringify(name)}`,
    `there are: ${names}`,
  );
}
