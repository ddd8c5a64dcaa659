import { pluralize } from '../json/pluralize.ts';
import type { JsonValue } from '../json/write-json.ts';
import { formatCount } from '../output/transfer-text.ts';
import {
  type BatchStatistics,
  type Distribution,
  type DistributionBar,
  type FailureCause,
  sortedCauses,
} from './batch-statistics.ts';
import { formatLineRanges } from './batch-summary.ts';

const MAX_SHOWN_CAUSES = 5;
const BAR_COUNT = 12;

/** Failures of a batch by cause, one per line. */
export function causeLines(statistics: BatchStatistics): string[] {
  const causes = sortedCauses(statistics.causes);
  const moreCauses = causes.length - MAX_SHOWN_CAUSES;
  return [
    ...causes.slice(0, MAX_SHOWN_CAUSES).map(causeLine),
    ...(moreCauses > 0 ? [`and ${moreCauses} more ${pluralize(moreCauses, 'cause')}`] : []),
  ];
}

// Percentiles of fewer responses say nothing.
const MIN_LATENCIES = 10;

/** Token sums and latency of a batch, one per line. */
export function statisticsLines({ latency, promptTokens, completionTokens }: BatchStatistics): string[] {
  return [
    ...(promptTokens.count() + completionTokens.count() > 0
      ? [`tokens: ${formatCount(promptTokens.sum())} in, ${formatCount(completionTokens.sum())} out`]
      : []),
    ...(latency.count() >= MIN_LATENCIES ? [`latency: ${latencyText(latency)}`] : []),
  ];
}

/** The counts of a batch in one line. */
function countsLine({ byStatus: { done, failed, unknown }, retries }: BatchStatistics): string {
  const retriesText = retries > 0 ? `, ${formatCount(retries)} ${pluralize(retries, 'retry', 'retries')}` : '';
  const lines = done + failed + unknown;
  return `${formatCount(lines)} ${pluralize(lines, 'line')}: ${formatCount(done)} done, ${formatCount(failed)} failed, ${formatCount(unknown)} unknown${retriesText}`;
}

/** The report for a terminal of `columns` columns, with histograms. */
export function reportText(statistics: BatchStatistics, columns: number): string {
  const histograms = distributions(statistics).flatMap(({ title, unit, distribution }) =>
    distribution.count() === 0 ? [] : ['', title, ...histogramLines(distribution, unit, columns)],
  );
  const lines = [...causeLines(statistics), ...statisticsLines(statistics)].map((line) => `  ${line}`);
  return `${[countsLine(statistics), ...lines, ...histograms].join('\n')}\n`;
}

/** The report as JSON. */
export function reportJson(statistics: BatchStatistics): { readonly [name: string]: JsonValue } {
  const { byStatus, retries, latency, promptTokens, completionTokens } = statistics;
  const { done, failed, unknown } = byStatus;
  return {
    lines: done + failed + unknown,
    done,
    failed,
    unknown,
    retries,
    failures: sortedCauses(statistics.causes).map(({ cause, count, lines }) => ({ cause, count, first_lines: lines })),
    tokens: { prompt: promptTokens.sum(), completion: completionTokens.sum() },
    latency_ms: Object.fromEntries([
      ...percentiles.map((percent) => [`p${percent}`, latency.percentile(percent)]),
      ['max', latency.max()],
    ]),
  };
}

/** The distributions of a report with their titles and units. */
export function distributions({ latency, promptTokens, completionTokens }: BatchStatistics): readonly {
  readonly title: string;
  readonly unit: string;
  readonly distribution: Distribution;
}[] {
  return [
    { title: 'Latency', unit: 'ms', distribution: latency },
    { title: 'Prompt tokens per line', unit: '', distribution: promptTokens },
    { title: 'Completion tokens per line', unit: '', distribution: completionTokens },
  ];
}

/** Percentiles and maximum of a latency. */
export function latencyText(latency: Distribution): string {
  const [p50 = 0, p90 = 0, p99 = 0] = percentiles.map(latency.percentile);
  return `p50 ${p50} ms, p90 ${p90} ms, p99 ${p99} ms, max ${latency.max()} ms`;
}

const percentiles = [50, 90, 99];

function causeLine({ cause, count, lines }: FailureCause): string {
  const more = count > lines.length ? ', …' : '';
  return `${formatCount(count)} × ${cause} (${pluralize(lines.length, 'line')} ${formatLineRanges(lines)}${more})`;
}

/** The values that a bar counts: `10-19 ms`, or `11 ms` for a single value. */
export function barLabel({ from, to }: DistributionBar, unit: string): string {
  return `${from}${to - from > 1 ? `-${to - 1}` : ''}${unit && ` ${unit}`}`;
}

function histogramLines(distribution: Distribution, unit: string, columns: number): string[] {
  const bars = distribution.bars(BAR_COUNT);
  const highest = Math.max(...bars.map(({ count }) => count));
  const labels = bars.map((bar) => barLabel(bar, unit));
  const labelWidth = Math.max(...labels.map((label) => label.length));
  const countWidth = formatCount(highest).length;
  const barWidth = Math.max(8, Math.min(60, columns - labelWidth - countWidth - 6));
  return bars.map(({ count }, at) => {
    const bar = '█'.repeat(count === 0 ? 0 : Math.max(1, Math.round((count / highest) * barWidth)));
    return `  ${(labels[at] ?? '').padStart(labelWidth)}  ${formatCount(count).padStart(countWidth)} ${bar}`.trimEnd();
  });
}
