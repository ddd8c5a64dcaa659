/** The limits of the local service beyond those of the operations; the reference lists them. */
export const serviceLimits = {
  /** For all headers of a request. */
  headMs: 10_000,
  /** For the next bytes of a body; responses may take any time. */
  bodyMs: 60_000,
  /** For requests in flight after SIGTERM, unless `--drain` is given. */
  drainMs: 5000,
  /** On average over each `bodyMs`. */
  minBodyBytesPerSecond: 1024,
  connections: 1024,
  choices: 128,
  minTokens: 32_768,
  topLogprobs: 100,
  /** Tokens times choices, stops and alternatives. */
  tokenVisits: 2_000_000,
  /** A larger database is opened without a check of its integrity. */
  checkedDatabaseBytes: 32 * 1024 * 1024,
} as const;
