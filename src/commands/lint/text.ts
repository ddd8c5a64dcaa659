import type { Findings } from '../../lint/findings.ts';
import type { Bar } from '../../lint/histogram.ts';
import { type Kind, kindNames, kinds } from '../../lint/kinds.ts';
import type { Linted } from '../../lint/lint.ts';
import { spreadOf } from '../../lint/rewards.ts';
import type { Summary } from '../../lint/summary.ts';
import { aligned } from '../../output/aligned.ts';
import { sizeText } from '../../output/size.ts';

/** The most bars of a histogram. */
export const BARS = 12;

// Of each kind; the rest is for --json.
const MOST_SHOWN = 5;

// Characters of the longest bar.
const LONGEST = 40;

/** What was found, for people: what there is of trajectories, and of each kind of finding the first few. */
export function lintText({ summary }: Linted): string {
  const { bytes, groups, idle } = summary;
  const facts = [
    ['size', sizeText(bytes)],
    ['groups', idle === 0 ? `${groups}` : `${groups}, of which ${idle} can teach nothing`],
    ['trajectories', trajectoriesText(summary)],
    ['rewards', rewardsText(summary)],
  ];
  const largest = summary.largest.all.map(({ at, path, bytes: size }) => [`  ${sizeText(size)}`, at, path]);
  return [
    aligned(facts),
    barsText(summary.histogram.bars(BARS)),
    section('Largest trajectories', aligned(largest)),
    ...kindNames.map((kind) => findingsText(kind, summary.findings)),
  ].join('');
}

function trajectoriesText({ groups, trajectories, fewest, most }: Summary): string {
  if (groups === 0) return `${trajectories}`;
  const range = fewest === most ? `${most}` : `${fewest} to ${most}, ${short(trajectories / groups)} on average`;
  return `${trajectories}; per group ${range}`;
}

function rewardsText({ groups, rewards, spreads }: Summary): string {
  const { count, mean, least, greatest } = rewards;
  if (count === 0) return 'none';
  const spread = `spread ${short(spreadOf(rewards))} (within groups ${short(spreads / groups)})`;
  return `mean ${short(mean)}, ${spread}, min ${least}, max ${greatest}`;
}

function barsText(bars: readonly Bar[]): string {
  const highest = Math.max(...bars.map(({ count }) => count));
  return aligned(
    bars.map(({ from, count }) => [
      `  ${short(from)}`,
      // What there is of is seen, however little.
      `${'█'.repeat(Math.ceil((count / highest) * LONGEST))} ${count}`.trimStart(),
    ]),
  );
}

function findingsText(kind: Kind, findings: Findings): string {
  const count = findings.count(kind);
  const shown = findings.told(kind).slice(0, MOST_SHOWN);
  const lines = shown.map(({ at, path, message }) => `  ${at} ${path}: ${message}\n`);
  const more = count > shown.length ? `  and ${count - shown.length} more (--json tells the first 100)\n` : '';
  return section(`${kind}, ${count} times: ${kinds[kind]}`.replace(' 1 times', ' once'), lines.join('') + more);
}

function section(title: string, lines: string): string {
  return lines === '' ? '' : `\n${title}\n${lines}`;
}

function short(value: number): string {
  return `${Number(value.toPrecision(6))}`;
}
