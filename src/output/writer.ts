import { Buffer } from 'node:buffer';
import { fileFailure } from '../files/file-errors.ts';
import type { OutputStream } from '../runtime.ts';
import { createByteEscapeFilter } from './escape-controls.ts';
import type { TextStyle } from './text-style.ts';

/** Where text goes: stdout, stderr or a file. */
export interface Writer {
  readonly isTerminal: boolean;
  /** Styles are applied. */
  readonly hasColor: boolean;
  /** Characters in a line; 80 where it is not known. */
  readonly columns: number;
  /**
   * Writes and waits until it has left the process. On a terminal control characters are shown, and the style is
   * applied where colours are on. Throws Failure `local` when the disk is full, and ClosedPipe when nobody reads.
   */
  readonly write: (text: string | Uint8Array, style?: TextStyle) => Promise<void>;
  /** Writes what is still held back. */
  readonly end: () => Promise<void>;
}

/** The reader of a pipe went away. No failure of ours: it has what it wanted. */
export class ClosedPipeError extends Error {
  override readonly name = 'ClosedPipe';
}

export interface WriterOptions {
  readonly name: string;
  /** It is stderr: control characters are shown even where it is no terminal, and nothing fails because nobody listens. */
  readonly isStderr?: boolean;
  readonly hasColor: boolean;
}

/** The one writer of a stream, used for everything that a server, a file or svc itself has to say. */
export function createStreamWriter(stream: OutputStream, { name, isStderr = false, hasColor }: WriterOptions): Writer {
  const isTerminal = stream.isTTY === true;
  const filter = isTerminal || isStderr ? createByteEscapeFilter() : undefined;
  // Errors reach us through the callback of each write; without a listener Node would end the process.
  stream.on('error', () => {});
  const send = async (bytes: string | Uint8Array): Promise<void> => {
    if (bytes.length === 0) return;
    const done = writeToStream(stream, bytes, name);
    await (isStderr ? done.catch(() => {}) : done);
  };
  return {
    isTerminal,
    hasColor,
    columns: stream.columns || 80,
    write: async (text, style) => {
      const escaped = filter ? filter.push(text) : text;
      return send(style && hasColor && typeof escaped === 'string' ? await styleText(escaped, style) : escaped);
    },
    end: async () => {
      if (filter) await send(filter.flush());
    },
  };
}

async function styleText(text: string, style: TextStyle): Promise<string> {
  const { applyStyle } = await import('./text-style.ts');
  // Of an error or a warning only the label has a color; the text and the next step stay plain.
  const label = style === 'dim' || style === 'json' ? text : (/^svc:(?: warning:)?/.exec(text)?.[0] ?? text);
  return applyStyle(label, style) + text.slice(label.length);
}

function writeToStream(stream: OutputStream, bytes: string | Uint8Array, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, (error) => {
      if (error) reject(writeError(error, name));
      else resolve();
    });
  });
}

function writeError(error: Error, name: string): Error {
  const code = 'code' in error ? error.code : undefined;
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return new ClosedPipeError();
  return fileFailure(`write ${name}`, error);
}
