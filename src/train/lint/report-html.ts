import type { Issue } from '../../errors.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import { pluralize } from '../../json/pluralize.ts';
import { formatNumber } from '../../output/transfer-text.ts';
import { barsAxis, chartFigure, valueAxis } from '../../results/charts.ts';
import { type Distribution, markedCount } from '../../results/distribution.ts';
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
  const { bytes, groups, untrainableGroups, trajectories, rewards, findings } = summary;
  const place = (at = ''): string => {
    const [, file = '', line = ''] = /^(.*):(\d+):\d+$/.exec(at) ?? [];
    const link = linkTo(file, line);
    return link === undefined ? escapeHtml(at) : `<a href="${escapeHtml(link)}">${escapeHtml(at)}</a>`;
  };
  const section = (title: string, rows: readonly Pick<Issue, 'at' | 'path' | 'message'>[]): string => {
    const cells = rows.map(({ at, path, message }) => [place(at), path, message]);
    return rows.length === 0 ? '' : `<h3>${title}</h3>${htmlTable(['Place', 'Field', 'Finding'], cells, [0])}`;
  };
  const sections = lintKindNames.map((kind) => {
    const [count, examples] = [findings.count(kind), findings.examplesOf(kind)];
    const more = count > examples.length ? ` (the first ${examples.length} are listed)` : '';
    const text = `${kind}: ${formatNumber(count)} ${pluralize(count, 'finding')}${more}`;
    return section(`${text} <span class="muted">${lintKinds[kind]}</span>`, examples);
  });
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
    `<h2>Findings</h2>${section('Errors and warnings of svc train', problems)}${sections.join('') || '<p>None.</p>'}`,
  ]);
}

function charts(summary: LintSummary): string[] {
  const { rewards, histogram, deviations, tokens, messages } = summary;
  const rewardBins = histogram.bins(MAX_CHART_BINS);
  const deviationBins = deviations.bins(MAX_CHART_BINS).map((bin) => ({ ...bin, bad: markedCount(bin) }));
  const equal = deviationBins.reduce((sum, { bad }) => sum + bad, 0);
  return [
    chartFigure({
      title: 'Rewards',
      summary: `${formatNumber(rewards.count)} ${pluralize(rewards.count, 'reward')}: ${rewardsText(summary)}.`,
      ...{ x: barsAxis('Reward', rewardBins), yLabel: 'Trajectories', bars: rewardBins },
      marks: Number.isFinite(rewards.mean)
        ? [{ value: rewards.mean, label: `mean ${formatNumber(rewards.mean)}` }]
        : [],
    }),
    chartFigure({
      title: 'Differences within groups',
      summary: `Of ${formatNumber(deviations.count())} groups with several rewards, ${formatNumber(equal)} have no difference.`,
      x: barsAxis('Standard deviation of the rewards of a group', deviationBins),
      ...{ yLabel: 'Groups', bars: deviationBins, badLabel: 'Without a difference' },
    }),
    groupChart(summary),
    seriesChart('Rewards by policy version', 'Policy version', summary.byPolicy),
    seriesChart('Rewards by position', 'Position of the trajectory in the data', summary.byPosition),
    lengthChart('Tokens', 'Generated tokens with logprobs', tokens),
    lengthChart('Messages', 'Messages and choices', messages),
  ];
}

function lengthChart(title: string, label: string, lengths: Distribution): string {
  const bars = lengths.bins(MAX_CHART_BINS);
  const summary = `${label}, ${formatNumber(lengths.sum())} in all, at most ${formatNumber(lengths.max())}.`;
  const x = barsAxis(`${title} per trajectory`, bars, true);
  return chartFigure({ title, summary, x, yLabel: 'Trajectories', bars });
}

function groupChart({ groupSample, groups }: LintSummary): string {
  const points = groupSample.values().map((group) => {
    const { count, min, max, mean } = group.rewards;
    const range = { mean, min: Number(min), max: Number(max) };
    return { from: group.index, to: group.index + 1, count, ...range, isBad: !isTrainable(group) };
  });
  const some = points.length < groupSample.count() ? ` ${points.length} groups are shown, evenly spaced.` : '';
  return chartFigure({
    title: 'Rewards of each group',
    summary: `From the lowest to the highest reward of each group, and their mean; groups without a training signal are marked.${some}`,
    x: valueAxis('Group', [0, Math.max(0, groups - 1)], true),
    ...{ yLabel: 'Reward', points },
  });
}

function seriesChart(title: string, label: string, rewards: Distribution): string {
  const points = rewards.bins(MAX_SERIES_BINS);
  const summary = 'Mean reward, and the range from the lowest to the highest one.';
  const x = valueAxis(
    label,
    points.map(({ from }) => from),
    true,
  );
  return chartFigure({ title, summary, x, yLabel: 'Reward', points });
}
