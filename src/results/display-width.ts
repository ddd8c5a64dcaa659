const printableAscii = /^[\x20-\x7e]*$/;
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]$/u;

// East Asian Wide and Fullwidth, and emoji that terminals draw two columns wide (Unicode, EastAsianWidth.txt).
const doubleWidth =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}])$/u;

/** The number of columns a text takes on a terminal: CJK characters and emoji take two, combining marks none. */
export function displayWidth(text: string): number {
  if (printableAscii.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** The text padded with spaces to so many columns. */
export function padToWidth(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}

/** The text in pieces of at most so many columns each. */
export function splitByWidth(text: string, columns: number): string[] {
  if (displayWidth(text) <= columns) return [text];
  const pieces: string[] = [];
  let piece = '';
  let width = 0;
  for (const character of text) {
    const next = characterWidth(character);
    if (width + next > columns && piece !== '') {
      pieces.push(piece);
      piece = '';
      width = 0;
    }
    piece += character;
    width += next;
  }
  return [...pieces, piece];
}

function characterWidth(character: string): number {
  if (zeroWidth.test(character)) return 0;
  return doubleWidth.test(character) ? 2 : 1;
}
