/** Makes text that cannot drive a terminal; `rest` gives what was held back for want of a following character. */
export interface Visible<Text = string> {
  readonly push: (text: Text) => string;
  readonly rest: () => string;
}

// What can only be judged with what follows: a carriage return, a joiner, the first half of a character.
const undecided = /[\r\u200c\u200d]?[\ud800-\udbff]$|[\r\u200c\u200d]$/;
const harmless = /^[\t\n\x20-\x7e]*$/;

/**
 * A filter that shows control and formatting characters instead of obeying them: C0, C1, DEL, bidirectional and
 * zero-width ones, line separators, tags. Line feed and tab pass, carriage return before a line feed, and joiners
 * between letters or emoji. What follows may come in a later piece, so the last character can be held back.
 */
export function visible(): Visible {
  let before = '';
  let held = '';
  const convert = (text: string, final: boolean): string => {
    if (held === '' && harmless.test(text)) {
      before = text.at(-1) ?? before;
      return text;
    }
    const all = held + text;
    held = final ? '' : (undecided.exec(all)?.[0] ?? '');
    const decided = all.length - held.length;
    let out = '';
    let at = 0;
    for (const character of all) {
      if (at === decided) break;
      at += character.length;
      out += passes(character, before, nextCharacter(all, at)) ? character : shown(character);
      before = character;
    }
    return out;
  };
  return { push: (text) => convert(text, false), rest: () => convert('', true) };
}

/** The same filter for text and for bytes of UTF-8, which may be cut anywhere. */
export function visibleBytes(): Visible<string | Uint8Array> {
  const filter = visible();
  const decoder = new TextDecoder();
  return {
    push: (text) => filter.push(typeof text === 'string' ? text : decoder.decode(text, { stream: true })),
    rest: () => filter.push(decoder.decode()) + filter.rest(),
  };
}

/** The whole text made visible. */
export function makeVisible(text: string): string {
  const filter = visible();
  return filter.push(text) + filter.rest();
}

function nextCharacter(text: string, at: number): string | undefined {
  const code = text.codePointAt(at);
  return code === undefined ? undefined : String.fromCodePoint(code);
}

function passes(character: string, before: string, next: string | undefined): boolean {
  if (character === '\n' || character === '\t') return true;
  if (character === '\r') return next === '\n';
  if (isJoiner(character)) return joins(before) && next !== undefined && joins(next);
  return !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u{E0000}-\u{E0FFF}]/u.test(character);
}

// Zero-width non-joiner and joiner: Persian and Indic words and emoji families need them.
function isJoiner(character: string): boolean {
  return character === '\u200c' || character === '\u200d';
}

function joins(character: string): boolean {
  return /[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]/u.test(character);
}

function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}
