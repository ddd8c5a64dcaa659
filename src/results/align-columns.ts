import { displayWidth, padToWidth, splitByWidth } from './display-width.ts';

/** Rows as lines of text, their columns aligned and two spaces apart; they fit so many columns where these are given. */
export function alignColumns(rows: readonly (readonly string[])[], columns?: number): string {
  const widths = fitWidths(columnWidths(rows), columns ?? Number.POSITIVE_INFINITY);
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

/** The widths made to fit a line: the widest columns give way first, none below 6 columns. */
export function fitWidths(widths: readonly number[], columns: number): number[] {
  const fitted = [...widths];
  let excess = fitted.reduce((sum, width) => sum + width, 2 * (fitted.length - 1)) - columns;
  while (excess > 0) {
    const widest = Math.max(...fitted);
    if (widest <= MIN_COLUMN_WIDTH) break;
    fitted[fitted.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
  return fitted;
}

/** One row as lines of text; a cell that is longer than its column takes several. */
export function alignedLines(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((text, at) => splitByWidth(text, widths[at] ?? 0));
  const height = Math.max(...cells.map((pieces) => pieces.length));
  const lines = Array.from({ length: height }, (_, line) =>
    cells.map((pieces, at) => padToWidth(pieces[line] ?? '', widths[at] ?? 0)).join('  '),
  );
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}
