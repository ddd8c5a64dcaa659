import { pluralize } from '../json/pluralize.ts';
import { formatCount, formatMilliseconds, formatNumber, wholeRange } from '../output/transfer-text.ts';
import { type Bin, markedCount } from '../results/bins.ts';
import { countAxis, histogramFigure, logAxis, valueAxis } from '../results/charts.ts';
import { escapeHtml, htmlFigures, htmlTable, reportPage } from '../results/report-page.ts';
import type { BatchReport, SampledLine } from './batch-report.ts';
import { sortedCauses } from './batch-statistics.ts';
import { formatLineRanges } from './batch-summary.ts';
import type { Comparison } from './compare-results.ts';
import {
  changeLines,
  comparedFigures,
  distributions,
  figures,
  formatShare,
  lineChanges,
  passRate,
  percentiles,
} from './report-text.ts';

const BAR_COUNT = 30;
const MAX_TIMELINE_BINS = 60;

/** The report as one HTML page. */
export function reportHtml(report: BatchReport): string {
  const expectations = Array.from(report.expectations, ([flag, counts]) => {
    const share = passRate(counts);
    const meter = `<meter value="${share}" aria-label="${escapeHtml(`Passed ${flag}`)}"></meter> ${formatShare(share)}`;
    return [flag, `${formatCount(counts.passed)} of ${formatCount(counts.passed + counts.failed)}`, meter];
  });
  return reportPage('Batch report', [
    `<p class="muted">${escapeHtml(report.name)}</p>`,
    htmlFigures(figures.map(({ label, read, format }) => [label, format(read(report))])),
    charts([report]),
    section('Expectations', htmlTable(['Expectation', 'Passed', 'Pass rate'], expectations, [2])),
    ...details(report),
  ]);
}

/** Two reports side by side, and the lines that changed, as one HTML page. */
export function comparisonHtml(reports: readonly [BatchReport, BatchReport], comparison: Comparison): string {
  const [first, second] = reports.map(({ name }) => name);
  const titles = {
    worse: 'Lines that got worse',
    better: 'Lines that got better',
    different: 'Lines with another text',
  };
  return reportPage('Batch comparison', [
    htmlTable(['Figure', first ?? '', second ?? '', 'Change'], comparedFigures(reports)),
    ...changeLines(comparison).map((line) => `<p>${escapeHtml(line)}</p>`),
    charts(reports),
    ...lineChanges.map((change) => {
      const rows = comparison.changes[change].values().map(({ line, before, after }) => [`${line}`, before, after]);
      return section(titles[change], htmlTable(['Line', first ?? '', second ?? ''], rows));
    }),
    ...reports.flatMap((report) => [`<h2>${escapeHtml(report.name)}</h2>`, ...details(report)]),
  ]);
}

function section(title: string, content: string): string {
  return content === '' ? '' : `<section><h2>${title}</h2>${content}</section>`;
}

function details({ statistics, failures, responses }: BatchReport): string[] {
  const causes = sortedCauses(statistics.causes).map(({ cause, count, lines }) => [
    ...[formatCount(count), cause, formatLineRanges(lines)],
  ]);
  const samples = (lines: readonly SampledLine[]): string =>
    htmlTable(
      ['Line', 'Text'],
      lines.map(({ line, text }) => [`${line}`, text]),
    );
  return [
    section('Failures by cause', htmlTable(['Lines', 'Cause', 'First lines'], causes)),
    section('Samples of failures', samples(failures.values())),
    section('Samples of responses', samples(responses.values())),
  ];
}

// The charts of several reports have the same axes.
function charts(reports: readonly BatchReport[]): string {
  const titleOf = (title: string, { name }: BatchReport): string => (reports.length > 1 ? `${title}: ${name}` : title);
  const histograms = distributions.flatMap(({ title, unit, of, edges }) => {
    const all = reports.map(({ statistics }) => of(statistics));
    if (all.every(({ count }) => count() === 0)) return [];
    const barEdges = edges(all, BAR_COUNT);
    const [first = 0, second = 0, last = 0] = [barEdges[0], barEdges[1], barEdges.at(-1)];
    const isLatency = unit !== '';
    const x = isLatency
      ? logAxis('Latency', first || second / 1.25, last, formatMilliseconds)
      : valueAxis(title, [first, last], true);
    const bars = all.map((distribution) => distribution.bars(barEdges));
    const y = countAxis(
      'Lines',
      bars.flat().map(({ count }) => count),
    );
    return reports.map((report, at) => {
      const { count, sum, max, percentile } = of(report.statistics);
      const marks = percentiles.map((percent) => ({ value: percentile(percent), percent }));
      const format = isLatency ? formatMilliseconds : formatNumber;
      const total = isLatency ? '' : `, ${formatNumber(sum())} in all`;
      return histogramFigure({
        title: titleOf(title, report),
        summary: `${formatCount(count())} ${pluralize(count(), 'line')}${total}, at most ${format(max())}.`,
        ...{ x, y, bars: bars[at] ?? [], labelOf: (from, to) => `${wholeRange(from, to)}${unit}` },
        marks: marks.map(({ value, percent }) => ({ value, label: `p${percent} ${format(value)}` })),
      });
    });
  });
  return `<div class="charts">${[...histograms.slice(0, reports.length), ...timelines(reports, titleOf), ...histograms.slice(reports.length)].join('\n')}</div>`;
}

const timeUnits = [
  ['s', 1, 180],
  ['min', 60, 10_800],
  ['h', 3600, Number.POSITIVE_INFINITY],
] as const;

function timelines(reports: readonly BatchReport[], titleOf: (title: string, report: BatchReport) => string): string[] {
  const all = reports.map(({ timeline }) => timeline.list(MAX_TIMELINE_BINS));
  const seconds = Math.max(...all.map((bins) => (bins.at(-1)?.to ?? 0) - (bins[0]?.from ?? 0)));
  const [unit, length] = timeUnits.find(([, , limit]) => seconds < limit) ?? timeUnits[0];
  const rateOf = ({ count, from, to }: Bin): number => count / (to - from);
  const x = valueAxis(`Time since the first line ended (${unit})`, [0, seconds / length]);
  const y = countAxis('Lines per second', all.flat().map(rateOf), false);
  return reports.map((report, at) => {
    const bins = all[at] ?? [];
    const start = bins[0]?.from ?? 0;
    const failed = bins.reduce((sum, bin) => sum + markedCount(bin), 0);
    const from =
      bins.length > 0 ? ` From ${new Date(start * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC.` : '';
    return histogramFigure({
      title: titleOf('Throughput', report),
      summary: `Lines that ended per second; those that are not done (${formatCount(failed)}) are marked.${from}`,
      ...{ x, y, badHeading: 'Not done per second' },
      bars: bins.map((bin) => ({
        ...{ from: (bin.from - start) / length, to: (bin.to - start) / length },
        ...{ count: rateOf(bin), bad: rateOf({ ...bin, count: markedCount(bin) }) },
      })),
      labelOf: (left, right) => `${formatNumber(left)} to ${formatNumber(right)} ${unit}`,
    });
  });
}
