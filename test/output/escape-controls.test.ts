import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEscapeFilter, escapeControlCharacters } from '../../src/output/escape-controls.ts';

// What may pass: everything that shows, line feed, tab, and what the contract excepts.
const forbidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

describe('escapeControlCharacters', () => {
  it('escapes every control character but line feed and tab, also at the end', () => {
    const controls = [...Array.from({ length: 32 }, (_, at) => at), ...Array.from({ length: 33 }, (_, at) => 127 + at)];
    expect(controls).toHaveLength(65);
    for (const code of controls) {
      const shown = escapeControlCharacters(`a${String.fromCharCode(code)}`);
      const digits = code.toString(16);
      const escaped = code < 32 ? `\\x${digits.padStart(2, '0')}` : `\\u${digits.padStart(4, '0')}`;
      expect(shown).toBe(`a${code === 9 || code === 10 ? String.fromCharCode(code) : escaped}`);
    }
  });

  it('escapes formatting characters: bidirectional, zero-width, separators, tags', () => {
    const codes = [
      0xad, 0x61c, 0x180e, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060,
      0x2061, 0x2062, 0x2063, 0x2064, 0x2066, 0x2067, 0x2068, 0x2069, 0x206a, 0x206f, 0xfeff, 0xfff9, 0xfffa, 0xfffb,
      0xe0001, 0xe0041,
    ];
    expect(codes).toHaveLength(30);
    for (const code of codes)
      expect(escapeControlCharacters(`a${String.fromCodePoint(code)}b`)).toMatch(/^a(\\u[0-9a-f]{4}){1,2}b$/);
  });

  it('keeps JSON valid, and its value', () => {
    for (let code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 0x11) {
      const value = `a${String.fromCodePoint(code)}b`;
      expect(JSON.parse(escapeControlCharacters(JSON.stringify(value)))).toBe(value);
    }
  });

  it('keeps carriage returns before line feeds, and joiners between letters or emoji', () => {
    expect(escapeControlCharacters('a\r\nb\rc\r')).toBe('a\r\nb\\x0dc\\x0d');
    expect(escapeControlCharacters('👩‍💻 می‌خواهم क्‍ष')).toBe('👩‍💻 می‌خواهم क्‍ष');
    expect(escapeControlCharacters('\u200da \u200d b\u200d')).toBe('\\u200da \\u200d b\\u200d');
  });

  it('escapes lone surrogates, and keeps pairs that arrive in two chunks', () => {
    expect(escapeControlCharacters('a\ud83d b\udc4b')).toBe('a\\ud83d b\\udc4b');
    const filter = createEscapeFilter();
    expect(filter.push('x\ud83d') + filter.push('\udc4by') + filter.flush()).toBe('x👋y');
  });

  it('gives the same result for any split of the text, without forbidden characters', () => {
    const unit = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 3 }),
      fc.constantFrom('\r', '\n', '\r\n', '\u200d', '\u200c', '\u001b[31m', '\u202e', '👩', '\ud83d', 'é', '\u0007'),
    );
    fc.assert(
      fc.property(fc.array(unit), fc.array(fc.nat(40)), (units, cuts) => {
        const text = units.join('');
        const filter = createEscapeFilter();
        let out = '';
        let at = 0;
        for (const cut of cuts) {
          out += filter.push(text.slice(at, at + cut));
          at += cut;
        }
        out += filter.push(text.slice(at)) + filter.flush();
        expect(out).toBe(escapeControlCharacters(text));
        const rest = out
          .replace(/\r\n|[\n\t]/g, '')
          .replace(
            /(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d](?=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])/gu,
            '',
          );
        expect(rest).not.toMatch(forbidden);
      }),
      { numRuns: 2000 },
    );
  });
});
