import type { Issue, Place } from '../../errors.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import { type JsonValue, RawJson } from '../../json/write-json.ts';
import { formatPlace } from '../../output/failure-text.ts';
import { formatNumber, pluralize } from '../../output/transfer-text.ts';
import { alignColumns } from '../../results/format-rows.ts';
import { barsAxis, chartFigure, valueAxis } from '../charts.ts';
import { type Distribution, markedCount, plotBars, sharedBins } from '../distribution.ts';
import { figureList, type Markup, reportPage, tableOf } from '../report-page.ts';
import { type LintKind, lintKindNames, lintKinds } from './lint-kinds.ts';
import { isTrainable, type LintFindings, type LintResult, type LintSummary, standardDeviation } from './linter.ts';

const MAX_HISTOGRAM_BINS = 12;

/** Distribution of a chart, in the page and with `--plot`. */
export const MAX_CHART_BINS = 24;

// Per kind; --json has more.
const MAX_FINDINGS_SHOWN = 5;

/** The result of lint for people: statistics, and the first few findings of each kind; with a plot, also that of the groups. */
export function lintText({ summary }: LintResult, columns: number, hasPlot: boolean): string {
  const { bytes, groups, untrainableGroups, histogram, deviations } = summary;
  const facts = [
    ['size', formatByteSize(bytes)],
    ['groups', untrainableGroups === 0 ? `${groups}` : `${groups} (${untrainableGroups} without a training signal)`],
    ['trajectories', trajectoriesText(summary)],
    ['rewards', rewardsText(summary)],
  ];
  const largest = summary.largest.all.map(({ at, path, bytes: size }) => [
    `  ${formatByteSize(size)}`,
    formatPlace(at),
    path,
  ]);
  const deviationTitle = 'Groups by the standard deviation of their rewards, from (░ without a difference)';
  const plots = [
    sectionText('Trajectories by reward, from', histogramText(histogram, MAX_CHART_BINS, columns)),
    sectionText(deviationTitle, histogramText(deviations, MAX_CHART_BINS, columns)),
  ];
  return [
    alignColumns(facts),
    ...(hasPlot ? plots : [histogramText(histogram, MAX_HISTOGRAM_BINS, columns)]),
    sectionText('Largest trajectories', alignColumns(largest)),
    ...lintKindNames.map((kind) => findingsText(kind, summary.findings)),
  ].join('');
}

function trajectoriesText(summary: LintSummary): string {
  const { trajectories, completeGroups, groupedTrajectories, minPerGroup, maxPerGroup } = summary;
  if (completeGroups === 0) return `${trajectories}`;
  const range =
    minPerGroup === maxPerGroup
      ? `${maxPerGroup}`
      : `${minPerGroup} to ${maxPerGroup}, ${formatNumber(groupedTrajectories / completeGroups)} on average`;
  return `${trajectories}; per group ${range}`;
}

function rewardsText({ rewardedGroups, rewards, deviationSum }: LintSummary): string {
  const { count, mean, min, max } = rewards;
  if (count === 0) return 'none';
  const within = rewardedGroups === 0 ? '' : ` (within groups ${formatNumber(deviationSum / rewardedGroups)})`;
  const deviation = `standard deviation ${formatNumber(standardDeviation(rewards))}`;
  return `mean ${formatNumber(mean)}, ${deviation}${within}, min ${min}, max ${max}`;
}

function histogramText(distribution: Distribution, maxBins: number, columns: number): string {
  const bars = distribution
    .bins(maxBins)
    .map((bin) => ({ label: formatNumber(bin.from), count: bin.count, bad: markedCount(bin) }));
  return plotBars(bars, columns);
}

function findingsText(kind: LintKind, findings: LintFindings): string {
  const count = findings.count(kind);
  const examples = findings.examplesOf(kind).slice(0, MAX_FINDINGS_SHOWN);
  const lines = examples.map(({ at, path, message }) => `  ${formatPlace(at)} ${path}: ${message}\n`);
  const more = count > examples.length ? `  and ${count - examples.length} more (--json lists the first 100)\n` : '';
  return sectionText(`${kind} (${count} ${pluralize(count, 'finding')}): ${lintKinds[kind]}`, lines.join('') + more);
}

function sectionText(title: string, lines: string): string {
  return lines === '' ? '' : `\n${title}\n${lines}`;
}

/** The result of lint as one JSON object; minimum and maximum rewards keep every digit. */
export function lintJson({ summary, problems }: LintResult): JsonValue {
  const { bytes, groups, trajectories, untrainableGroups, rewards, largest, findings } = summary;
  const { completeGroups, groupedTrajectories, minPerGroup, maxPerGroup } = summary;
  return {
    bytes,
    groups,
    trajectories,
    trajectories_per_group:
      completeGroups === 0 ? null : { min: minPerGroup, mean: groupedTrajectories / completeGroups, max: maxPerGroup },
    idle_groups: untrainableGroups,
    rewards: {
      count: rewards.count,
      mean: rewards.finiteCount === 0 ? null : rewards.mean,
      spread: rewards.finiteCount === 0 ? null : standardDeviation(rewards),
      spread_within_groups: summary.rewardedGroups === 0 ? null : summary.deviationSum / summary.rewardedGroups,
      min: rewards.count === 0 ? null : new RawJson(rewards.min),
      max: rewards.count === 0 ? null : new RawJson(rewards.max),
      histogram: summary.histogram.bins(MAX_HISTOGRAM_BINS).map(({ from, to, count }) => ({ from, to, count })),
    },
    largest: largest.all.map((one) => ({ ...one, at: formatPlace(one.at) })),
    counts: Object.fromEntries(lintKindNames.map((kind) => [kind, findings.count(kind)])),
    findings: lintKindNames
      .flatMap(findings.examplesOf)
      .map((finding) => ({ ...finding, at: formatPlace(finding.at) })),
    problems: problems.map(({ level, at, path, message }) => ({ level, at: formatPlace(at), path, message })),
  };
}

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
  const [first = [], second] = summaries.map(figuresOf);
  const figures = second
    ? tableOf(
        ['Figure', ...names, 'Change'],
        first.map((one, at) => comparedFigure(one, second[at] ?? one)),
      )
    : [figureList(first.map(([label, value, format]) => [label, valueText(value, format)]))];
  return [
    ...figures,
    ['div', { class: `charts ${results.length > 1 ? 'pairs' : ''}` }, charts(summaries, names)],
    ...results.flatMap((result, at) => findingsMarkup(result, names[at] ?? '', place)),
  ];
}

type Figure = readonly [label: string, value: number, format?: typeof formatNumber];

// Without a reward, the mean is not a number.
function valueText(value: number, format = formatNumber): string {
  return Number.isNaN(value) ? '-' : format(value);
}

function comparedFigure([label, before, format]: Figure, [, after]: Figure): string[] {
  const difference = after - before;
  const change = `${difference > 0 ? '+' : '-'}${valueText(Math.abs(difference), format)}`;
  const texts = [before, after].map((value) => valueText(value, format));
  return [label, ...texts, Number.isNaN(difference) || difference === 0 ? '' : change];
}

function figuresOf(summary: LintSummary): readonly Figure[] {
  const { bytes, groups, untrainableGroups, trajectories, rewards, rewardedGroups, deviationSum } = summary;
  return [
    ['Groups', groups],
    ['Without a training signal', untrainableGroups],
    ['Trajectories', trajectories],
    ['Rewards', rewards.count],
    ['Without a reward', trajectories - rewards.count],
    ['Mean reward', rewards.finiteCount > 0 ? rewards.mean : Number.NaN],
    ['Standard deviation', rewards.finiteCount > 0 ? standardDeviation(rewards) : Number.NaN],
    ['Within groups', deviationSum / rewardedGroups],
    ['Size', bytes, formatByteSize],
  ];
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
