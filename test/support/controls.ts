const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** The 65 control characters: C0, DEL and C1. Line feed and tab may pass, carriage return before a line feed. */
export const controls = [...range(0, 0x1f), ...range(0x7f, 0x9f)].map((code) => String.fromCodePoint(code));

/** 30 invisible characters that change how text is displayed: bidirectional, zero-width, separators, marks, tags. */
export const formatting = [
  ...[0xad, 0x61c, 0x180e, 0x2028, 0x2029, 0xfeff, 0xfff9, 0xfffa, 0xfffb, 0xe0001, 0xe0041, 0xe007f],
  ...[...range(0x200b, 0x200f), ...range(0x202a, 0x202e), ...range(0x2060, 0x2062), ...range(0x2066, 0x206a)],
].map((code) => String.fromCodePoint(code));

/** The characters that must not reach a terminal: all but those that may pass. The contract allows joiners in some places. */
export function forbiddenIn(screen: string): string[] {
  const rest = screen
    .replace(/\r+\n|[\n\t]/g, '')
    .replace(
      /(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d](?=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])/gu,
      '',
    );
  return [...rest].filter((character) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(character)).map(shown);
}

/** How svc shows a character that it does not print. */
export function shown(character: string): string {
  const digits = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at).toString(16));
  if (character < ' ') return `\\x${digits.join('').padStart(2, '0')}`;
  return digits.map((unit) => `\\u${unit.padStart(4, '0')}`).join('');
}
