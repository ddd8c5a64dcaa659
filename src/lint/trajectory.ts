import { type JsonNode, kindOf, member, startOf, textOf } from '../json/node.ts';
import { compareNumbers } from '../json/number.ts';
import type { Remark } from './findings.ts';
import { examineTokens } from './tokens.ts';

/** The reward of a trajectory as it is written, if it is a number; what is wrong with it and the rest is remarked. */
export function examineTrajectory(
  trajectory: JsonNode,
  notNumbers: readonly number[],
  remark: Remark,
): string | undefined {
  const reward = member(trajectory, 'reward');
  const isNumber = reward !== undefined && !notNumbers.includes(startOf(reward));
  for (const offset of notNumbers) {
    const path = reward && startOf(reward) === offset ? ['reward'] : [];
    remark('nan', offset, path, 'NaN or Infinity is not JSON; use null or a number');
  }
  comparePolicies(trajectory, remark);
  examineTokens(trajectory, remark);
  if (!reward || kindOf(reward) === 'null') remark('missing-reward', startOf(trajectory), [], 'has no reward');
  if (!isNumber || kindOf(reward) !== 'number') return undefined;
  const text = textOf(reward);
  if (!Number.isFinite(Number(text))) remark('huge-reward', startOf(reward), ['reward'], 'is beyond a double');
  return text;
}

function comparePolicies(trajectory: JsonNode, remark: Remark): void {
  const [initial, final] = ['initial_policy_version', 'final_policy_version'].map((name) => member(trajectory, name));
  if (!initial || !final || kindOf(initial) !== 'number' || kindOf(final) !== 'number') return;
  const [before, after] = [textOf(initial), textOf(final)];
  if (compareNumbers(before, after) > 0)
    remark(
      'policy-order',
      startOf(initial),
      ['initial_policy_version'],
      `is ${before}, newer than the final one, ${after}`,
    );
}
