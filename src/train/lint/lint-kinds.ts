/** What lint finds, by the names of `--fail-on`: why each matters to who trains on it (SERVERS.md, training-jobs). */
export const lintKinds = {
  'zero-variance': 'all rewards of a group are equal, so nothing can be learned from it',
  'rounded-variance': 'rewards of a group differ, but not as doubles, which is how trainers read them',
  'single-trajectory': 'a group of one has nothing to compare with, so nothing can be learned from it',
  'empty-group': 'a group has no trajectories',
  'missing-reward': 'a trajectory has no reward',
  nan: 'NaN or Infinity, which are no JSON; no service can read them',
  'huge-reward': 'a reward is beyond what a double can hold',
  'no-logprobs': 'no choice of a trajectory has logprobs, so it cannot be trained on',
  'token-text': 'tokens are not written as token_id:<n> (sample with return_tokens_as_token_ids)',
  'policy-order': 'a trajectory began with a newer policy than it ended with',
  'mixed-tools': 'trajectories of a group had different tools',
} as const;

export type LintKind = keyof typeof lintKinds;

/** The name of a kind, if it is one. */
export function findLintKind(name: string): LintKind | undefined {
  return lintKindNames.find((kind) => kind === name);
}

/** All kinds, in the order they are told. */
export const lintKindNames = Object.keys(lintKinds).filter(isLintKind);

function isLintKind(name: string): name is LintKind {
  return Object.hasOwn(lintKinds, name);
}
