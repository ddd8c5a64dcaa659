import { formatByteSize } from '../../files/byte-size.ts';
import { pluralize } from '../../json/pluralize.ts';
import { type JsonValue, RawJson } from '../../json/write-json.ts';
import { formatPlace } from '../../output/failure-text.ts';
import { formatNumber } from '../../output/transfer-text.ts';
import { alignColumns } from '../../results/format-rows.ts';
import { type Distribution, markedCount, plotBars } from '../distribution.ts';
import { type LintKind, lintKindNames, lintKinds } from './lint-kinds.ts';
import type { LintResult } from './linter.ts';
import { type LintFindings, type LintSummary, standardDeviation } from './summary.ts';

const MAX_HISTOGRAM_BINS = 12;

/** Distribution of a chart, in the page and with `--plot`. */
export const MAX_CHART_BINS = 24;

// Per kind; --json has more.
const MAX_FINDINGS_SHOWN = 5;

/** The result of lint for people: statistics, and the first few findings of each kind; with a plot, also that of the groups. */
export function lintText({ summary }: LintResult, columns: number, hasPlot: boolean): string {
  const { bytes, groups, untrainableGroups } = summary;
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
  return [
    alignColumns(facts),
    ...(hasPlot
      ? [
          sectionText('Trajectories by reward, from', histogramText(summary.histogram, MAX_CHART_BINS, columns)),
          sectionText(
            'Groups by the standard deviation of their rewards, from (░ without a difference)',
            histogramText(summary.deviations, MAX_CHART_BINS, columns),
          ),
        ]
      : [histogramText(summary.histogram, MAX_HISTOGRAM_BINS, columns)]),
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

export function rewardsText({ rewardedGroups, rewards, deviationSum }: LintSummary): string {
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
