/** Text that is not JSON: `offset` is the byte where reading stopped, counted from the first byte of the input. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}
