import { sortIssuesByLocation } from '../../body/body-check.ts';
import type { Place } from '../../errors.ts';
import { observeChunks } from '../../http/body-chunks.ts';
import { OPEN_OBJECT } from '../../json/json-bytes.ts';
import {
  formatJsonPath,
  getMember,
  type JsonNode,
  type JsonPath,
  kindOf,
  membersOf,
  nodeAtPath,
  rawText,
  stringOf,
} from '../../json/json-node.ts';
import { compareNumberLiterals } from '../../json/number-literal.ts';
import { createTrajectoryChecks } from '../../train/stream/checks.ts';
import { readTrajectories, type TextForm, type TrajectoryPart } from '../../train/stream/reader.ts';
import {
  createEnvelope,
  InvalidTextError,
  locationInside,
  type TextLocation,
} from '../../train/stream/text-position.ts';
import { createDistribution, createSpacedSample } from '../distribution.ts';
import type { LintKind } from './lint-kinds.ts';
import { checkAllowingNonFinite, createToolsHasher, lintTrajectory, truncateText } from './lint-trajectory.ts';

/** The findings of some texts, and the problems that `svc train` reports: errors and warnings, in the order of the texts. */
export type LintResult = ReturnType<ReturnType<typeof createLinter>['finish']>;

/**
 * Checks trajectories as they stream by; with a path, they are grouped by the value there. It holds one at a time, and a few
 * statistics of each open group. `onBytes` gets the number of bytes read.
 */
export function createLinter(path: JsonPath | undefined, onBytes: (bytes: number) => void = () => {}) {
  const checks = createTrajectoryChecks(path);
  const summary = createLintSummary();
  const hashTools = createToolsHasher();
  const labels: string[] = [];
  // Of these, the texts of which some lines, or all that follow an error, were not read.
  const skippedLabels = new Set<string>();
  const cutLabels: string[] = [];
  // A trajectory that lacks the value of its group.
  let hasUngrouped = false;
  // The groups with an invalid trajectory: what is said about whole groups would be said about a part.
  const brokenGroups = new Set<number>();
  // The groups that may still get trajectories: the current one, or all with `--group-by`.
  const openGroups = new Map<number, GroupStats>();
  const getOrOpenGroup = (index: number, label: string, location: TextLocation): GroupStats => {
    const open = openGroups.get(index);
    if (open) return open;
    const group = createGroupStats(index, label, location);
    openGroups.set(index, group);
    return group;
  };
  const closeGroups = (note = ''): void => {
    for (const group of openGroups.values()) if (!brokenGroups.has(group.index)) countGroup(summary, group, note);
    openGroups.clear();
  };

  const lintEvent = (event: TrajectoryPart, label: string): void => {
    const { bytes, location, container } = event;
    const { root, nonFiniteOffsets, syntaxError } = checkAllowingNonFinite(event, label, checks);
    if (syntaxError) checks.addReadError(syntaxError, label, '');
    const index = container === 'in a group' ? checks.lastGroup() : checks.assignedGroup();
    if (index === undefined) {
      hasUngrouped = true;
      return;
    }
    const group = getOrOpenGroup(index, label, location);
    const place = ['trajectory_groups', index, 'trajectories', group.count];
    const facts = lintTrajectory(root, nonFiniteOffsets, (kind, offset, fieldPath, message) =>
      summary.findings.add(kind, () => ({
        at: { label, ...locationInside(bytes, location, offset) },
        path: formatJsonPath([...place, ...fieldPath]),
        message,
      })),
    );
    const task = group.count === 0 ? taskOf(root, path) : '';
    addTrajectory(group, facts.reward, hashTools(root), task);
    countTrajectory(summary, facts);
    summary.largest.add(bytes.length, () => ({ at: { label, ...location }, path: formatJsonPath(place) }));
  };

  const countBytes = (chunk: Uint8Array): void => {
    summary.bytes += chunk.length;
    onBytes(summary.bytes);
  };
  const read = async (label: string, chunks: AsyncIterable<Uint8Array>, form: TextForm): Promise<void> => {
    const onInvalid = (error: InvalidTextError): void => {
      checks.addReadError(error, label, '');
      skippedLabels.add(label);
      brokenGroups.add(checks.lastGroup());
    };
    for await (const events of readTrajectories(observeChunks(chunks, countBytes), form, onInvalid)) {
      for (const event of events) {
        try {
          if (event.kind === 'trajectory') lintEvent(event, label);
          else checks.checkEvent(event, label);
        } catch (error) {
          // What is not even an object is another kind of text.
          const isObject = event.kind !== 'trajectory' || event.bytes[0] === OPEN_OBJECT;
          if (!(error instanceof InvalidTextError && isObject)) throw error;
          onInvalid(error);
        }
        if (event.kind === 'group') getOrOpenGroup(checks.lastGroup(), label, event.location);
        if (event.kind === 'end' && !path) closeGroups();
      }
    }
    if (form === 'body') createEnvelope(checks.bodyParts).parse();
  };

  return {
    /** Reads all chunks of a text; `label` is its name in messages. */
    read: async (label: string, chunks: AsyncIterable<Uint8Array>, form: TextForm): Promise<void> => {
      labels.push(label);
      try {
        await read(label, chunks, form);
      } catch (error) {
        if (!(error instanceof InvalidTextError)) throw error;
        checks.addReadError(error, label, '');
        cutLabels.push(label);
        // The rest of an incomplete group is unknown.
        if (!path) openGroups.clear();
      }
    },
    /** The result, once all texts were read; `hint` says how to fix the structure errors, if svc knows. */
    finish: () => {
      const [firstLabel = ''] = labels;
      const structureErrors = checks.structureErrors();
      // Groups of the input and those of `path` have the same indexes.
      if (path && checks.lastGroup() >= 0) openGroups.clear();
      const isPartial = path && (hasUngrouped || skippedLabels.size + cutLabels.length > 0);
      closeGroups(isPartial ? '; skipped trajectories may belong to it' : '');
      summary.groups = checks.groupCount();
      if (summary.groups === 0 && structureErrors.length === 0)
        summary.findings.add('no-groups', () => ({
          at: { label: firstLabel },
          path: 'trajectory_groups',
          message: 'contains no group',
        }));
      return {
        summary,
        problems: sortIssuesByLocation([...structureErrors, ...checks.findings()], labels),
        hint: checks.hint(),
        skippedLabels,
        cutLabels,
      };
    },
  };
}

const TASK_KEY = /^(?:task|scenario|problem)(?:[_-]?(?:id|name))?$/i;

// The value that trajectories are grouped by, else the task that their metadata names.
function taskOf(trajectory: JsonNode, path: JsonPath | undefined): string {
  const metadata = getMember(trajectory, 'metadata');
  const named = path
    ? nodeAtPath(trajectory, path)
    : metadata && Array.from(membersOf(metadata)).find(({ key }) => TASK_KEY.test(key))?.value;
  if (!named || !['string', 'number'].includes(kindOf(named))) return '';
  return truncateText(kindOf(named) === 'string' ? stringOf(named) : rawText(named));
}

/** Statistics of rewards: `min` and `max` exact, as written; the others doubles over the `finiteCount` rewards that are doubles. */
export type RewardStats = ReturnType<typeof createRewardStats>;

export function createRewardStats() {
  return { count: 0, min: '', max: '', finiteCount: 0, mean: 0, squaredDeviations: 0 };
}

export function addReward(rewards: RewardStats, text: string): void {
  const value = Number(text);
  const { min, max } = rewards;
  rewards.count += 1;
  if (rewards.count === 1) Object.assign(rewards, { min: text, max: text });
  // Doubles are compared first, because that is fast.
  else if (text !== min && text !== max && !(value > Number(min) && value < Number(max))) {
    if (compareNumberLiterals(text, min) < 0) rewards.min = text;
    else if (compareNumberLiterals(text, max) > 0) rewards.max = text;
  }
  if (!Number.isFinite(value)) return;
  rewards.finiteCount += 1;
  // Welford's algorithm, which stays accurate for close rewards far from zero; with halves, because the difference of two
  // doubles can exceed the range of a double.
  const half = value / 2 - rewards.mean / 2;
  rewards.mean += 2 * (half / rewards.finiteCount);
  rewards.squaredDeviations += 2 * half * (value - rewards.mean);
}

/** The population standard deviation, a double. */
export function standardDeviation({ finiteCount, squaredDeviations }: RewardStats): number {
  return finiteCount === 0 ? 0 : Math.sqrt(squaredDeviations / finiteCount);
}

/** `equal`: all rewards are equal to the last digit; `rounded`: equal as doubles only. */
export function classifyVariance({ min, max }: RewardStats): 'equal' | 'rounded' | 'different' {
  if (min === max || compareNumberLiterals(min, max) === 0) return 'equal';
  return Number(min) === Number(max) ? 'rounded' : 'different';
}

/** True for rewards of a group of which two differ as doubles. */
export function isTrainable(rewards: RewardStats): boolean {
  return rewards.count > 1 && classifyVariance(rewards) === 'different';
}

/** Statistics of a group so far; small, because many groups may be open at a time. */
type GroupStats = ReturnType<typeof createGroupStats>;

/** `index` is its position among all groups, from 0. */
function createGroupStats(index: number, label: string, location: TextLocation) {
  // `tools` is the hash of the tools of its first trajectory, and `task` its task.
  const [tools, task] = ['', ''];
  return { index, label, location, task, count: 0, rewards: createRewardStats(), tools, hasMixedTools: false };
}

function addTrajectory(group: GroupStats, reward: string | undefined, tools: string, task = ''): void {
  if (group.count === 0) Object.assign(group, { tools, task });
  else if (tools !== group.tools) group.hasMixedTools = true;
  group.count += 1;
  if (reward !== undefined) addReward(group.rewards, reward);
}

/** Statistics of all groups; memory does not grow with their number. */
export type LintSummary = ReturnType<typeof createLintSummary>;

const MAX_SAMPLED_GROUPS = 240;

function createLintSummary() {
  return {
    bytes: 0,
    groups: 0,
    trajectories: 0,
    // The groups that were read to their end, and the trajectories in them: the text may be cut in the last one.
    completeGroups: 0,
    groupedTrajectories: 0,
    minPerGroup: Number.POSITIVE_INFINITY,
    maxPerGroup: 0,
    // Groups without a training signal: fewer than two rewards, or all equal.
    untrainableGroups: 0,
    // The complete groups with finite rewards, and the sum of the standard deviations within them.
    rewardedGroups: 0,
    deviationSum: 0,
    rewards: createRewardStats(),
    histogram: createDistribution(),
    // Standard deviations of the groups with two or more rewards; the mean of a bin is its part of untrainable ones.
    deviations: createDistribution(),
    // Rewards by the position of their trajectory, and by its policy version.
    byPosition: createDistribution(1),
    byPolicy: createDistribution(1),
    tokens: createDistribution(1),
    messages: createDistribution(1),
    groupSample: createSpacedSample<GroupStats>(MAX_SAMPLED_GROUPS),
    largest: createLargestTrajectories(),
    findings: createLintFindings(),
  };
}

function countTrajectory(
  summary: LintSummary,
  { reward, policyVersion, tokens, messages }: ReturnType<typeof lintTrajectory>,
): void {
  const position = summary.trajectories;
  summary.trajectories += 1;
  summary.tokens.add(tokens);
  summary.messages.add(messages);
  if (reward === undefined) return;
  addReward(summary.rewards, reward);
  const value = Number(reward);
  if (!Number.isFinite(value)) return;
  summary.histogram.add(value);
  summary.byPosition.add(position, value);
  if (policyVersion !== undefined && Number.isFinite(policyVersion)) summary.byPolicy.add(policyVersion, value);
}

/** Adds a group and its findings, whose messages end with `note`. */
function countGroup(summary: LintSummary, group: GroupStats, note: string): void {
  summary.completeGroups += 1;
  summary.groupedTrajectories += group.count;
  summary.minPerGroup = Math.min(summary.minPerGroup, group.count);
  summary.maxPerGroup = Math.max(summary.maxPerGroup, group.count);
  const { rewards, count: size } = group;
  const { count, finiteCount } = rewards;
  const [deviation, isUntrainable] = [standardDeviation(rewards), !isTrainable(rewards)];
  summary.deviationSum += deviation;
  if (finiteCount > 0) summary.rewardedGroups += 1;
  if (isUntrainable) summary.untrainableGroups += 1;
  // Of the largest doubles, it exceeds the range of a double.
  if (finiteCount > 0 && finiteCount === count && Number.isFinite(deviation)) {
    summary.groupSample.add(() => group);
    if (count > 1) summary.deviations.add(deviation, isUntrainable ? 1 : 0);
  }
  const add = (kind: LintKind, message: string): void =>
    summary.findings.add(kind, () => {
      const path = formatJsonPath(['trajectory_groups', group.index]);
      const task = group.task === '' ? '' : ` (task ${group.task})`;
      return { at: { label: group.label, ...group.location }, path, message: `${message}${task}${note}` };
    });
  if (size === 0) add('empty-group', 'has no trajectories');
  if (size === 1) add('single-trajectory', 'has only one trajectory, so there is nothing to compare it with');
  if (count > 1 && isUntrainable) {
    const subject = count === 2 ? 'both rewards' : `all ${count} rewards`;
    const [min, max] = [truncateText(rewards.min), truncateText(rewards.max)];
    if (classifyVariance(rewards) === 'equal') add('zero-variance', `${subject} are ${min}`);
    else add('rounded-variance', `${subject} are the same double, from ${min} to ${max}`);
  }
  if (group.hasMixedTools) add('mixed-tools', 'its trajectories have different tools');
}

/** A place in the texts, and in the body: `trajectory_groups[3].trajectories[17].reward`. */
interface LintPlace {
  readonly at: Place;
  readonly path: string;
}

/** The findings of each kind: how many there are, and the first 100. */
export type LintFindings = ReturnType<typeof createLintFindings>;

const MAX_EXAMPLES_PER_KIND = 100;

function createLintFindings() {
  type Finding = LintPlace & { readonly kind: LintKind; readonly message: string };
  const findingsByKind = new Map<LintKind, { count: number; readonly examples: Finding[] }>();
  return {
    /** Calls `describe` only for findings that are kept. */
    add: (kind: LintKind, describe: () => Omit<Finding, 'kind'>): void => {
      const same = findingsByKind.get(kind) ?? { count: 0, examples: [] };
      findingsByKind.set(kind, same);
      same.count += 1;
      if (same.count <= MAX_EXAMPLES_PER_KIND) same.examples.push({ kind, ...describe() });
    },
    examplesOf: (kind: LintKind): readonly Finding[] => findingsByKind.get(kind)?.examples ?? [],
    count: (kind: LintKind) => findingsByKind.get(kind)?.count ?? 0,
  };
}

const MAX_LARGEST_TRAJECTORIES = 5;

// The largest trajectories, largest first; of equal sizes, the earlier first.
function createLargestTrajectories() {
  const all: (LintPlace & { readonly bytes: number })[] = [];
  return {
    all,
    /** Calls `describe` only for a trajectory that is among them. */
    add: (bytes: number, describe: () => LintPlace): void => {
      const index = all.findLastIndex((one) => one.bytes >= bytes) + 1;
      if (index === MAX_LARGEST_TRAJECTORIES) return;
      all.splice(index, 0, { ...describe(), bytes });
      all.length = Math.min(all.length, MAX_LARGEST_TRAJECTORIES);
    },
  };
}
