import type { Issue, Place } from '../../errors.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import { pluralize } from '../../json/pluralize.ts';
import { formatPlace } from '../../output/failure-text.ts';
import { formatNumber } from '../../output/transfer-text.ts';
import { barsAxis, chartFigure, valueAxis } from '../charts.ts';
import { type Distribution, markedCount, sharedBins } from '../distribution.ts';
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
  linkTo: (place: Place) => string | undefined,
): string {
  const place = (at: Place | undefined): Markup => {
    const href = at?.line === undefined ? undefined : linkTo(at);
    return href === undefined ? formatPlace(at) : ['a', { href }, formatPlace(at)];
  };
  return reportPage('Training data', [
    ['p', { class: 'muted' }, labels.join(', ')],
    ...lintMarkup([result], [''], place),
  ]);
}

/**
 * Results of lint as figures, charts and findings: of several, with their names, the charts of each kind lie beside each
 * other and have the same axes. Findings of texts without places have the path only.
 */
export function lintMarkup(
  results: readonly LintResult[],
  names: readonly string[],
  place?: (at: Place | undefined) => Markup,
): Markup[] {
  const summaries = results.map(({ summary }) => summary);
  const rows = summaries.map(figuresOf);
  const [first = []] = rows;
  const figures =
    results.length === 1
      ? [figureList(first)]
      : tableOf(
          ['Figure', ...names],
          first.map(([label], at) => [label, ...rows.map((row) => row[at]?.[1] ?? '')]),
        );
  return [
    ...figures,
    ['div', { class: `charts ${results.length > 1 ? 'pairs' : ''}` }, charts(summaries, names)],
    ...results.flatMap((result, at) => findingsMarkup(result, names[at] ?? '', place)),
  ];
}

function figuresOf({ bytes, groups, untrainableGroups, trajectories, rewards }: LintSummary) {
  return [
    ['Groups', formatNumber(groups)],
    ['Without a training signal', formatNumber(untrainableGroups)],
    ['Trajectories', formatNumber(trajectories)],
    ['Rewards', formatNumber(rewards.count)],
    ['Without a reward', formatNumber(trajectories - rewards.count)],
    ['Size', formatByteSize(bytes)],
  ] as const;
}

function findingsMarkup(
  { summary, problems }: LintResult,
  name: string,
  place?: (at: Place | undefined) => Markup,
): Markup[] {
  const { findings } = summary;
  const section = (
    title: string,
    reason: string,
    rows: readonly Pick<Issue, 'at' | 'path' | 'message'>[],
  ): Markup[] => {
    if (rows.length === 0) return [];
    const cells = rows.map(({ at, path, message }) => [...(place ? [place(at)] : []), path, message]);
    const headings = [...(place ? ['Place'] : []), 'Field', 'Finding'];
    return [['h3', {}, [`${title} `, ['span', { class: 'muted' }, reason]]], ...tableOf(headings, cells)];
  };
  const sections = lintKindNames.flatMap((kind) => {
    const [count, examples] = [findings.count(kind), findings.examplesOf(kind)];
    const more = count > examples.length ? ` (the first ${examples.length} are listed)` : '';
    return section(`${kind}: ${formatNumber(count)} ${pluralize(count, 'finding')}${more}`, lintKinds[kind], examples);
  });
  const all = [...section('Errors and warnings of svc train', '', problems), ...sections];
  return [['h2', {}, titleOf('Findings', name)], ...(all.length === 0 ? [['p', {}, 'None.'] as const] : all)];
}

function titleOf(title: string, name: string): string {
  return name === '' ? title : `${title}: ${name}`;
}

// Of each kind, a chart for each summary.
function charts(summaries: readonly LintSummary[], names: readonly string[]): Markup[] {
  const each: ForEach = (title, chart) =>
    summaries.map((summary, at) => chartFigure({ title: titleOf(title, names[at] ?? ''), ...chart(summary, at) }));
  return [
    ...rewardCharts(summaries, each),
    ...deviationCharts(summaries, each),
    ...groupCharts(summaries, each),
    ...seriesCharts(summaries, each, 'Rewards by policy version', 'Policy version', 'byPolicy'),
    ...seriesCharts(summaries, each, 'Rewards by position', 'Position of the trajectory in the data', 'byPosition'),
    ...lengthCharts(summaries, each, 'Tokens', 'Generated tokens with logprobs', 'tokens'),
    ...lengthCharts(summaries, each, 'Messages', 'Messages and choices', 'messages'),
  ];
}

type Chart = Omit<Parameters<typeof chartFigure>[0], 'title'>;

type ForEach = (title: string, chart: (summary: LintSummary, at: number) => Chart) => Markup[];

// Bars with the same edges, what they span, and the highest of all.
function sharedBars(all: readonly Distribution[]) {
  const bars = sharedBins(all, MAX_CHART_BINS);
  const highest = Math.max(0, ...bars.flat().map(({ count }) => count));
  return { bars, highest, range: bars.find((own) => own.length > 0) ?? [] };
}

function rewardCharts(summaries: readonly LintSummary[], each: ForEach): Markup[] {
  const { bars, highest, range } = sharedBars(summaries.map(({ histogram }) => histogram));
  const x = barsAxis('Reward', range);
  return each('Rewards', (summary, at) => {
    const { count, mean } = summary.rewards;
    return {
      summary: `${formatNumber(count)} ${pluralize(count, 'reward')}: ${rewardsText(summary)}.`,
      ...{ x, yLabel: 'Trajectories', bars: bars[at] ?? [], highest },
      marks: Number.isFinite(mean) ? [{ value: mean, label: `mean ${formatNumber(mean)}` }] : [],
    };
  });
}

function deviationCharts(summaries: readonly LintSummary[], each: ForEach): Markup[] {
  const { bars, highest, range } = sharedBars(summaries.map(({ deviations }) => deviations));
  const x = barsAxis('Standard deviation of the rewards of a group', range);
  return each('Differences within groups', ({ deviations }, at) => {
    const marked = (bars[at] ?? []).map((bin) => ({ ...bin, bad: markedCount(bin) }));
    const equal = marked.reduce((sum, { bad }) => sum + bad, 0);
    return {
      summary: `Of ${formatNumber(deviations.count())} groups with several rewards, ${formatNumber(equal)} have no difference.`,
      ...{ x, yLabel: 'Groups', badLabel: 'Without a difference', highest, bars: marked },
    };
  });
}

function lengthCharts(
  summaries: readonly LintSummary[],
  each: ForEach,
  title: string,
  label: string,
  name: 'tokens' | 'messages',
): Markup[] {
  const { bars, highest, range } = sharedBars(summaries.map((summary) => summary[name]));
  const x = barsAxis(`${title} per trajectory`, range, true);
  return each(title, ({ [name]: { count, sum, percentile, max } }, at) => {
    const [least, most] = [percentile(0), max()].map(formatNumber);
    const limits = `, ${formatNumber(sum())} in all, ${least === most ? `each ${most}` : `${least} to ${most}`}`;
    const summary = `${label}${count() > 0 ? limits : ''}.`;
    return { summary, x, yLabel: 'Trajectories', bars: bars[at] ?? [], highest };
  });
}

function groupCharts(summaries: readonly LintSummary[], each: ForEach): Markup[] {
  const points = summaries.map(({ groupSample }) =>
    groupSample.values().map(({ rewards, index, task }) => {
      const { count, min, max, mean } = rewards;
      const range = { mean, min: Number(min), max: Number(max) };
      const name = task === '' ? {} : { name: `${formatNumber(index)}: ${task}` };
      return { from: index, to: index + 1, count, ...range, ...name, isBad: !isTrainable(rewards) };
    }),
  );
  const x = valueAxis('Group', [0, Math.max(0, ...summaries.map(({ groups }) => groups - 1))], true);
  const values = points.flat().flatMap(({ min, max }) => [min, max]);
  return each('Rewards of each group', ({ groupSample }, at) => {
    const own = points[at] ?? [];
    const some = own.length < groupSample.count() ? ` ${own.length} groups are shown, evenly spaced.` : '';
    return {
      summary: `From the lowest to the highest reward of each group, and their mean; groups without a training signal are marked.${some}`,
      ...{ x, yLabel: 'Reward', points: own, values },
    };
  });
}

function seriesCharts(
  summaries: readonly LintSummary[],
  each: ForEach,
  title: string,
  label: string,
  name: 'byPolicy' | 'byPosition',
): Markup[] {
  const points = sharedBins(
    summaries.map((summary) => summary[name]),
    MAX_SERIES_BINS,
  );
  const filled = points.flat().filter(({ count }) => count > 0);
  const places = filled.map(({ from }) => from);
  const x = valueAxis(label, places, true);
  const values = filled.flatMap(({ min, max }) => [min, max]);
  const summary = 'Mean reward, and the range from the lowest to the highest one.';
  return each(title, (_, at) => ({ summary, x, yLabel: 'Reward', points: points[at] ?? [], values }));
}
