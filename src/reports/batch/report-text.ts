import { formatLineRanges } from '../../files/split-lines.ts';
import type { JsonValue } from '../../json/write-json.ts';
import { factLines, shareText } from '../../operations/received-facts.ts';
import { formatCount, formatMilliseconds, formatNumber, pluralize, wholeRange } from '../../output/transfer-text.ts';
import { alignColumns } from '../../results/format-rows.ts';
import { type Distribution, evenEdges, logEdges, plotBars } from '../distribution.ts';
import { type BatchReport, type Comparison, differentChecks, lineChanges } from './batch-report.ts';
import { type BatchStatistics, meanInFlight, sliceTime, sortedCauses } from './batch-statistics.ts';
import { holds } from './line-facts.ts';

const MAX_SHOWN_CAUSES = 5;
const BAR_COUNT = 12;
const PLOT_BAR_COUNT = 24;
const MAX_SHOWN_LINES = 10;
const MAX_SHOWN_SLICES = 10;

/** The percentiles of latency that reports show. */
export const percentiles = [50, 90, 99];

/** Failures of a batch by cause, one per line. */
export function causeLines(statistics: BatchStatistics): string[] {
  const causes = sortedCauses(statistics);
  const moreCauses = causes.length - MAX_SHOWN_CAUSES;
  return [
    ...causes.slice(0, MAX_SHOWN_CAUSES).map(causeLine),
    ...(moreCauses > 0 ? [`and ${moreCauses} more ${pluralize(moreCauses, 'cause')}`] : []),
  ];
}

// Percentiles of fewer responses say nothing.
const MIN_LATENCIES = 10;

/** Token sums, latency and speed of a batch, one per line. */
export function statisticsLines(statistics: BatchStatistics): string[] {
  const { latency, promptTokens, completionTokens, totals } = statistics;
  const times = percentiles.map((percent) => `p${percent} ${latency.percentile(percent)} ms`).join(', ');
  const sums = `${formatCount(promptTokens.sum())} in, ${formatCount(completionTokens.sum())} out`;
  const lines = factLines(totals);
  if (promptTokens.count() + completionTokens.count() > 0)
    lines.unshift(`tokens: ${sums}${shareText(promptTokens.count(), totals)}`);
  if (latency.count() < MIN_LATENCIES) return lines;
  return [...lines, `latency: ${times}, max ${latency.max()} ms`, ...speedLines(statistics)];
}

function speedLines(statistics: BatchStatistics): string[] {
  const slices = sliceTime(statistics, MAX_SHOWN_SLICES);
  const courses = slices.length < MIN_SLICES ? [] : courseTitles;
  const held = heldRows(statistics).map(([text, count]) => `${text} (${count})`);
  return [
    ...courses.map(([title, read]) => {
      const values = slices.map((slice) => formatNumber(Math.round(read(slice) * 10) / 10)).join(', ');
      return `${title.toLowerCase()}: ${values} (every ${slices[0]?.seconds} s)`;
    }),
    ...(held.length > 0 ? [`held back by: ${held.join('; ')}`] : []),
  ];
}

/** What requests waited for, and how many, the most frequent first. */
export function heldRows({ heldBy }: BatchStatistics): [text: string, count: string][] {
  const texts = new Map<string, string>(Object.entries(holds));
  return [...heldBy]
    .sort(([, left], [, right]) => right - left)
    .map(([name, count]) => [texts.get(name) ?? name, formatCount(count)]);
}

/** The report for a terminal of `columns` columns, with histograms. */
export function reportText(report: BatchReport, columns: number, hasPlot = false): string {
  const { statistics, expectations, unsent, isInputUnread } = report;
  const { byStatus, retries } = statistics;
  const { done, failed, unknown } = byStatus;
  const counts = [`${formatCount(done)} done`, `${formatCount(failed)} failed`, `${formatCount(unknown)} unknown`];
  if (retries > 0) counts.push(`${formatCount(retries)} ${pluralize(retries, 'retry', 'retries')}`);
  const total = done + failed + unknown;
  const histograms = distributions.flatMap(({ title, unit, of }) => {
    const distribution = of(statistics);
    const bars = distribution.bars(barEdges([distribution], unit, hasPlot ? PLOT_BAR_COUNT : BAR_COUNT));
    const labeled = bars.map(({ from, to, count }) => ({ label: `${wholeRange(from, to)}${unit}`, count }));
    return bars.length === 0 ? [] : [`\n${title}\n${plotBars(labeled, columns)}`];
  });
  const passed = Array.from(expectations, ([flag, { passed: count, failed }]) => {
    return `passed: ${formatCount(count)} of ${formatCount(count + failed)} ${flag}`;
  });
  const lines = [...causeLines(statistics), ...statisticsLines(statistics), ...passed].map((line) => `  ${line}\n`);
  const slices = sliceTime(statistics, hasPlot ? PLOT_BAR_COUNT : BAR_COUNT);
  const courses = (slices.length < MIN_SLICES ? [] : courseTitles).map(([title, read]) => {
    const start = slices[0]?.from ?? 0;
    const bars = slices.map((slice) => ({
      label: `${wholeRange(slice.from - start, slice.to - start)} s`,
      count: read(slice),
    }));
    return `\n${title}\n${plotBars(bars, columns)}`;
  });
  const plots = [...lines, ...histograms, ...courses].join('');
  const rest = isInputUnread
    ? '; the input was not read to its end'
    : unsent > 0
      ? `; ${formatCount(unsent)} not sent`
      : '';
  return `${formatCount(total)} ${pluralize(total, 'line')}: ${counts.join(', ')}${rest}\n${plots}`;
}

type Slice = ReturnType<typeof sliceTime>[number];

// Fewer say nothing about a course of time.
const MIN_SLICES = 3;
const courseTitles = [
  ['Requests in flight', ({ inFlight }: Slice) => inFlight],
  ['Lines per second', ({ perSecond }: Slice) => perSecond],
] as const;

export function reportJson({ statistics, expectations, unsent }: BatchReport): { readonly [name: string]: JsonValue } {
  const { byStatus, retries, latency, unretriedLatency, promptTokens, completionTokens, totals } = statistics;
  const { done, failed, unknown } = byStatus;
  return {
    lines: done + failed + unknown,
    done,
    failed,
    unknown,
    unsent: Number.isNaN(unsent) ? null : unsent,
    retries,
    failures: sortedCauses(statistics).map(({ cause, count, lines }) => ({ cause, count, first_lines: lines })),
    expectations: Array.from(expectations, ([expectation, counts]) => ({ expectation, ...counts })),
    tokens: { prompt: promptTokens.sum(), completion: completionTokens.sum() },
    ...Object.fromEntries([
      ...Array.from(totals.sums, ([name, { sum }]) => [name, sum]),
      ...Array.from(totals.counts, ([name, total]) => [name, total instanceof Map ? Object.fromEntries(total) : total]),
    ]),
    responses: totals.responses,
    responses_with: Object.fromEntries([
      ['tokens', promptTokens.count()],
      ...Array.from(totals.sums, ([name, { count }]) => [name, count]),
    ]),
    latency_ms: latencyJson(latency),
    unretried_latency_ms: latencyJson(unretriedLatency),
    held_back: Object.fromEntries(statistics.heldBy),
    over_time: sliceTime(statistics).map(({ from, seconds, inFlight, perSecond, notDonePerSecond }) => ({
      ...{ from: new Date(from * 1000).toISOString(), seconds, in_flight: inFlight },
      ...{ lines_per_second: perSecond, not_done_per_second: notDonePerSecond },
    })),
  };
}

function latencyJson({ percentile, max }: Distribution): JsonValue {
  return Object.fromEntries([...percentiles.map((percent) => [`p${percent}`, percentile(percent)]), ['max', max()]]);
}

/** The figures of two reports beside each other, and the lines that changed, as text. */
export function comparisonText(reports: readonly [BatchReport, BatchReport], comparison: Comparison): string {
  const heading = ['', ...reports.map(({ name }) => name), 'change'];
  const lines = changeLines(reports, comparison).map((line) => `${line}\n`);
  return alignColumns([heading, ...comparedFigures(reports)]) + lines.join('');
}

/** What changed from line to line, in sentences. */
export function changeLines(
  reports: readonly [BatchReport, BatchReport],
  { compared, failedInBoth, onlyFirst, onlySecond, changes }: Comparison,
): string[] {
  const [first, second] = [reports[0].name, reports[1].name];
  const counts = lineChanges.map(([change]) => `${formatCount(changes[change].count())} ${change}`);
  const failed = failedInBoth > 0 ? `, of which ${formatCount(failedInBoth)} failed in both` : '';
  const leftOut = (count: number, owner: string, other: string): string[] => {
    const lines = `${formatCount(count)} ${pluralize(count, 'line')}`;
    return count === 0 ? [] : [`${lines} left out: no result in ${other}; the figures of ${owner} count them`];
  };
  return [
    ...incomparableFigures(reports).map(({ reason }) => reason),
    `${formatCount(compared)} ${pluralize(compared, 'line')} compared${failed}: ${counts.join(', ')}`,
    ...leftOut(onlyFirst, first, second),
    ...leftOut(onlySecond, second, first),
    ...lineChanges.flatMap(([change, text]) => {
      const [count, all] = [changes[change].count(), changes[change].values().map(({ line }) => line)];
      const shown = all.slice(0, MAX_SHOWN_LINES);
      const such = count > shown.length ? 'such as ' : '';
      const lines = `${such}${pluralize(shown.length, 'line')} ${formatLineRanges(shown)}`;
      return count === 0 ? [] : [`${formatCount(count)} ${text}: ${lines}`];
    }),
  ];
}

export function comparisonJson(reports: readonly [BatchReport, BatchReport], comparison: Comparison): JsonValue {
  const { compared, failedInBoth, onlyFirst, onlySecond, changes } = comparison;
  const examplesOf = ({ count, values }: Comparison['changes']['worse']) => ({ count: count(), examples: values() });
  return {
    reports: reports.map((report) => ({ file: report.name, ...reportJson(report) })),
    lines: { compared, only_first: onlyFirst, only_second: onlySecond },
    failed_in_both: failedInBoth,
    not_comparable: incomparableFigures(reports),
    ...Object.fromEntries(lineChanges.map(([name]) => [name, examplesOf(changes[name])])),
  };
}

interface Figure {
  readonly label: string;
  /** Undefined if the report does not have it. */
  readonly read: (report: BatchReport) => number | undefined;
  readonly format: (value: number) => string;
  /** Whether more of it is better or worse; undefined for neither. */
  readonly more?: 'better' | 'worse' | undefined;
  /** The relative difference that is not yet better or worse. */
  readonly tolerance?: number;
  /** Of a sum: how many responses are in it. */
  readonly counted?: (report: BatchReport) => number;
  readonly lack?: string;
  /** What must be the same in both reports for a difference to be better or worse. */
  readonly needsSame?: 'checks' | 'latency';
}

const tolerant = { more: 'worse', tolerance: 0.1 } as const;

export const figures: readonly Figure[] = [
  countFigure('Lines', ({ byStatus: { done, failed, unknown } }) => done + failed + unknown),
  { ...countFigure('Done', ({ byStatus }) => byStatus.done, 'better'), needsSame: 'checks' },
  { ...countFigure('Failed', ({ byStatus }) => byStatus.failed, 'worse'), needsSame: 'checks' },
  countFigure('Unknown', ({ byStatus }) => byStatus.unknown, 'worse'),
  {
    ...countFigure('Not sent', () => 0, 'worse'),
    ...{ read: ({ unsent }) => (Number.isNaN(unsent) ? undefined : unsent), lack: 'not known' },
  },
  countFigure('Retries', ({ retries }) => retries, 'worse'),
  sumFigure('Prompt tokens', ({ promptTokens }) => ({ sum: promptTokens.sum(), count: promptTokens.count() })),
  sumFigure('Completion tokens', ({ completionTokens: { sum, count } }) => ({ sum: sum(), count: count() })),
  sumFigure('Cached tokens', ({ totals }) => totals.sums.get('cached_tokens')),
  { ...sumFigure('Cost', ({ totals }) => totals.sums.get('cost')), ...tolerant, format: String },
  countFigure('Empty responses', ({ totals: { counts } }) => Number(counts.get('empty_responses') ?? 0), 'worse'),
  ...percentiles.map(latencyFigure),
];

// Without the waits of retries.
function latencyFigure(percent: number): Figure {
  const read: Figure['read'] = ({ statistics: { unretriedLatency: latency } }) =>
    latency.count() > 0 ? latency.percentile(percent) : undefined;
  const label = `Latency p${percent} without retries`;
  return { label, read, format: formatMilliseconds, ...tolerant, needsSame: 'latency' };
}

function countFigure(label: string, read: (statistics: BatchStatistics) => number, more?: Figure['more']): Figure {
  return { label, format: formatCount, read: ({ statistics }) => read(statistics), more };
}

type PartialSum = { readonly sum: number; readonly count: number };

function sumFigure(label: string, read: (statistics: BatchStatistics) => PartialSum | undefined): Figure {
  const counted = ({ statistics }: BatchReport): number => read(statistics)?.count ?? 0;
  const sum = (report: BatchReport) => (counted(report) > 0 ? read(report.statistics)?.sum : undefined);
  return { label, format: formatCount, read: sum, counted };
}

/** A sum over some responses says over how many. */
export function figureText({ read, format, counted, lack = 'not reported' }: Figure, report: BatchReport): string {
  const value = read(report);
  const share = counted ? shareText(counted(report), report.statistics.totals) : '';
  return value === undefined ? lack : `${format(value)}${share}`;
}

/** The share of responses that passed an expectation, from 0 to 1. */
export function passRate({ passed, failed }: { readonly passed: number; readonly failed: number }): number {
  return passed + failed === 0 ? 0 : passed / (passed + failed);
}

export function formatShare(share: number): string {
  // Rounded down: 100 % means all. 0.6 - 0.4 is 0.2, though not in binary.
  return `${Math.floor(Number((share * 1000).toFixed(6))) / 10} %`;
}

const MIN_LOAD_RATIO = 1.5;

/** The figures whose difference says nothing, because the runs differ in what they depend on, and the reason. */
function incomparableFigures(reports: readonly [BatchReport, BatchReport]) {
  const named = differentChecks(reports).flatMap((checks, at) =>
    checks.length === 0 ? [] : `${checks.slice(0, MAX_SHOWN_CAUSES).join(', ')} only in ${reports[at]?.name}`,
  );
  const loads = reports.map(({ statistics }) => meanInFlight(statistics));
  const [low = 0, high = 0] = loads.toSorted((left, right) => left - right);
  const isMeasured = reports.every(({ statistics }) => statistics.latency.count() >= MIN_LATENCIES);
  const isLoadDifferent = isMeasured && low > 0 && high > low * MIN_LOAD_RATIO;
  const shown = loads.map((load, at) => `${formatNumber(Math.round(load * 10) / 10)} in ${reports[at]?.name}`);
  const checks = `the checks differ, so lines are compared without them: ${named.join('; ')}`;
  const latency = `latency depends on the requests in flight, ${shown.join(' and ')} on average: give both the same --concurrency, which refusals lower`;
  return [
    ...(named.length > 0 ? [{ what: 'checks', reason: checks }] : []),
    ...(isLoadDifferent ? [{ what: 'latency', reason: latency }] : []),
  ];
}

/** For each figure, and the pass rate of each expectation, both values and the change from the first to the second one. */
export function comparedFigures(reports: readonly [BatchReport, BatchReport]): string[][] {
  const flags = new Set(reports.flatMap(({ expectations }) => [...expectations.keys()]));
  const passRates = Array.from(flags, (flag): Figure => {
    const read: Figure['read'] = ({ expectations }) => {
      const counts = expectations.get(flag);
      return counts && passRate(counts);
    };
    return { label: `Passed ${flag}`, read, format: formatShare, more: 'better', lack: 'not checked' };
  });
  const differing = incomparableFigures(reports).map(({ what }) => what);
  return [...figures, ...passRates].map((each) => {
    const figure = differing.includes(each.needsSame ?? '') ? { ...each, more: undefined } : each;
    const [first, second] = reports.map((report) => figureText(figure, report));
    return [figure.label, first ?? '', second ?? '', changeText(figure, reports)];
  });
}

// Empty for figures that cannot be compared: one that is missing, or a sum over some responses.
function changeText({ read, format, more, counted, tolerance = 0 }: Figure, reports: readonly BatchReport[]): string {
  const [before, after] = reports.map(read);
  if (before === undefined || after === undefined) return '';
  if (reports.some((report) => counted && counted(report) < report.statistics.totals.responses)) return '';
  const difference = after - before;
  if (difference === 0) return '';
  const text = `${difference > 0 ? '+' : '-'}${format(Math.abs(difference))}`;
  if (!more || Math.abs(difference) <= before * tolerance) return text;
  return `${text}, ${difference > 0 === (more === 'better') ? 'better' : 'worse'}`;
}

export const distributions = [
  { title: 'Latency', unit: ' ms', of: ({ latency }: BatchStatistics) => latency },
  { title: 'Prompt tokens per line', unit: '', of: ({ promptTokens }: BatchStatistics) => promptTokens },
  { title: 'Completion tokens per line', unit: '', of: ({ completionTokens }: BatchStatistics) => completionTokens },
];

/** The edges of the bars that show several of them: of equal ratios for times, of equal widths for tokens; one bar for one value. */
export function barEdges(all: readonly Distribution[], unit: string, barCount: number): number[] {
  const filled = all.filter(({ count }) => count() > 0);
  const [least, most] = [
    Math.min(...filled.map(({ percentile }) => percentile(0))),
    Math.max(...filled.map(({ max }) => max())),
  ];
  if (unit === '' || least === most) return filled.length === 0 ? [] : evenEdges(least, most, barCount);
  return filled.length === 0 ? [] : logEdges(least, most, barCount > BAR_COUNT ? 10 : 5);
}

function causeLine({ cause, count, lines }: ReturnType<typeof sortedCauses>[number]): string {
  const more = count > lines.length ? ', …' : '';
  return `${formatCount(count)} × ${cause} (${pluralize(lines.length, 'line')} ${formatLineRanges(lines)}${more})`;
}
