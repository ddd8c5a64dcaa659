import { TextDecoder } from 'node:util';

// Characters that depend on the next one: a carriage return, a joiner, the first half of a surrogate pair.
const undecidedTail = /[\r\u200c\u200d]?[\ud800-\udbff]$|[\r\u200c\u200d]$/;
const printableAscii = /^[\t\n\x20-\x7e]*$/;

/**
 * Escapes C0, C1, DEL, bidirectional and zero-width characters, line separators and tags. Line feed and tab pass, carriage return
 * before a line feed, and joiners between letters or emoji. A last character that depends on the next chunk is held back.
 */
export function createEscapeFilter() {
  let decoder: TextDecoder | undefined;
  let previous = '';
  let pending = '';
  const escapeText = (text: string, isFinal: boolean): string => {
    if (pending === '' && printableAscii.test(text)) {
      previous = text.at(-1) ?? previous;
      return text;
    }
    const all = pending + text;
    pending = isFinal ? '' : (undecidedTail.exec(all)?.[0] ?? '');
    const decidedLength = all.length - pending.length;
    let out = '';
    let at = 0;
    for (const character of all) {
      if (at === decidedLength) break;
      at += character.length;
      const next = String.fromCodePoint(all.codePointAt(at) ?? 0);
      out += isPrintable(character, previous, next) ? character : escapeSequence(character);
      previous = character;
    }
    return out;
  };
  const decode = (bytes: Uint8Array): string => {
    decoder ??= new TextDecoder();
    return decoder.decode(bytes, { stream: true });
  };
  return {
    push: (text: string | Uint8Array): string => escapeText(typeof text === 'string' ? text : decode(text), false),
    flush: (): string => escapeText(decoder?.decode() ?? '', true),
  };
}

export function escapeControlCharacters(text: string): string {
  const filter = createEscapeFilter();
  return filter.push(text) + filter.flush();
}

function isPrintable(character: string, previous: string, next: string): boolean {
  if (character === '\n' || character === '\t') return true;
  if (character === '\r') return next === '\n';
  // Zero-width non-joiner and joiner, which Persian, Indic scripts and emoji sequences use.
  if (/[\u200c\u200d]/.test(character)) return isJoinable(previous) && isJoinable(next);
  return !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u{E0000}-\u{E0FFF}]/u.test(character);
}

function isJoinable(character: string): boolean {
  return /[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]/u.test(character);
}

// All but the characters that JSON always escapes are written as JSON does: lines of JSON stay valid.
function escapeSequence(character: string): string {
  if (character < ' ') return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  return character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const PREFIX = '  | ';
// What a line of svc and a workflow command of GitHub begin with; the runner ignores white space before it.
const POSING = /^\s*(?:svc:|::)/;
const UNDECIDED = /^\s*(?:s|sv|svc|:)?$/;

/**
 * A message on stderr whose further lines begin with `  | `: text of a service imitates neither svc nor a workflow command of
 * GitHub, which `##[` begins anywhere in a line. Of a chunk, `before` is the end of the text before it.
 */
export function markFurtherLines(text: string, before = ''): string {
  const mark = (found: string, at: number): string => (at < before.length ? found : found === '[' ? '\\[' : PREFIX);
  return (before + text).replace(/(?<=\n)(?=[^\n])|(?<=##)\[/g, mark).slice(before.length);
}

/** As markFurtherLines, and the first line too if it imitates one of svc or a command. */
export function markForeignLines(text: string): string {
  return (POSING.test(text) ? PREFIX : '') + markFurtherLines(text);
}

/** As markForeignLines, for a text in chunks. The first characters are held back until they decide. */
export function createForeignTextMarker() {
  let held: string | undefined = '';
  let end = '';
  return {
    push: (text: string): string => {
      if (held === undefined) {
        const marked = markFurtherLines(text, end);
        end = (end + text).slice(-2);
        return marked;
      }
      held += text;
      if (UNDECIDED.test(held)) return '';
      const marked = markForeignLines(held);
      [end, held] = [held.slice(-2), undefined];
      return marked;
    },
    flush: (): string => held ?? '',
  };
}
