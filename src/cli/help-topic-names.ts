/** The topics of `svc help` beside the commands. Kept apart from their texts, which only help loads. */
export const helpTopicNames = [
  'bodies',
  'batch',
  'exit-codes',
  'environment',
  'formatting',
  'profiles',
  'retries',
  'training',
  'tracing',
  'local-service',
] as const;
