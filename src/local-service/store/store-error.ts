/** `full`: there is no space; `busy` and `lost`: a later attempt may succeed; `unsupported`: the store cannot hold the value; `unknown`: a write may have been stored. */
export type StoreErrorReason = 'busy' | 'lost' | 'full' | 'unsupported' | 'unknown';

/** A write or read that the store could not do; nothing of a write was stored, unless the reason is `unknown`. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly reason: StoreErrorReason;

  constructor(reason: StoreErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
