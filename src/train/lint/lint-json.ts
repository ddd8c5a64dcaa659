import { type JsonValue, RawJson } from '../../json/write-json.ts';
import { lintKindNames } from './lint-kinds.ts';
import { MAX_HISTOGRAM_BINS } from './lint-text.ts';
import type { LintResult } from './linter.ts';
import { standardDeviation } from './reward-stats.ts';

/** The result of lint as one JSON object; minimum and maximum rewards keep every digit. */
export function lintJson({ summary, problems }: LintResult): JsonValue {
  const { bytes, groups, trajectories, untrainableGroups, rewards, largest, findings } = summary;
  return {
    bytes,
    groups,
    trajectories,
    trajectories_per_group: perGroup(summary),
    idle_groups: untrainableGroups,
    rewards: {
      count: rewards.count,
      mean: rewards.finiteCount === 0 ? null : rewards.mean,
      spread: rewards.finiteCount === 0 ? null : standardDeviation(rewards),
      spread_within_groups: summary.rewardedGroups === 0 ? null : summary.deviationSum / summary.rewardedGroups,
      min: rewards.count === 0 ? null : new RawJson(rewards.min),
      max: rewards.count === 0 ? null : new RawJson(rewards.max),
      histogram: summary.histogram.bins(MAX_HISTOGRAM_BINS).map((bar) => ({ ...bar })),
    },
    largest: largest.all.map((one) => ({ ...one })),
    counts: Object.fromEntries(lintKindNames.map((kind) => [kind, findings.count(kind)])),
    findings: lintKindNames.flatMap(findings.examplesOf).map((finding) => ({ ...finding })),
    problems: problems.map(({ level, at, path, message }) => ({ level, at, path, message })),
  };
}

function perGroup(summary: LintResult['summary']): JsonValue {
  const { completeGroups, groupedTrajectories, minPerGroup, maxPerGroup } = summary;
  if (completeGroups === 0) return null;
  return { min: minPerGroup, mean: groupedTrajectories / completeGroups, max: maxPerGroup };
}
