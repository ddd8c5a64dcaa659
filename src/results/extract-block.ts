import { Failure } from '../errors.ts';
import { getMember, type JsonDocument, rootOf } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { choicesByIndex, contentText, ensureFinalNewline } from '../operations/chat-text.ts';

// The part of a response that a failure quotes, so that it is not lost.
const MAX_QUOTED_CHARS = 4000;

/** The first fenced code block, or text or block that is JSON. Throws Failure `safety_check` with the text if none. */
export function extractBlock(kind: string): (doc: JsonDocument) => string {
  return (doc) => {
    const [choice] = choicesByIndex(rootOf(doc));
    const wholeText = contentText(getMember(choice, 'message'));
    const text = wholeText.replace(LEADING_THOUGHTS, '');
    const blocks = Array.from(text.matchAll(FENCED_BLOCK), ([, indent = '', , block = '']) => unindent(block, indent));
    const found = kind === 'json' ? [text, ...blocks].find(isJson) : blocks[0];
    if (found !== undefined) return ensureFinalNewline(kind === 'json' ? found.trim() : found);
    throw new Failure(
      'safety_check',
      `the response has no ${kind === 'json' ? 'JSON' : 'code block'}: ${wholeText.slice(0, MAX_QUOTED_CHARS)}`,
      { hint: 'without --extract, the whole text is printed' },
    );
  };
}

// Without a reasoning parser, a server sends the reasoning as text. If it has no end, the response was cut there.
const LEADING_THOUGHTS = /^\s*<(think|thinking)>[\s\S]*?(?:<\/\1>|$)/;

// A block in a list is indented. A block that the end of the text closes was cut off there.
const FENCED_BLOCK =
  /^([ \t]*)(`{3,}(?=[^`\n]*$)|~{3,}(?!~))[^\n]*\n([\s\S]*?)(?:^\1? {0,3}\2[`~]*[ \t\r]*$|$(?![\s\S]))/gm;

// As in Markdown: each line loses the indentation of the fence, or what it has of it.
function unindent(block: string, { length }: string): string {
  return length === 0 ? block : block.replace(new RegExp(`^[ \\t]{1,${length}}`, 'gm'), '');
}

function isJson(text: string): boolean {
  return text.trim() !== '' && tryParseJson(text) !== undefined;
}
