import { openApiDocument } from '../cli/docs/openapi.ts';
import type { RunCommand } from '../command.ts';
import { usageFailure } from '../errors.ts';
import { objectSchema } from '../fields/json-schema.ts';
import { bodySkeleton } from '../fields/sample.ts';
import { getBooleanFlag } from '../flag.ts';
import { indentJson } from '../json/format-json.ts';
import { parseJson } from '../json/parse-json.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { allOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';

/** Prints what the definitions say: the schema of a body or reply, a body to fill in, or the whole interface. */
export const runSpec: RunCommand = async ({ args, flags }, { stdout }) => {
  const selectedFlags = ['reply', 'skeleton', 'openapi'].filter((name) => getBooleanFlag(flags, name));
  if (selectedFlags.length > 1)
    throw usageFailure(`--${selectedFlags.join(' and --')} are different things`, 'give one of them');
  const text = writeJson(
    selectedFlags[0] === 'openapi'
      ? createOpenApiDocument(args)
      : createOperationSpec(findOperation(args), selectedFlags[0]),
  );
  await stdout.write(`${indentJson(parseJson(text))}\n`);
  await stdout.end();
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
