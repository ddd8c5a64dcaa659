import type { Run } from '../cli/command.ts';
import { openApi } from '../cli/openapi.ts';
import { usage } from '../errors.ts';
import { isOn } from '../fields/flag.ts';
import { objectSchema } from '../fields/json-schema.ts';
import { skeleton } from '../fields/sample.ts';
import { parseJson } from '../json/document.ts';
import { indentJson } from '../json/layout.ts';
import { type Json, writeJson } from '../json/write.ts';
import { operations } from '../operations/index.ts';
import type { Operation } from '../operations/operation.ts';

/** Prints what the definitions say: the schema of a body or reply, a body to fill in, or the whole interface. */
export const runSpec: Run = async ({ args, flags }, { stdout }) => {
  const wanted = ['reply', 'skeleton', 'openapi'].filter((name) => isOn(flags, name));
  if (wanted.length > 1) throw usage(`--${wanted.join(' and --')} are different things`, 'give one of them');
  const text = writeJson(wanted[0] === 'openapi' ? wholeInterface(args) : partOf(operationNamed(args), wanted[0]));
  await stdout.write(`${indentJson(parseJson(text))}\n`);
  await stdout.end();
};

function wholeInterface(args: readonly string[]): Json {
  if (args.length > 0) throw usage('--openapi is about all operations', 'leave out the command');
  return openApi(operations);
}

function partOf(operation: Operation, wanted: string | undefined): Json {
  if (wanted === 'skeleton') return skeleton(operation.body);
  const [title, fields] = wanted === 'reply' ? ['reply', operation.reply] : ['body', operation.body];
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `${title} of svc ${operation.command.join(' ')}`,
    description: operation.summary,
    ...objectSchema(fields),
  };
}

function operationNamed(args: readonly string[]): Operation {
  const name = args.join(' ');
  const operation = operations.find(({ command }) => command.join(' ') === name);
  if (operation) return operation;
  const names = operations.map(({ command }) => command.join(' ')).join(', ');
  throw usage(
    name === '' ? 'the name of an operation is missing' : `there is no operation ${JSON.stringify(name)}`,
    `there are: ${names}`,
  );
}
