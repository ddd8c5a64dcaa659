// More than anybody reads.
const MOST = 20;

/** Line numbers, in ascending order, as people write them: `3, 7-12`; of very many ranges the first, and how many more there are. */
export function rangesText(lines: Iterable<number>): string {
  const ranges: [first: number, last: number][] = [];
  for (const line of lines) {
    const range = ranges.at(-1);
    if (range && range[1] === line - 1) range[1] = line;
    else ranges.push([line, line]);
  }
  const shown = ranges.slice(0, MOST).map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return ranges.length > MOST ? `${shown.join(', ')} and ${ranges.length - MOST} more ranges` : shown.join(', ');
}
