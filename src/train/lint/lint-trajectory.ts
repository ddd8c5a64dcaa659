import { getMember, type JsonNode, kindOf, rawText, startOffset } from '../../json/json-node.ts';
import { compareNumberLiterals } from '../../json/number-literal.ts';
import type { FindingCallback } from './lint-findings.ts';
import { lintTokens } from './lint-tokens.ts';

/** Reports the findings of a trajectory; returns its reward as written, if it is a number. */
export function lintTrajectory(
  trajectory: JsonNode,
  nonFiniteOffsets: readonly number[],
  onFinding: FindingCallback,
): string | undefined {
  const reward = getMember(trajectory, 'reward');
  const isNumber = reward !== undefined && !nonFiniteOffsets.includes(startOffset(reward));
  for (const offset of nonFiniteOffsets) {
    const path = reward && startOffset(reward) === offset ? ['reward'] : [];
    onFinding('nan', offset, path, 'NaN and Infinity are not JSON numbers; use null');
  }
  lintPolicyOrder(trajectory, onFinding);
  lintTokens(trajectory, onFinding);
  if (!reward || kindOf(reward) === 'null') onFinding('missing-reward', startOffset(trajectory), [], 'has no reward');
  if (!isNumber || kindOf(reward) !== 'number') return undefined;
  const text = rawText(reward);
  if (!Number.isFinite(Number(text)))
    onFinding('huge-reward', startOffset(reward), ['reward'], 'exceeds the range of a double');
  return text;
}

function lintPolicyOrder(trajectory: JsonNode, onFinding: FindingCallback): void {
  const [initial, final] = ['initial_policy_version', 'final_policy_version'].map((name) =>
    getMember(trajectory, name),
  );
  if (!initial || !final || kindOf(initial) !== 'number' || kindOf(final) !== 'number') return;
  const [before, after] = [rawText(initial), rawText(final)];
  if (compareNumberLiterals(before, after) > 0)
    onFinding(
      'policy-order',
      startOffset(initial),
      ['initial_policy_version'],
      `is ${before}, newer than final_policy_version ${after}`,
    );
}
