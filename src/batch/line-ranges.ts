import { pluralize } from '../json/pluralize.ts';

// Nobody reads more.
const MAX_RANGES = 20;

/** Line numbers as ascending ranges: `3, 7-12`; of many ranges the first 20, and how many more there are. */
export function formatLineRanges(lines: Iterable<number>): string {
  const ranges: [first: number, last: number][] = [];
  for (const line of [...lines].sort((left, right) => left - right)) {
    const range = ranges.at(-1);
    if (range && range[1] === line - 1) range[1] = line;
    else ranges.push([line, line]);
  }
  const formatted = ranges
    .slice(0, MAX_RANGES)
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  const more = ranges.length - MAX_RANGES;
  return more > 0 ? `${formatted.join(', ')} and ${more} more ${pluralize(more, 'range')}` : formatted.join(', ');
}
