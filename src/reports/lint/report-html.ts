import type { Issue } from '../../errors.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import { pluralize } from '../../json/pluralize.ts';
import { formatNumber } from '../../output/transfer-text.ts';
import { barsAxis, chartFigure, valueAxis } from '../charts.ts';
import { type Distribution, markedCount } from '../distribution.ts';
import { figureList, type Markup, reportPage, tableOf } from '../report-page.ts';
import { lintKindNames, lintKinds } from './lint-kinds.ts';
import type { LintResult } from './linter.ts';
import { MAX_CHART_BINS, rewardsText } from './report.ts';
import { isTrainable, type LintSummary } from './summary.ts';

const MAX_SERIES_BINS = 60;

/** The result of lint as an HTML page; `linkTo` returns the URL of a line in a file, if it can be opened. */
export function lintHtml(
  result: LintResult,
  labels: readonly string[],
  linkTo: (label: string, line: string) => string | undefined,
): string {
  const place = (at: string): Markup => {
    const [, file = '', line = ''] = /^(.*):(\d+):\d+$/.exec(at) ?? [];
    const href = linkTo(file, line);
    return href === undefined ? at : ['a', { href }, at];
  };
  return reportPage('Training data', [['p', { class: 'muted' }, labels.join(', ')], ...lintMarkup(result, place)]);
}

/** The result of lint as figures, charts and findings; those of texts without places have the path only. */
export function lintMarkup({ summary, problems }: LintResult, place?: (at: string) => Markup): Markup[] {
  const { bytes, groups, untrainableGroups, trajectories, rewards, findings } = summary;
  const section = (
    title: string,
    reason: string,
    rows: readonly Pick<Issue, 'at' | 'path' | 'message'>[],
  ): Markup[] => {
    if (rows.length === 0) return [];
    const cells = rows.map(({ at = '', path, message }) => [...(place ? [place(at)] : []), path, message]);
    const headings = [...(place ? ['Place'] : []), 'Field', 'Finding'];
    return [['h3', {}, [`${title} `, ['span', { class: 'muted' }, reason]]], ...tableOf(headings, cells)];
  };
  const sections = lintKindNames.flatMap((kind) => {
    const [count, examples] = [findings.count(kind), findings.examplesOf(kind)];
    const more = count > examples.length ? ` (the first ${examples.length} are listed)` : '';
    return section(`${kind}: ${formatNumber(count)} ${pluralize(count, 'finding')}${more}`, lintKinds[kind], examples);
  });
  const all = [...section('Errors and warnings of svc train', '', problems), ...sections];
  return [
    figureList([
      ['Groups', formatNumber(groups)],
      ['Without a training signal', formatNumber(untrainableGroups)],
      ['Trajectories', formatNumber(trajectories)],
      ['Rewards', formatNumber(rewards.count)],
      ['Without a reward', formatNumber(trajectories - rewards.count)],
      ['Size', formatByteSize(bytes)],
    ]),
    ['div', { class: 'charts' }, charts(summary)],
    ['h2', {}, 'Findings'],
    ...(all.length === 0 ? [['p', {}, 'None.'] as const] : all),
  ];
}

function charts(summary: LintSummary): Markup[] {
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

function lengthChart(title: string, label: string, lengths: Distribution): Markup {
  const bars = lengths.bins(MAX_CHART_BINS);
  const summary = `${label}, ${formatNumber(lengths.sum())} in all, at most ${formatNumber(lengths.max())}.`;
  const x = barsAxis(`${title} per trajectory`, bars, true);
  return chartFigure({ title, summary, x, yLabel: 'Trajectories', bars });
}

function groupChart({ groupSample, groups }: LintSummary): Markup {
  const points = groupSample.values().map((group) => {
    const { count, min, max, mean } = group.rewards;
    const range = { mean, min: Number(min), max: Number(max) };
    return { from: group.index, to: group.index + 1, count, ...range, isBad: !isTrainable(group.rewards) };
  });
  const some = points.length < groupSample.count() ? ` ${points.length} groups are shown, evenly spaced.` : '';
  return chartFigure({
    title: 'Rewards of each group',
    summary: `From the lowest to the highest reward of each group, and their mean; groups without a training signal are marked.${some}`,
    x: valueAxis('Group', [0, Math.max(0, groups - 1)], true),
    ...{ yLabel: 'Reward', points },
  });
}

function seriesChart(title: string, label: string, rewards: Distribution): Markup {
  const points = rewards.bins(MAX_SERIES_BINS);
  const summary = 'Mean reward, and the range from the lowest to the highest one.';
  const positions = points.map(({ from }) => from);
  const x = valueAxis(label, positions, true);
  return chartFigure({ title, summary, x, yLabel: 'Reward', points });
}
