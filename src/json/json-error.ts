import type { Buffer } from 'node:buffer';

/** `offset` is the byte where reading stopped, after a byte order mark; the bytes before it are valid UTF-8. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  readonly offset: number;
  /** The message without its fix, for a text that the user did not write. */
  readonly problem: string;
  /** The character found, where another one, a value or the end was expected; empty for the end of the text. */
  readonly unexpected: { readonly found: string; readonly expected: string } | undefined;

  constructor(problem: string, offset: number, fix?: string, unexpected?: JsonError['unexpected']) {
    super(fix === undefined ? problem : `${problem}; ${fix}`);
    this.problem = problem;
    this.offset = offset;
    this.unexpected = unexpected;
  }
}

/** An object per line, prose or YAML, or the start of a longer text. */
export type Resemblance = 'lines' | 'text' | 'start' | undefined;

/** What a text is that is not JSON, by where in it a character was not expected. */
export function resemblance(
  unexpected: JsonError['unexpected'],
  { line, column }: { readonly line?: number; readonly column?: number },
): Resemblance {
  const { found = '', expected } = unexpected ?? {};
  if (found === '') return unexpected && 'start';
  if (expected === 'the end of the input') return found === '{' && column === 1 ? 'lines' : undefined;
  // A word, a comment, a tag, `- ` or `---`.
  const isText = expected === 'a digit' ? column === 2 : expected === 'a value' && column === 1 && /[\w#<]/.test(found);
  return isText && line === 1 ? 'text' : undefined;
}

export function unexpectedEndError(at: number, expected: string): JsonError {
  const fix = `${expected} is missing, or the text was cut off`;
  return new JsonError('unexpected end of input', at, fix, { found: '', expected });
}

export function unexpectedByteError(bytes: Buffer, at: number, expected: string): JsonError {
  if (at >= bytes.length) return unexpectedEndError(at, expected);
  const [found = ''] = bytes.toString('utf8', at, at + 4);
  if (found === "'") return new JsonError('single quotes are not JSON', at, 'use double quotes');
  if (found === '\\') return new JsonError('a backslash outside a string', at, 'remove it');
  if (found === '/') return new JsonError('comments are not JSON', at, 'remove them');
  return new JsonError(`expected ${expected}, found ${JSON.stringify(found)}`, at, undefined, { found, expected });
}

export function trailingCommaError(at: number): JsonError {
  return new JsonError('a comma after the last element', at, 'remove it');
}
