/** Thrown where the built-in model cannot tell whether a value keeps to a keyword of a JSON Schema. */
export class UnsupportedKeyword extends Error {
  override readonly name = 'Unsure';
  readonly keyword: string;

  constructor(keyword: string) {
    super(`${keyword} is not understood`);
    this.keyword = keyword;
  }
}
