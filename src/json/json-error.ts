/**
 * Text that is not JSON: `offset` is the byte where reading stopped. It is counted after a byte order mark, for text
 * is shown without one; where the bytes are no text, from the first of them.
 */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}
