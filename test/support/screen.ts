// A sequence of control characters, or one other character.
const TOKEN = /\x1b\[([?\d;]*)([A-Za-z])|[\s\S]/gu;

/** The lines on a terminal of a width after it has printed an output, without colors; long lines are wrapped. */
export function screenAfter(output: string, columns: number): string {
  const rows: string[][] = [[]];
  let row = 0;
  let column = 0;
  const current = (): string[] => {
    rows[row] ??= [];
    return rows[row] ?? [];
  };
  for (const [token, count, command] of output.matchAll(TOKEN)) {
    if (command === 'G') column = Number(count || 1) - 1;
    else if (command === 'A') row = Math.max(0, row - Number(count || 1));
    else if (command === 'K') current().splice(count === '2' ? 0 : column);
    else if (command === 'J') [rows.length, current().length] = [row + 1, column];
    else if (command !== undefined) continue;
    else if (token === '\r') column = 0;
    else if (token === '\n') row += 1;
    else {
      if (column >= columns) [row, column] = [row + 1, 0];
      const line = current();
      while (line.length < column) line.push(' ');
      line[column] = token;
      column += 1;
    }
  }
  return Array.from(rows, (line = []) => line.join('').trimEnd()).join('\n');
}
