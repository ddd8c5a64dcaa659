// More than anybody reads.
const MAX_RANGES = 20;

/** Line numbers, in ascending order, as people write them: `3, 7-12`; of very many ranges the first, and how many more there are. */
export function formatLineRanges(lines: Iterable<number>): string {
  const ranges: [first: number, last: number][] = [];
  for (const line of lines) {
    const range = ranges.at(-1);
    if (range && range[1] === line - 1) range[1] = line;
    else ranges.push([line, line]);
  }
  const formatted = ranges
    .slice(0, MAX_RANGES)
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return ranges.length > MAX_RANGES
    ? `${formatted.join(', ')} and ${ranges.length - MAX_RANGES} more ranges`
    : formatted.join(', ');
}
