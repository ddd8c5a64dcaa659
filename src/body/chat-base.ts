import { Buffer } from 'node:buffer';
import { isOn } from '../fields/flag.ts';
import { type Base, type Given, namedStdin, nothingToSend } from './given.ts';
import { readText, withoutFinalNewline } from './source.ts';
import type { Tools } from './tools.ts';

/**
 * The prompt of a chat: its words, joined by what is piped in. Without words, piped text is the prompt, and JSON that
 * starts with `{` the body. Stdin is left alone where the messages are given another way, or a flag reads it.
 */
export async function readChatBase(given: Given, claim: string | undefined, tools: Tools): Promise<Base> {
  const { operation, args, flags, stdinIsTerminal } = given;
  const words = args.length > 0 ? args.join(' ') : undefined;
  if (words === '-') return { prompt: pipedText(await tools.inputs.read('-')) };
  const prompt = words === undefined ? {} : { prompt: words };
  if (flags.has('file') || flags.has('messages') || flags.has('message')) return prompt;
  if (claim !== undefined || stdinIsTerminal || isOn(flags, 'stdin') === false) {
    if (words === undefined) throw nothingToSend(operation);
    return prompt;
  }
  const piped = await tools.inputs.unnamed();
  if (words === undefined && isBody(piped)) return { whole: namedStdin(piped) };
  const text = pipedText(piped);
  if (words === undefined) return { prompt: text };
  return { prompt: text === '' ? words : `${words}\n\n${text}` };
}

// Nothing at all counts as a body, so that its lack of messages is told.
function isBody(piped: Uint8Array): boolean {
  return (
    piped.length === 0 ||
    pipedText(piped) === '' ||
    /^(?:\xef\xbb\xbf)?\s*\{/.test(Buffer.from(piped.subarray(0, 1024)).toString('latin1'))
  );
}

function pipedText(piped: Uint8Array): string {
  return withoutFinalNewline(readText('stdin', piped));
}
