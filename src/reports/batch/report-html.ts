import { formatLineRanges } from '../../files/split-lines.ts';
import { factLines } from '../../operations/received-facts.ts';
import { formatCount, formatMilliseconds, formatNumber, pluralize } from '../../output/transfer-text.ts';
import { chartFigure, logAxis, valueAxis } from '../charts.ts';
import { figureList, type Markup, reportPage, reportSection, tableOf } from '../report-page.ts';
import { type BatchReport, type Comparison, lineChanges } from './batch-report.ts';
import { sliceTime, sortedCauses } from './batch-statistics.ts';
import {
  barEdges,
  changeLines,
  comparedFigures,
  distributions,
  figures,
  figureText,
  formatShare,
  heldRows,
  passRate,
  percentiles,
} from './report-text.ts';

const BAR_COUNT = 30;

export function reportHtml(report: BatchReport): string {
  const expectations = Array.from(report.expectations, ([flag, counts]): Markup[] => {
    const value = passRate(counts);
    const meter: Markup = ['meter', { value, 'aria-label': `Passed ${flag}` }];
    const passed = `${formatCount(counts.passed)} of ${formatCount(counts.passed + counts.failed)}`;
    return [flag, passed, ['span', {}, [meter, ` ${formatShare(value)}`]]];
  });
  return reportPage('Batch report', [
    ['p', { class: 'muted' }, report.name],
    figureList(figures.map((figure) => [figure.label, figureText(figure, report)])),
    ...reportSection(
      'Responses',
      factLines(report.statistics.totals).map((line): Markup => ['p', {}, [line]]),
    ),
    charts([report]),
    ...reportSection('Expectations', tableOf(['Expectation', 'Passed', 'Pass rate'], expectations)),
    ...details(report),
  ]);
}

/** Two reports side by side, and the lines that changed, as one HTML page. */
export function comparisonHtml(reports: readonly [BatchReport, BatchReport], comparison: Comparison): string {
  const names = reports.map(({ name }) => name);
  return reportPage('Batch comparison', [
    ...tableOf(['Figure', ...names, 'Change'], comparedFigures(reports)),
    ...changeLines(reports, comparison).map((line): Markup => ['p', {}, line]),
    charts(reports),
    ...lineChanges.flatMap(([change, text]) => {
      const rows = comparison.changes[change].values().map(({ line, before, after }) => [`${line}`, before, after]);
      return reportSection(`Lines that ${text}`, tableOf(['Line', ...names], rows));
    }),
    ...reports.flatMap((report): Markup[] => [['h2', {}, report.name], ...details(report)]),
  ]);
}

type Sample = ReturnType<BatchReport['failures']['values']>[number];

function details({ statistics, failures, responses, prompts }: BatchReport): Markup[] {
  const causes = sortedCauses(statistics).map(({ cause, count, lines }) => [
    ...[formatCount(count), cause, formatLineRanges(lines)],
  ]);
  // Ids and inputs have columns if some line has them.
  const samples = (lines: BatchReport['failures']): Markup[] => {
    const all = lines.values();
    const columns = [
      ['Line', ({ line }: Sample) => `${line}`],
      ...(all.some(({ id }) => id) ? [['Id', ({ id }: Sample) => id] as const] : []),
      ...(all.some(({ line }) => prompts.has(line))
        ? [['Input', ({ line }: Sample) => prompts.get(line) ?? ''] as const]
        : []),
      ['Text', ({ text }: Sample) => text],
    ] as const;
    return tableOf(
      columns.map(([heading]) => heading),
      all.map((sample) => columns.map(([, cell]) => cell(sample))),
    );
  };
  return [
    ...reportSection('Held back by', tableOf(['What requests waited for', 'Requests'], heldRows(statistics))),
    ...reportSection('Failures by cause', tableOf(['Lines', 'Cause', 'First lines'], causes)),
    ...reportSection('Samples of failures', samples(failures)),
    ...reportSection('Samples of responses', samples(responses)),
  ];
}

// The charts of several reports have the same scales.
function charts(reports: readonly BatchReport[]): Markup {
  const [latency = [], ...tokens] = distributions.map(({ title, unit, of }) => {
    const all = reports.map(({ statistics }) => of(statistics));
    if (all.every(({ count }) => count() === 0)) return [];
    const edges = barEdges(all, unit, BAR_COUNT);
    const [first = 0, second = 0, last = 0] = [edges[0], edges[1], edges.at(-1)];
    const format = unit === '' ? formatNumber : formatMilliseconds;
    const isSingle = edges.length === 2 && last - first === 1;
    const bars = all.map((distribution) => distribution.bars(edges));
    const x =
      unit === '' || isSingle
        ? valueAxis(title, isSingle ? [first] : [first, last], true, format)
        : logAxis(title, first || second / 1.25, last, format);
    const highest = Math.max(...bars.flat().map(({ count }) => count));
    return all.map(({ count, sum, max, percentile }, at) =>
      chartFigure({
        title: titleOf(title, reports, at),
        summary: `${formatCount(count())} ${pluralize(count(), 'line')}${unit === '' ? `, ${formatNumber(sum())} in all` : ''}, ${isSingle ? 'each' : 'at most'} ${format(max())}.`,
        ...{ x, yLabel: 'Lines', bars: bars[at] ?? [], highest },
        marks: (isSingle ? [] : percentiles).map((percent) => {
          const value = percentile(percent);
          return { value, label: `p${percent} ${format(value)}` };
        }),
      }),
    );
  });
  return [
    'div',
    { class: `charts ${reports.length > 1 ? 'pairs' : ''}` },
    [...latency, ...timelines(reports), ...tokens.flat()],
  ];
}

function titleOf(title: string, reports: readonly BatchReport[], at: number): string {
  return reports.length > 1 ? `${title}: ${reports[at]?.name}` : title;
}

const timeUnits = [
  ['s', 1, 180],
  ['min', 60, 10_800],
  ['h', 3600, Number.POSITIVE_INFINITY],
] as const;

function timelines(reports: readonly BatchReport[]): Markup[] {
  const all = reports.map(({ statistics }) => sliceTime(statistics));
  const seconds = Math.max(...all.map((slices) => (slices.at(-1)?.to ?? 0) - (slices[0]?.from ?? 0)));
  const [unit, length] = timeUnits.find(([, , limit]) => seconds < limit) ?? timeUnits[0];
  const x = valueAxis(`Time since the first request (${unit})`, [0, seconds / length]);
  const highest = Math.max(...all.flat().map(({ perSecond }) => perSecond));
  const mostInFlight = Math.max(...all.flat().map(({ inFlight }) => inFlight));
  const charts = all.map((slices, at) => {
    const start = slices[0]?.from ?? 0;
    const time = new Date(start * 1000).toISOString().slice(0, 19).replace('T', ' ');
    const from = slices.length > 0 ? ` From ${time} UTC.` : '';
    const failed = reports[at]?.statistics.notDone.count() ?? 0;
    const bars = slices.map((slice) => {
      const place = { from: (slice.from - start) / length, to: (slice.to - start) / length };
      return { ...slice, ...place, count: slice.perSecond, bad: slice.notDonePerSecond };
    });
    const throughput = chartFigure({
      title: titleOf('Throughput', reports, at),
      summary: `Lines that ended per second; those that are not done (${formatCount(failed)}) are marked.${from}`,
      ...{ x, yLabel: 'Lines per second', badLabel: 'Not done per second', highest, bars },
    });
    const inFlight = chartFigure({
      title: titleOf('Requests in flight', reports, at),
      summary: `The mean of each bar, at most ${formatNumber(Math.max(0, ...bars.map((bar) => bar.inFlight)))}.${from}`,
      ...{ x, yLabel: 'Requests', highest: mostInFlight },
      bars: bars.map((bar) => ({ from: bar.from, to: bar.to, count: bar.inFlight })),
    });
    return { throughput, inFlight };
  });
  // Of each kind, those of several reports beside each other.
  return [...charts.map(({ throughput }) => throughput), ...charts.map(({ inFlight }) => inFlight)];
}
