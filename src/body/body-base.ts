import { Buffer } from 'node:buffer';
import { flagName } from '../fields/field.ts';
import { type FlagValues, getBooleanFlag, getStringFlag, isFlagOn } from '../flag.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import {
  type BodyBase,
  type CommandInput,
  type LabeledBytes,
  labeledStdin,
  nothingToSendFailure,
} from './command-input.ts';
import type { BodyDependencies } from './input-reader.ts';
import { decodeUtf8Text, stripFinalNewline } from './json-source.ts';
import { stdinClaim } from './named-inputs.ts';

/**
 * Reads what the body starts from (docs/contract.md): the file of `-f`; else stdin, when no flag sets a part of the body
 * and it is not a terminal. Text piped into a chat joins its prompt. Throws usage if nothing provides a body.
 */
export async function readBodyBase(input: CommandInput, dependencies: BodyDependencies): Promise<BodyBase> {
  const { operation, args, flags } = input;
  requireBodySource(input);
  const claim = stdinClaim(operation, args, flags);
  if (operation.arguments?.as === 'prompt') {
    const file = getStringFlag(flags, 'file');
    const base = file === undefined ? {} : baseOfWhole(await dependencies.inputs.whole(file));
    return { ...base, ...(await readChatBase(input, claim, dependencies)) };
  }
  const whole = wholeBodyInput(input);
  if (whole) return baseOfWhole(await dependencies.inputs.whole(whole.path));
  return args.length > 0 ? {} : unreadStdin(input, claim, dependencies);
}

/**
 * The input with the whole body of a request that is not a chat: a path, or no path for a stdin that nothing names. Undefined if
 * the body consists of flags and files.
 */
export function wholeBodyInput({ operation, args, flags }: CommandInput): { readonly path?: string } | undefined {
  // For a chat, --stdin also stands beside a prompt.
  const path = isFlagOn(flags, 'stdin') ? '-' : getStringFlag(flags, 'file');
  if (path !== undefined) return { path };
  return args.length > 0 || hasBodyFlags(operation, flags) ? undefined : {};
}

// They give a chat its messages, also without a prompt.
const messageFlags = ['messages', 'message', 'attach'];

/** Throws usage if nothing provides a body, or if two flags read stdin. */
export function requireBodySource({ operation, args, flags, isStdinTerminal }: CommandInput): void {
  const claim = stdinClaim(operation, args, flags);
  if (flags.has('file') || isFlagOn(flags, 'stdin') || args.length > 0) return;
  const isChat = operation.arguments?.as === 'prompt';
  const hasBody = isChat ? messageFlags.some((name) => flags.has(name)) : hasBodyFlags(operation, flags);
  const isStdinTaken = (isChat && claim !== undefined) || getBooleanFlag(flags, 'stdin') === false;
  if (!hasBody && (isStdinTerminal || isStdinTaken)) throw nothingToSendFailure(operation);
}

/** The base of a body that is whole. */
export function baseOfWhole(whole: LabeledBytes): BodyBase {
  return { whole, stdinUse: whole.isEmptyStdin ? 'empty' : undefined };
}

// Flags left stdin unread. That is no mistake if one of them names stdin or says --no-stdin.
async function unreadStdin(
  { flags, isStdinTerminal }: CommandInput,
  claim: string | undefined,
  { inputs }: BodyDependencies,
): Promise<Pick<BodyBase, 'stdinUse'>> {
  if (claim !== undefined || isStdinTerminal || getBooleanFlag(flags, 'stdin') === false) return {};
  return (await inputs.hasUnreadStdin()) ? { stdinUse: 'unread' } : {};
}

/** True if flags set a part of the body. */
export function hasBodyFlags(operation: Operation, flags: FlagValues): boolean {
  return bodyFlagNames(operation).some((name) => flags.has(name));
}

/** The flags that set a part of the body. */
export function bodyFlagNames({ shorthands = {}, ...operation }: Operation): string[] {
  return [...Object.keys(flagTarget(operation).fields).map(flagName), ...Object.keys(shorthands), 'set'];
}

/**
 * The prompt of a chat: its words and the piped text. Without words, piped text is the prompt, and JSON that starts with
 * `{` the body. Stdin is not read if the messages come from elsewhere, or if a flag reads it.
 */
async function readChatBase(
  input: CommandInput,
  claim: string | undefined,
  dependencies: BodyDependencies,
): Promise<BodyBase> {
  const { args, flags, isStdinTerminal } = input;
  const words = args.length > 0 ? args.join(' ') : undefined;
  if (words === '-') return { prompt: pipedText(await dependencies.inputs.read('-')) };
  const isNamed = isFlagOn(flags, 'stdin');
  if (!isNamed) {
    if (flags.has('file')) return { prompt: words };
    if (flags.has('messages') || flags.has('message'))
      return { prompt: words, ...(await unreadStdin(input, claim, dependencies)) };
    if (claim !== undefined || isStdinTerminal || getBooleanFlag(flags, 'stdin') === false) return { prompt: words };
  }
  const awaited = words === undefined ? 'a prompt or a JSON body' : 'text to add to the prompt';
  const piped = await (isNamed ? dependencies.inputs.read('-') : dependencies.inputs.readStdin(awaited));
  if (words === undefined && !flags.has('file') && looksLikeBody(piped)) return baseOfWhole(labeledStdin(piped));
  const text = pipedText(piped);
  if (words === undefined) return { prompt: text };
  return { prompt: text === '' ? words : `${words}\n\n${text}` };
}

// Empty input counts as a body, so that the error names its missing messages.
function looksLikeBody(piped: Uint8Array): boolean {
  return (
    pipedText(piped) === '' || /^(?:\xef\xbb\xbf)?\s*\{/.test(Buffer.from(piped.subarray(0, 1024)).toString('latin1'))
  );
}

function pipedText(piped: Uint8Array): string {
  return stripFinalNewline(decodeUtf8Text('stdin', piped));
}
