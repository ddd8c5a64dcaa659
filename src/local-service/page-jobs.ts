import { Buffer } from 'node:buffer';
import type { ExchangeSignal } from '../http/message.ts';
import { getMember, type JsonNode, kindOf, rawText } from '../json/json-node.ts';
import { type JsonValue, RawJson } from '../json/write-json.ts';
import { createDistribution } from '../results/distribution.ts';
import { createLinter } from '../train/lint/linter.ts';
import { MAX_CHART_BINS } from '../train/lint/report.ts';
import { lintMarkup } from '../train/lint/report-html.ts';
import { addReward, createRewardStats, isTrainable } from '../train/lint/summary.ts';
import { yieldToEventLoop } from './event-loop.ts';
import { readStoredTrajectories } from './store/page-queries.ts';
import type { ServiceStore } from './store/service-store.ts';

/** The rewards of a job in the order of its trajectories, for its row in the list of jobs. */
export function createJobRewards() {
  const rewards = createRewardStats();
  const histogram = createDistribution();
  let [groups, untrainable, trajectories] = [0, 0, 0];
  let groupRewards = createRewardStats();
  const closeGroup = (): void => {
    if (groups > 0 && !isTrainable({ rewards: groupRewards })) untrainable += 1;
    groupRewards = createRewardStats();
  };
  return {
    addGroup: (): void => {
      closeGroup();
      groups += 1;
    },
    add: (trajectory: JsonNode): void => {
      trajectories += 1;
      const reward = getMember(trajectory, 'reward');
      if (!reward || kindOf(reward) !== 'number') return;
      const text = rawText(reward);
      addReward(rewards, text);
      addReward(groupRewards, text);
      if (Number.isFinite(Number(text))) histogram.add(Number(text));
    },
    finish: (): JsonValue => {
      closeGroup();
      const { count, finiteCount, mean, min, max } = rewards;
      const range = count === 0 ? {} : { min: new RawJson(min), max: new RawJson(max) };
      const bars = histogram.bins(MAX_CHART_BINS).map((bin) => bin.count);
      return {
        groups,
        'without signal': untrainable,
        trajectories,
        rewards: count,
        ...(finiteCount > 0 ? { mean } : {}),
        ...range,
        bars,
      };
    },
  };
}

/** What `svc train lint --html` shows, of all stored trajectories of a job. */
export async function lintJob(
  store: Pick<ServiceStore, 'readRows'>,
  jobId: string,
  signal: ExchangeSignal | undefined,
): Promise<JsonValue> {
  const { read, finish } = createLinter(undefined);
  await read('', groupTexts(store, jobId, signal), 'groups');
  return new RawJson(JSON.stringify(lintMarkup(finish())));
}

// Groups as a file has them, the empty ones before others included.
async function* groupTexts(store: Pick<ServiceStore, 'readRows'>, jobId: string, signal: ExchangeSignal | undefined) {
  let group = -1;
  for await (const rows of readStoredTrajectories(store, jobId)) {
    let text = '';
    for (const row of rows) {
      if (group === Number(row.group_index)) text += ',';
      for (; group < Number(row.group_index); group += 1) text += `${group < 0 ? '' : ']}'}{"trajectories":[`;
      text += String(row.trajectory);
    }
    yield Buffer.from(text);
    await yieldToEventLoop(signal);
  }
  if (group >= 0) yield Buffer.from(']}');
}
