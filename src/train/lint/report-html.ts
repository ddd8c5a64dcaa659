import { formatByteSize } from '../../files/byte-size.ts';
import { pluralize } from '../../json/pluralize.ts';
import { formatPosition } from '../../json/utf8.ts';
import { formatNumber, wholeRange } from '../../output/transfer-text.ts';
import { type Bin, markedCount } from '../../results/bins.ts';
import { type Axis, type Chart, chartFigure, countAxis, histogramFigure, valueAxis } from '../../results/charts.ts';
import { escapeHtml, htmlFigures, htmlTable, reportPage } from '../../results/report-page.ts';
import { lintKindNames, lintKinds } from './lint-kinds.ts';
import type { LintResult } from './linter.ts';
import { MAX_CHART_BINS, rewardsText } from './report.ts';
import { isTrainable, type LintSummary } from './summary.ts';

const MAX_SERIES_BINS = 60;

/** The result of lint as an HTML page; `linkTo` returns the URL of a line in a file, if it can be opened. */
export function lintHtml(
  { summary, problems }: LintResult,
  labels: readonly string[],
  linkTo: (label: string, line: string) => string | undefined,
): string {
  const { bytes, groups, untrainableGroups, trajectories, rewards, findings, largest } = summary;
  const locationHtml = (at: string): string => {
    const [, file = '', line = ''] = /^(.*):(\d+):\d+$/.exec(at) ?? [];
    const link = linkTo(file, line);
    return link === undefined ? escapeHtml(at) : `<a href="${escapeHtml(link)}">${escapeHtml(at)}</a>`;
  };
  const section = (
    title: string,
    note: string,
    rows: readonly { readonly at: string; readonly cells: string[] }[],
  ): string =>
    rows.length === 0
      ? ''
      : `<h3>${escapeHtml(title)}</h3><p class="muted">${escapeHtml(note)}</p>${htmlTable(
          ['Place', 'Field', 'Finding'],
          rows.map(({ at, cells }) => [locationHtml(at), ...cells]),
          [0],
        )}`;
  const sections = [
    section(
      'Problems',
      'what svc train reports',
      problems.map(({ at = '', path, level, message }) => ({ at, cells: [path, `${level}: ${message}`] })),
    ),
    ...lintKindNames.map((kind) => {
      const [count, examples] = [findings.count(kind), findings.examplesOf(kind)];
      const title = `${kind}: ${formatNumber(count)} ${pluralize(count, 'finding')}`;
      const note = lintKinds[kind] + (count > examples.length ? `; the first ${examples.length} are listed` : '');
      return section(
        title,
        note,
        examples.map(({ at, path, message }) => ({ at, cells: [path, message] })),
      );
    }),
  ].join('');
  return reportPage('Training data', [
    `<p class="muted">${escapeHtml(labels.join(', '))}</p>`,
    htmlFigures([
      ['Groups', formatNumber(groups)],
      ['Without a training signal', formatNumber(untrainableGroups)],
      ['Trajectories', formatNumber(trajectories)],
      ['Rewards', formatNumber(rewards.count)],
      ['Without a reward', formatNumber(trajectories - rewards.count)],
      ['Size', formatByteSize(bytes)],
    ]),
    `<div class="charts">${charts(summary).join('\n')}</div>`,
    `<h2>Findings</h2>${sections || '<p>None.</p>'}`,
    `<h2>Largest trajectories</h2>${htmlTable(
      ['Size', 'Place', 'Field'],
      largest.all.map(({ bytes: size, at, path }) => [formatByteSize(size), locationHtml(at), path]),
      [1],
    )}`,
  ]);
}

function charts(summary: LintSummary): string[] {
  const { rewards, deviations, byPolicy, byPosition } = summary;
  const deviationBins = deviations.list(MAX_CHART_BINS);
  const [compared, equal] = [({ count }: Bin) => count, markedCount].map((count) =>
    deviationBins.reduce((sum, bin) => sum + count(bin), 0),
  );
  const perTrajectory = { isWhole: true, countLabel: 'Trajectories' };
  return [
    binsChart(summary.histogram.list(MAX_CHART_BINS), {
      ...{
        title: 'Rewards',
        summary: `${formatNumber(rewards.count)} ${pluralize(rewards.count, 'reward')}: ${rewardsText(summary)}.`,
        label: 'Reward',
        countLabel: 'Trajectories',
      },
      marks:
        rewards.finiteCount > 0 && Number.isFinite(rewards.mean)
          ? [{ value: rewards.mean, label: `mean ${formatNumber(rewards.mean)}` }]
          : [],
    }),
    binsChart(deviationBins, {
      title: 'Differences within groups',
      summary: `Of ${formatNumber(compared ?? 0)} groups with several rewards, ${formatNumber(equal ?? 0)} have no difference.`,
      ...{ label: 'Standard deviation of the rewards of a group', countLabel: 'Groups' },
      badHeading: 'Without a difference',
    }),
    groupChart(summary),
    seriesChart('Rewards by policy version', 'Policy version', byPolicy.list(MAX_SERIES_BINS)),
    seriesChart('Rewards by position', 'Position of the trajectory in the data', byPosition.list(MAX_SERIES_BINS)),
    binsChart(summary.tokens.list(MAX_CHART_BINS), {
      ...{
        ...perTrajectory,
        title: 'Tokens',
        summary: 'Generated tokens with logprobs.',
        label: 'Tokens per trajectory',
      },
    }),
    binsChart(summary.messages.list(MAX_CHART_BINS), {
      ...{ ...perTrajectory, title: 'Messages', summary: 'Messages and choices.', label: 'Messages per trajectory' },
    }),
  ];
}

interface BinsChart extends Pick<Chart, 'title' | 'summary' | 'marks'> {
  readonly label: string;
  readonly countLabel: string;
  /** The values are whole numbers. */
  readonly isWhole?: boolean;
  readonly badHeading?: string;
}

function binsChart(
  bins: readonly Bin[],
  { label, countLabel, isWhole = false, badHeading, ...chart }: BinsChart,
): string {
  const bars = bins.map((bin) => ({ from: bin.from, to: bin.to, count: bin.count, bad: markedCount(bin) }));
  const counts = bars.map(({ count }) => count);
  return histogramFigure({
    ...chart,
    ...{ bars, x: binsAxis(label, bins, isWhole), y: countAxis(countLabel, counts), labelOf: rangeLabel(isWhole) },
    ...(badHeading ? { badHeading } : {}),
  });
}

function binsAxis(label: string, bins: readonly Bin[], isWhole: boolean): Axis {
  const [first] = bins;
  const last = bins.at(-1);
  if (!first || !last) return valueAxis(label, []);
  // A bin of one value is too narrow for an axis of its own.
  const axis = valueAxis(label, [first.from, !isWhole && bins.length === 1 ? first.from : last.to], isWhole);
  if (!isWhole || first.to - first.from > 1) return axis;
  // The middle of a bar is its value.
  const ticks = axis.ticks.filter(({ value }) => value < last.to).map((tick) => ({ ...tick, value: tick.value + 0.5 }));
  return { ...axis, ticks };
}

function rangeLabel(isWhole: boolean): (from: number, to: number) => string {
  return isWhole ? wholeRange : (from, to) => `${formatNumber(from)} to ${formatNumber(to)}`;
}

function groupChart({ groupSample, groups }: LintSummary): string {
  const sampled = groupSample.values();
  const some = sampled.length < groupSample.count() ? ` ${sampled.length} of them are shown, evenly spaced.` : '';
  const points = sampled.map((group) => ({
    ...{ x: group.index, low: Number(group.rewards.min), middle: group.rewards.mean, high: Number(group.rewards.max) },
    isBad: !isTrainable(group),
    cells: [
      ...[`trajectory_groups[${group.index}]`, formatPosition(group.label, group.location)],
      ...[group.rewards.min, group.rewards.mean, group.rewards.max].map((value) => formatNumber(Number(value))),
    ],
  }));
  return chartFigure({
    title: 'Rewards of each group',
    summary: `From the lowest to the highest reward of each group, and their mean; groups without a training signal are marked.${some}`,
    x: valueAxis('Group', [0, Math.max(0, groups - 1)], true),
    y: valueAxis(
      'Reward',
      points.flatMap(({ low, high }) => [low, high]),
    ),
    headings: ['Group', 'Place', 'Lowest', 'Mean', 'Highest'],
    points,
  });
}

function seriesChart(title: string, label: string, bins: readonly Bin[]): string {
  const points = bins.flatMap(({ from, to, count, mean, min, max }) =>
    count === 0
      ? []
      : {
          ...{ x: from, low: min, middle: mean, high: max },
          cells: [wholeRange(from, to), ...[count, min, mean, max].map(formatNumber)],
        },
  );
  return chartFigure({
    ...{ title, summary: 'Mean reward, and the range from the lowest to the highest one.', points },
    x: valueAxis(
      label,
      points.map(({ x }) => x),
      true,
    ),
    y: valueAxis(
      'Reward',
      points.flatMap(({ low, high }) => [low, high]),
    ),
    headings: [label, 'Rewards', 'Lowest', 'Mean', 'Highest'],
  });
}
