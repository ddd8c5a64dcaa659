import { type Json, RawJson } from '../../json/write.ts';
import { kindNames } from '../../lint/kinds.ts';
import type { Linted } from '../../lint/lint.ts';
import { spreadOf } from '../../lint/rewards.ts';
import { BARS } from './text.ts';

/** What was found, as one JSON object; the extremes of rewards as they are written, so that no digit is lost. */
export function lintJson({ summary, broken, judged }: Linted): Json {
  const { bytes, groups, trajectories, idle, rewards, largest, findings } = summary;
  return {
    bytes,
    groups,
    trajectories,
    trajectories_per_group: perGroup(summary),
    idle_groups: idle,
    rewards: {
      count: rewards.count,
      mean: rewards.finite === 0 ? null : rewards.mean,
      spread: rewards.finite === 0 ? null : spreadOf(rewards),
      spread_within_groups: groups === 0 ? null : summary.spreads / groups,
      min: rewards.count === 0 ? null : new RawJson(rewards.least),
      max: rewards.count === 0 ? null : new RawJson(rewards.greatest),
      histogram: summary.histogram.bars(BARS).map((bar) => ({ ...bar })),
    },
    largest: largest.all.map((one) => ({ ...one })),
    counts: Object.fromEntries(kindNames.map((kind) => [kind, findings.count(kind)])),
    findings: kindNames.flatMap(findings.told).map((finding) => ({ ...finding })),
    problems: [...broken, ...judged].map(({ level, at, path, message }) => ({ level, at, path, message })),
  };
}

function perGroup({ groups, trajectories, fewest, most }: Linted['summary']): Json {
  return groups === 0 ? null : { min: fewest, mean: trajectories / groups, max: most };
}
