import fc from 'fast-check';

// JSON as text, in every spelling that the grammar allows and no library would write.

/** Whitespace, or none. */
export const blank = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n', '   ');
const letter = fc.constantFrom(
  ...['a', 'é', '€', '😀', '\u007f', '\u0085', '\u2028', '\ufeff', '\u202e', '/', '{', ']', ','],
  ...['\\/', '\\"', '\\\\', '\\b', '\\f', '\\n', '\\r', '\\t', '\\u0000', '\\u00E9', '\\ud83d\\ude00', '\\ud800'],
);
// Without halves of surrogate pairs.
const codePoint = fc.nat(0x10_ffff - 0x800).map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800));
/** Text of any characters. fast-check's own generator takes seconds to prepare. */
export const anyText = (maxLength = 10): fc.Arbitrary<string> =>
  fc.array(codePoint, { maxLength }).map((letters) => letters.join(''));
/** Strings in double quotes. */
export const string = fc.oneof(
  fc.array(letter, { maxLength: 12 }).map((letters) => `"${letters.join('')}"`),
  anyText(20).map((text) => JSON.stringify(text)),
);
const number = fc.stringMatching(/^-?(0|[1-9]\d{0,30})(\.\d{1,20})?([eE][+-]?\d{1,5})?$/);
const literal = fc.constantFrom('true', 'false', 'null', '1E400', '-0.0', '9007199254740993');
const name = fc.oneof(string, fc.constantFrom('"__proto__"', '"constructor"', '""', '"x"', '"\\u0078"'));
/** Values of any kind, and objects. */
export const { value, object } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(string, number, literal),
    tie('list'),
    tie('object'),
  ),
  list: fc
    .array(fc.tuple(blank, tie('value'), blank), { maxLength: 5 })
    .map((items) => `[${items.map((item) => item.join('')).join(',')}]`),
  object: fc
    .array(fc.tuple(blank, name, blank, tie('value'), blank), { maxLength: 5 })
    .map((members) => `{${members.map(([a, key, b, inner, c]) => `${a}${key}${b}:${b}${inner}${c}`).join(',')}}`),
}));
