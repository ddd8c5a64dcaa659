import type { Comparison } from './comparison.ts';
import type { Sizes } from './sizes.ts';

/** A comparison as lines for people. */
export function comparisonText({ name, rows, aims }: Comparison): string {
  const cells = rows.map((row) => [
    row.name,
    row.median.toFixed(1),
    `${row.spread[0].toFixed(1)}-${row.spread[1].toFixed(1)}`,
    row.ratio.toFixed(2),
    row.peak.toFixed(0),
  ]);
  const verdicts = aims.map(
    ({ peer, to, most, ratio }) =>
      `  ${peer} / ${to}: ${ratio.toFixed(2)} (aim ${most}${ratio > most ? ', missed' : ''})`,
  );
  return [`\n${name}`, ...aligned([['', 'median ms', 'quartiles', 'ratio', 'peak MiB'], ...cells]), ...verdicts].join(
    '\n',
  );
}

/** Sizes as lines for people. */
export function sizesText(sizes: Sizes): string {
  return [
    '\nsize',
    ...aligned(Object.entries(sizes).map(([what, bytes]) => [what, `${(bytes / 1000).toFixed(0)} kB`])),
  ].join('\n');
}

/** Rows as lines; the first column is text, the others are figures. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, at) => Math.max(cell.length, most[at] ?? 0)), []);
  return rows.map(
    (row) =>
      `  ${row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')}`,
  );
}
