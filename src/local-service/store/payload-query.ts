/** Which payloads to sample. */
export interface PayloadQuery {
  readonly project: string;
  /** The window in milliseconds since 1970: start inclusive, end exclusive. */
  readonly window: readonly [start: number, end: number];
  readonly type: string | undefined;
  /** A trigger, or a prefix of several that ends in a colon. */
  readonly trigger: { readonly ref: string; readonly isPrefix: boolean } | undefined;
  /** The maximum number of triggers. */
  readonly limit: number;
}
