/** The kinds of findings, by their names for `--fail-on`, and why each matters for training (docs/internals/servers.md). */
export const lintKinds = {
  'zero-variance': 'all rewards of a group are equal, so there is no training signal',
  'rounded-variance': 'rewards of a group differ, but are equal as doubles, which is how trainers read them',
  'single-trajectory': 'a group has only one trajectory, so there is no training signal',
  'no-groups': 'there is no group, so there is no training signal',
  'empty-group': 'a group has no trajectories',
  'missing-reward': 'a trajectory has no reward',
  nan: 'NaN or Infinity, which are not valid JSON; services reject them',
  'huge-reward': 'a reward exceeds the range of a double',
  'no-logprobs': 'no choice of a trajectory has logprobs, so it cannot be trained on',
  'token-text': 'tokens are not written as token_id:<n> (sample with return_tokens_as_token_ids)',
  'policy-order': 'a trajectory started with a newer policy version than it ended with',
  'mixed-tools': 'trajectories of a group have different tools',
} as const;

export type LintKind = keyof typeof lintKinds;

/** All kinds, in the order they are printed. */
export const lintKindNames = Object.keys(lintKinds).filter((name): name is LintKind => Object.hasOwn(lintKinds, name));
