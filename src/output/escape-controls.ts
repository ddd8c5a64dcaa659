/** Makes text that cannot drive a terminal; `rest` gives what was held back for want of a following character. */
export interface EscapeFilter<Text = string> {
  readonly push: (text: Text) => string;
  readonly flush: () => string;
}

// What can only be judged with what follows: a carriage return, a joiner, the first half of a character.
const undecidedTail = /[\r\u200c\u200d]?[\ud800-\udbff]$|[\r\u200c\u200d]$/;
const printableAscii = /^[\t\n\x20-\x7e]*$/;

/**
 * A filter that shows control and formatting characters instead of obeying them: C0, C1, DEL, bidirectional and
 * zero-width ones, line separators, tags. Line feed and tab pass, carriage return before a line feed, and joiners
 * between letters or emoji. What follows may come in a later piece, so the last character can be held back.
 */
export function createEscapeFilter(): EscapeFilter {
  let previous = '';
  let pending = '';
  const escapeText = (text: string, final: boolean): string => {
    if (pending === '' && printableAscii.test(text)) {
      previous = text.at(-1) ?? previous;
      return text;
    }
    const all = pending + text;
    pending = final ? '' : (undecidedTail.exec(all)?.[0] ?? '');
    const decidedLength = all.length - pending.length;
    let out = '';
    let at = 0;
    for (const character of all) {
      if (at === decidedLength) break;
      at += character.length;
      out += isPrintable(character, previous, nextCharacter(all, at)) ? character : escapeSequence(character);
      previous = character;
    }
    return out;
  };
  return { push: (text) => escapeText(text, false), flush: () => escapeText('', true) };
}

/** The same filter for text and for bytes of UTF-8, which may be cut anywhere. */
export function createByteEscapeFilter(): EscapeFilter<string | Uint8Array> {
  const filter = createEscapeFilter();
  const decoder = new TextDecoder();
  return {
    push: (text) => filter.push(typeof text === 'string' ? text : decoder.decode(text, { stream: true })),
    flush: () => filter.push(decoder.decode()) + filter.flush(),
  };
}

/** The whole text made visible. */
export function escapeControlCharacters(text: string): string {
  const filter = createEscapeFilter();
  return filter.push(text) + filter.flush();
}

function nextCharacter(text: string, at: number): string | undefined {
  const code = text.codePointAt(at);
  return code === undefined ? undefined : String.fromCodePoint(code);
}

function isPrintable(character: string, previous: string, next: string | undefined): boolean {
  if (character === '\n' || character === '\t') return true;
  if (character === '\r') return next === '\n';
  if (isJoiner(character)) return isJoinable(previous) && next !== undefined && isJoinable(next);
  return !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u{E0000}-\u{E0FFF}]/u.test(character);
}

// Zero-width non-joiner and joiner: Persian and Indic words and emoji families need them.
function isJoiner(character: string): boolean {
  return character === '\u200c' || character === '\u200d';
}

function isJoinable(character: string): boolean {
  return /[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]/u.test(character);
}

function escapeSequence(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}
