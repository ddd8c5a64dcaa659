import { Buffer } from 'node:buffer';
import { usageFailure } from '../errors.ts';
import { flagName, isScalar } from '../fields/field.ts';
import { rejectReplacedInput } from '../files/file-replacement.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import type { RequestKindOptions } from '../output/output-format.ts';
import { bodySourceHint } from './body-check.ts';
import { type BodyFlags, type BodySourceOptions, bodyFlagNames, givenText, givenTexts } from './body-flags.ts';
import { type BodyInputs, fileReference, type LabeledBytes } from './input-reader.ts';
import { decodeLine } from './json-source.ts';

interface InputNames {
  readonly operation: Operation;
  readonly args: readonly string[];
  readonly given: BodyFlags;
  /** The other flags that name inputs. */
  readonly options: Partial<BodySourceOptions & RequestKindOptions & { readonly expectSchema: string | undefined }>;
}

export interface CommandInput extends InputNames {
  readonly isStdinTerminal: boolean;
}

export interface BodyBase {
  readonly whole?: LabeledBytes | undefined;
  readonly prompt?: string | undefined;
  readonly isStdinUnread?: boolean;
}

/** Reads what the body starts from (docs/internals/contract.md, section 2). Text piped into a chat joins its prompt. */
export async function readBodyBase(input: CommandInput, inputs: BodyInputs): Promise<BodyBase> {
  if (isChat(input.operation)) return readChatBase(input, inputs);
  const whole = wholeBodyInput(input);
  if (whole)
    return { whole: await readWhole(whole.path, inputs, whole.path === undefined ? 'a JSON body' : undefined) };
  return input.args.length > 0 ? {} : { isStdinUnread: mayReadStdin(input) && (await inputs.hasUnreadStdin()) };
}

async function readWhole(path = '-', { read }: BodyInputs, awaited?: string): Promise<LabeledBytes> {
  return { label: path === '-' ? 'stdin' : path, bytes: await read(path, awaited) };
}

function isChat({ arguments: operands }: Operation): boolean {
  return operands?.as === 'prompt';
}

/** The input with the whole body: a path, or none for a stdin that nothing names. Undefined if flags and files make the body. */
export function wholeBodyInput({
  operation,
  args,
  given,
  options,
}: CommandInput): { readonly path?: string } | undefined {
  // For a chat, --stdin also stands beside a prompt.
  const path = options.stdin ? '-' : options.file;
  if (path !== undefined) return { path };
  return args.length > 0 || contentFlagNames(operation).some((name) => given.has(name)) ? undefined : {};
}

// A flag that takes its value from other fields makes no body: `--keep-id` changes the one from stdin.
function contentFlagNames(operation: Operation): string[] {
  const { shorthands = {} } = operation;
  return bodyFlagNames(operation).filter((name) => !['copy', 'new-id'].includes(shorthands[name]?.kind ?? ''));
}

/** Throws usage if nothing provides a body, or if two flags read stdin. */
export function requireBodySource(input: CommandInput): void {
  const { operation, args, given, options } = input;
  const claim = stdinClaim(input);
  if (options.file !== undefined || options.stdin || args.length > 0) return;
  // Other flags of a chat give it no message.
  const bodyFlags = isChat(operation) ? ['messages', 'message', 'attach'] : contentFlagNames(operation);
  const isStdinTaken = (isChat(operation) && claim !== undefined) || options.stdin === false;
  if (bodyFlags.some((name) => given.has(name)) || !(input.isStdinTerminal || isStdinTaken)) return;
  const line = `svc ${operation.command.join(' ')}`;
  const first = operation.arguments ? `${line} <${operation.arguments.name}>, ` : '';
  throw usageFailure('no body was given', `${first}${line} -f body.json, or ${line} --help`);
}

function mayReadStdin(input: CommandInput): boolean {
  const isTaken = stdinClaim(input) !== undefined || input.options.stdin === false;
  return !isTaken && !input.isStdinTerminal;
}

// The prompt is its words and the piped text. Without words, piped text is the prompt, and JSON that starts with `{` the body.
async function readChatBase(input: CommandInput, inputs: BodyInputs): Promise<BodyBase> {
  const { args, given, options } = input;
  const file = options.file;
  const whole = file === undefined ? undefined : await readWhole(file, inputs);
  const prompt = args.length > 0 ? args.join(' ') : undefined;
  if (prompt?.trim() === '') throw usageFailure('the prompt is empty', bodySourceHint(input.operation));
  if (prompt === '-') {
    const bytes = await inputs.read('-');
    const text = decodeLine('stdin', bytes);
    return text === '' && !whole ? { whole: { label: 'stdin', bytes } } : { whole, prompt: text };
  }
  const isNamed = options.stdin;
  if (!isNamed && !whole && (given.has('messages') || given.has('message')))
    return { prompt, isStdinUnread: mayReadStdin(input) && (await inputs.hasUnreadStdin()) };
  if (!isNamed && (whole || !mayReadStdin(input))) return { whole, prompt };
  const awaited = prompt === undefined ? 'a prompt or a JSON body' : 'text to add to the prompt';
  const piped = await inputs.read('-', isNamed ? undefined : awaited);
  if (prompt === undefined && !whole && looksLikeBody(piped)) return { whole: { label: 'stdin', bytes: piped } };
  const text = decodeLine('stdin', piped);
  return { whole, prompt: prompt !== undefined && text !== '' ? `${prompt}\n\n${text}` : (prompt ?? text) };
}

// Empty input counts as a body, so that the error names its missing messages.
function looksLikeBody(piped: Uint8Array): boolean {
  const start = Buffer.from(piped.subarray(0, 1024)).toString('latin1');
  return decodeLine('stdin', piped) === '' || /^(?:\xef\xbb\xbf)?\s*\{/.test(start);
}

/** Throws usage if an output file would change one of the inputs, and for `@` without a name. `outputs` are files by their flags. */
export async function rejectReplacedInputs(
  line: InputNames,
  outputs: { readonly [flag: string]: string | undefined },
  cwd: string,
): Promise<void> {
  const inputs = namedInputs(line).map(({ path }) => path);
  for (const [flag, path] of Object.entries(outputs))
    await rejectReplacedInput(flag === 'output' ? '-o' : `--${flag}`, path, inputs, cwd);
}

/** The flag or argument that names stdin, such as `--tools @-` or `-` as the whole prompt. Throws usage for two. */
export function stdinClaim(line: InputNames): string | undefined {
  const claims = namedInputs(line).flatMap(({ path, label }) => (path === '-' ? [label] : []));
  if (claims.length < 2) return claims[0];
  const isRepeated = new Set(claims).size === 1;
  const both = isRepeated ? `${claims[0]} is given ${claims.length} times` : `${claims.join(' and ')} both name it`;
  throw usageFailure(`stdin can be read only once, but ${both}`, 'use a file for one of them');
}

// A path of `-` is stdin.
function namedInputs({
  operation,
  args,
  given,
  options,
}: InputNames): { readonly path: string; readonly label: string }[] {
  const { file, batch, rows, expectSchema } = options;
  // A prompt is words, except that `-` alone is stdin.
  const files = isChat(operation) && !(args.length === 1 && args[0] === '-') ? [] : args;
  const references = [
    ...fileReferenceFlags(operation).map((name) => [name, givenText(given, name)] as const),
    ['expect-schema', expectSchema] as const,
  ];
  return [
    ...(options.stdin ? [{ path: '-', label: '--stdin' }] : []),
    ...Object.entries({ file, batch, rows }).flatMap(([name, path]) =>
      path === undefined ? [] : [{ path, label: `--${name} ${path}` }],
    ),
    ...givenTexts(given, 'attach').map((path) => ({ path, label: `--attach ${path}` })),
    ...files.map((path) => ({ path, label: `the argument ${path}` })),
    ...references.flatMap(([name, word]) => {
      const path = word === undefined ? undefined : fileReference(word, `--${name}`);
      return path === undefined ? [] : [{ path, label: `--${name} ${word}` }];
    }),
  ];
}

export function fileReferenceFlags(operation: Operation): string[] {
  const fields = Object.entries(flagTarget(operation).fields).filter(
    ([, field]) => field.isSecret || !(isScalar(field) || field.type === 'boolean'),
  );
  const shorthands = Object.entries(operation.shorthands ?? {}).filter(([, { kind }]) => kind === 'reply-schema');
  return [...fields.map(([name]) => flagName(name)), ...shorthands.map(([name]) => name)];
}

export function fileField({ arguments: operands }: Operation): string | undefined {
  return typeof operands?.as === 'object' ? operands.as.filesOf : undefined;
}

/** The files that are arguments, or the one of `--trajectory-groups @file`, which is the same. Throws usage for both. */
export function fileArguments({ operation, args, given }: InputNames): readonly string[] {
  const field = fileField(operation);
  if (field === undefined) return [];
  const label = `--${flagName(field)}`;
  const word = givenText(given, flagName(field));
  if (args.length > 0 && word !== undefined)
    throw usageFailure(`${label} cannot be combined with files that set the same field`, 'remove one of them');
  const file = word === undefined ? undefined : fileReference(word, label);
  return file === undefined ? args : [file];
}
