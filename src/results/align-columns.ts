/** Rows as lines of text, their columns aligned and two spaces apart; limited to a width if one is given. */
export function alignColumns(rows: readonly (readonly string[])[], columns = Infinity): string {
  const widths = fitWidths(columnWidths(rows), columns);
  return rows.map((row) => alignedLines(row, widths)).join('');
}

/** The widest cell of each column, in columns of a terminal. */
export function columnWidths(rows: Iterable<readonly string[]>): number[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, text] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, displayWidth(text));
  return widths;
}

// A narrower column says nothing.
const MIN_COLUMN_WIDTH = 6;

/** The widths made to fit a line: the widest columns give way first, none below 6 columns or its own minimum. */
export function fitWidths(widths: readonly number[], columns: number, minWidths: readonly number[] = []): number[] {
  const fitted = [...widths];
  const canShrink = (width: number, at: number): boolean => width > Math.max(MIN_COLUMN_WIDTH, minWidths[at] ?? 0);
  for (let excess = lineWidth(widths) - columns; excess > 0; excess -= 1) {
    const widest = Math.max(...fitted.filter(canShrink));
    const at = fitted.findIndex((width, index) => width === widest && canShrink(width, index));
    if (at === -1) break;
    fitted[at] = widest - 1;
  }
  return fitted;
}

/** The width of a line of columns that are two spaces apart. */
export function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 2 * (widths.length - 1));
}

/** One row as lines of text; a cell that is longer than its column takes several, and breaks between words if it can. */
export function alignedLines(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((text, at) => wrapByWidth(text, widths[at] ?? 0));
  const height = Math.max(...cells.map((pieces) => pieces.length));
  const lines = Array.from({ length: height }, (_, line) =>
    cells.map((pieces, at) => padToWidth(pieces[line] ?? '', widths[at] ?? 0)).join('  '),
  );
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function wrapByWidth(text: string, columns: number): string[] {
  if (displayWidth(text) <= columns) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && displayWidth(`${last} ${word}`) <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(...splitByWidth(word, columns));
  }
  return lines;
}

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

/** The text padded with spaces to a width in columns. */
export function padToWidth(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}

/** The text in pieces up to a width in columns. */
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
