/** A store that cannot be used right now; nothing of the write was stored. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** `full`: there is no space; `busy` and `lost`: a later attempt may succeed. */
  readonly reason: 'busy' | 'lost' | 'full';

  constructor(reason: 'busy' | 'lost' | 'full', message: string) {
    super(message);
    this.reason = reason;
  }
}
