import { Buffer } from 'node:buffer';
import { getBooleanFlag } from '../../flag.ts';
import type { BodyDependencies } from '../body-dependencies.ts';
import { type BodyBase, type CommandInput, labeledStdin, nothingToSendFailure } from '../command-input.ts';
import { decodeUtf8Text, stripFinalNewline } from '../json-source.ts';

/**
 * The prompt of a chat: its words and the piped text. Without words, piped text is the prompt, and JSON that starts with
 * `{` the body. Stdin is not read where the messages come from elsewhere, or a flag reads it.
 */
export async function readChatBase(
  input: CommandInput,
  claim: string | undefined,
  dependencies: BodyDependencies,
): Promise<BodyBase> {
  const { operation, args, flags, stdinIsTerminal } = input;
  const words = args.length > 0 ? args.join(' ') : undefined;
  if (words === '-') return { prompt: pipedText(await dependencies.inputs.read('-')) };
  const prompt = words === undefined ? {} : { prompt: words };
  if (flags.has('file') || flags.has('messages') || flags.has('message')) return prompt;
  if (claim !== undefined || stdinIsTerminal || getBooleanFlag(flags, 'stdin') === false) {
    if (words === undefined) throw nothingToSendFailure(operation);
    return prompt;
  }
  const piped = await dependencies.inputs.readStdin();
  if (words === undefined && looksLikeBody(piped)) {
    const isEmpty = piped.length === 0;
    return { whole: labeledStdin(piped), stdinUse: isEmpty ? 'empty' : undefined };
  }
  const text = pipedText(piped);
  if (words === undefined) return { prompt: text };
  return { prompt: text === '' ? words : `${words}\n\n${text}` };
}

// Empty input counts as a body, so that the error names its missing messages.
function looksLikeBody(piped: Uint8Array): boolean {
  return (
    piped.length === 0 ||
    pipedText(piped) === '' ||
    /^(?:\xef\xbb\xbf)?\s*\{/.test(Buffer.from(piped.subarray(0, 1024)).toString('latin1'))
  );
}

function pipedText(piped: Uint8Array): string {
  return stripFinalNewline(decodeUtf8Text('stdin', piped));
}
