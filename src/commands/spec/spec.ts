import { enforceChecks } from '../../body/body-check.ts';
import { bodyFlagNames, readBodyFlags } from '../../body/body-flags.ts';
import { buildSkeleton } from '../../body/build-body.ts';
import { createBodyInputs } from '../../body/input-reader.ts';
import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { bodySkeleton, type Field, type Fields, minimalBody, type Shape, sampleValue } from '../../fields/field.ts';
import { objectSchema } from '../../fields/json-schema.ts';
import { describeShape } from '../../fields/mismatch-message.ts';
import { isGiven, type OptionsOfList } from '../../flag.ts';
import { rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { isRecord, type JsonValue, writeJson } from '../../json/write-json.ts';
import { allOperations } from '../../operations/all-operations.ts';
import type { Operation } from '../../operations/operation.ts';
import { type ResultOptions, requestedFormat } from '../../output/output-format.ts';
import { REDACTED, redactSecretFields } from '../../output/redaction.ts';
import { yamlChunks } from '../../results/format-yaml.ts';
import { openResultOutput, printResult, type ResultOutput, resultOf } from '../../results/print-result.ts';
import { version } from '../../version.ts';
import type { specFlags } from '../definitions/command-flags.ts';

const VIEWS = ['response', 'reply', 'skeleton', 'openapi'] as const;

type SpecOptions = ResultOptions & OptionsOfList<typeof specFlags>;

export const runSpec: RunCommand<SpecOptions> = async ({ args, options }, context) => {
  const output = await openResultOutput('document', options, context);
  const views = VIEWS.filter((name) => options[name] !== undefined).map((name) =>
    name === 'reply' ? 'response' : name,
  );
  const [view, other] = new Set(views);
  if (other) throw usageFailure(`--${view} cannot be combined with --${other}`, 'remove one of them');
  if (view === 'skeleton' && args.includes('all') && operationOf(args.filter((word) => word !== 'all')))
    throw usageFailure('--skeleton takes a value only after =', 'write --skeleton=all');
  const isSmallest = view === 'skeleton' && options.skeleton !== 'all';
  rejectUnusedBodyFlags(options, isSmallest ? findOperation(args) : undefined);
  if (view === 'openapi' && args.length > 0)
    throw usageFailure('--openapi covers all operations', 'remove the name of the operation');
  const print = (value: JsonValue): Promise<void> => printResult({ ...resultOf(value), isIndented: true }, output);
  if (view === 'openapi') await print(openApiDocument(allOperations));
  else if (isSmallest) await printSmallestBody(findOperation(args), options, output, context);
  else if (view === 'skeleton') await printEveryField(findOperation(args), options, output);
  else await print(operationSchema(findOperation(args), view));
};

// Flags of the body fill in the smallest body only, and each operation has its own.
function rejectUnusedBodyFlags(options: SpecOptions, operation: Operation | undefined): void {
  const used = operation ? bodyFlagNames(operation) : [];
  const unused = allOperations.flatMap(bodyFlagNames).find((name) => isGiven(options, name) && !used.includes(name));
  if (unused === undefined) return;
  throw operation
    ? usageFailure(`--${unused} is not a flag of svc ${operation.command.join(' ')}`, 'remove it')
    : usageFailure(`--${unused} fills in the smallest body only`, `add --skeleton without =all, or remove --${unused}`);
}

async function printSmallestBody(operation: Operation, options: SpecOptions, output: ResultOutput, context: Context) {
  const draft = await buildSkeleton(operation, readBodyFlags(operation, options), createBodyInputs(context));
  const strictness = { isStrict: false, isAdviceStrict: true, isCheckDisabled: false };
  await enforceChecks(draft, operation, strictness, context.report);
  const redacted = parseJson(redactSecretFields(rootOf(draft.doc), operation, () => REDACTED));
  await printResult({ doc: redacted, isIndented: true }, output);
}

// Valid bodies, with a comment above each field: in YAML, fields that are not required are comments; in JSONC all are set.
async function printEveryField(operation: Operation, options: SpecOptions, output: ResultOutput): Promise<void> {
  const { command, summary, body } = operation;
  // A job with its trajectories is usually too large for YAML, which is read whole.
  const isUsuallyLarge = typeof operation.arguments?.as === 'object';
  const format = requestedFormat('document', options) ?? (isUsuallyLarge ? 'jsonc' : 'yaml');
  if (format !== 'yaml' && format !== 'jsonc')
    return printResult({ ...resultOf(bodySkeleton(body)), isIndented: true }, output);
  const [mark, hint, lines] =
    format === 'yaml'
      ? ['#', 'Remove the # of the fields you need.', fieldLines(body, '')]
      : ['//', 'Remove the fields you do not need, and the comments: the body is JSON.', objectLines(body, {}, '')];
  const title = `Body of svc ${command.join(' ')}: ${summary.toLowerCase()}`;
  await output.writer.write([`${mark} ${title}`, `${mark} ${hint}`, ...lines, ''].join('\n'));
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

function operationOf(args: readonly string[]): Operation | undefined {
  return allOperations.find(({ command }) => command.join(' ') === args.join(' '));
}

function findOperation(args: readonly string[]): Operation {
  const operation = operationOf(args);
  if (operation) return operation;
  const name = args.join(' ');
  const view = VIEWS.find((one) => one === args.at(-1));
  const pieces = name.toLowerCase().split(/[^a-z]+/);
  const near = allOperations.filter(({ command }) => command.some((word) => pieces.includes(word)));
  const meant = view
    ? [`svc spec ${[...args.slice(0, -1), `--${view}`].join(' ')}`]
    : near.map(({ command }) => `svc spec ${command.join(' ')}`);
  const names = allOperations.map(({ command }) => command.join(' ')).join(', ');
  throw usageFailure(
    name === '' ? 'the name of an operation is missing' : `${JSON.stringify(name)} is not an operation`,
    meant.length > 0 ? `did you mean: ${meant.join(', or ')}` : `choose one of: ${names}`,
  );
}

// The fields that a client may set; first those that the interface or most servers require.
function orderedFields(fields: Fields): [string, Field][] {
  const settable = Object.entries(fields).filter(([, field]) => !field.isReadOnly);
  return [...settable.filter(([, field]) => isNeeded(field)), ...settable.filter(([, field]) => !isNeeded(field))];
}

function isNeeded({ required, advice }: Field): boolean {
  return required === true || advice?.required === true;
}

function fieldLines(fields: Fields, indentation: string): string[] {
  return orderedFields(fields).flatMap(([name, field]) => [
    '',
    `${indentation}# ${commentText(field)}`,
    ...valueLines(name, field, indentation, !isNeeded(field)),
  ]);
}

function commentText(field: Field): string {
  const notes = [
    describeShape(field),
    ...(isNeeded(field) ? ['required'] : []),
    ...(field.default === undefined ? [] : [`default: ${writeJson(field.default)}`]),
    ...(field.deprecated ? [`deprecated: use ${field.deprecated}`] : []),
  ];
  return `${field.summary} (${notes.join('; ')})`;
}

function valueLines(name: string, field: Field, indentation: string, isComment: boolean): string[] {
  if (field.type === 'object' && field.fields && field.sample === undefined && !isComment)
    return [`${indentation}${name}:`, ...fieldLines(field.fields, `${indentation}  `)];
  const root = rootOf(parseJson(writeJson({ [name]: sampleValue(field) })));
  const lines = Array.from(yamlChunks(root)).join('').trimEnd().split('\n');
  return lines.map((line) => `${indentation}${isComment ? '# ' : ''}${line}`);
}

// `values` are used before the samples of the fields.
function objectLines(
  fields: Fields,
  values: { readonly [name: string]: JsonValue | undefined },
  indentation: string,
): string[] {
  const inner = `${indentation}  `;
  const ordered = orderedFields(fields);
  const entries = ordered.flatMap(([name, field], index) => {
    const [first = '', ...rest] = jsonLines(field, values[name] ?? sampleValue(field), inner);
    const lines = [`${inner}${JSON.stringify(name)}: ${first.trimStart()}`, ...rest];
    return [`${inner}// ${commentText(field)}`, ...(index === ordered.length - 1 ? lines : withComma(lines))];
  });
  return [`${indentation}{`, ...entries, `${indentation}}`];
}

// A value; in objects with known fields, and in the first element of an array of such, every field has its comment.
function jsonLines(shape: Shape, value: JsonValue, indentation: string): string[] {
  if (shape.type === 'object' && shape.fields)
    return objectLines(shape.fields, isRecord(value) ? value : {}, indentation);
  if (shape.type === 'list' && Array.isArray(value) && value.length > 0) {
    const elements = value.map((element, index) =>
      index === 0 ? jsonLines(shape.of, element, `${indentation}  `) : [`${indentation}  ${writeJson(element)}`],
    );
    const lines = elements.flatMap((element, index) => (index === elements.length - 1 ? element : withComma(element)));
    return [`${indentation}[`, ...lines, `${indentation}]`];
  }
  return [`${indentation}${writeJson(value)}`];
}

function withComma(lines: readonly string[]): string[] {
  return [...lines.slice(0, -1), `${lines.at(-1)},`];
}

export function openApiDocument(operations: readonly Operation[]): JsonValue {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Feedback, call tracing, chat completions and training jobs',
      description: 'The success status codes and the shapes of errors are not part of the interface.',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: '{base_url}',
        description: 'The base URL of the service',
        variables: { base_url: { default: 'http://127.0.0.1:8080' } },
      },
    ],
    paths: Object.fromEntries(operations.map((operation) => [operation.path, { post: pathItem(operation) }])),
    components: {
      securitySchemes: { basic: { type: 'http', scheme: 'basic' }, bearer: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries(
        operations.flatMap((operation) => [
          [`${schemaName(operation)}Body`, { ...objectSchema(operation.body, 'openapi-body') }],
          [`${schemaName(operation)}Response`, { ...objectSchema(operation.reply, 'openapi-response') }],
        ]),
      ),
    },
  };
}

// One by one: several generators of clients cannot read a range such as 4XX.
const errorResponses = {
  400: 'A value that the service does not accept',
  401: 'Missing or wrong credentials',
  403: 'Not allowed with these credentials',
  404: 'An unknown project or model',
  413: 'A body that is too large',
  422: 'A body that does not have the shape of the interface',
  429: 'Rate limited, or an exhausted quota',
  500: 'The service failed; the request may have been applied',
  503: 'The service is overloaded',
};

function pathItem(operation: Operation): JsonValue {
  const { summary, isPreview, auth, body, canStream } = operation;
  const referenceTo = (kind: 'Body' | 'Response') => ({ $ref: `#/components/schemas/${schemaName(operation)}${kind}` });
  const events = { type: 'string', description: 'Chunks as events, when the body asks for a stream' };
  return {
    operationId: schemaName(operation).replace(/^./, (first) => first.toLowerCase()),
    summary,
    description: isPreview ? `${summary}. A preview: it may change.` : summary,
    'x-preview': isPreview,
    security: [{ [auth]: [] }],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: referenceTo('Body'), example: minimalBody(body) } },
    },
    responses: {
      '200': {
        description: 'The operation was applied',
        content: {
          'application/json': { schema: referenceTo('Response') },
          ...(canStream ? { 'text/event-stream': { schema: events } } : {}),
        },
      },
      ...Object.fromEntries(Object.entries(errorResponses).map(([status, description]) => [status, { description }])),
      default: { description: 'An error; its shape is not part of the interface' },
    },
  };
}

function schemaName({ command }: Operation): string {
  return command.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('');
}
