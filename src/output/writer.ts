import { Buffer } from 'node:buffer';
import { Failure } from '../errors.ts';
import { fileFailure } from '../files/file-errors.ts';
import type { OutputStream, Runtime } from '../runtime.ts';
import { createEscapeFilter } from './escape-controls.ts';
import type { TextStyle } from './text-style.ts';

export interface Writer {
  readonly isTerminal: boolean;
  readonly hasColor: boolean;
  readonly columns: number;
  /** Waits until the system has the bytes; escapes them on a terminal. Throws Failure `local_file` or `hangup`, and ClosedPipeError. */
  readonly write: (text: string | Uint8Array, style?: TextStyle) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** The reader closed the pipe. This is not a failure: it has read what it needs. */
export class ClosedPipeError extends Error {
  override readonly name = 'ClosedPipeError';
}

/** Waits for a result to be printed. A reader that closes the pipe ends the printing, and not what follows it. */
export async function ignoreClosedPipe(printing: Promise<void>): Promise<void> {
  await printing.catch((error: unknown) => {
    if (!(error instanceof ClosedPipeError)) throw error;
  });
}

/** On stderr, control characters are always escaped and a closed pipe is ignored. `layOut` may change the text after it is escaped. */
export function createStreamWriter(
  stream: OutputStream,
  name: 'stdout' | 'stderr',
  hasColor: boolean,
  layOut = (text: string): string => text,
): Writer {
  const isTerminal = stream.isTTY === true;
  const filter = isTerminal || name === 'stderr' ? createEscapeFilter() : undefined;
  // The callback of each write receives errors; without a listener Node would end the process.
  stream.on('error', () => {});
  const send = async (bytes: string | Uint8Array): Promise<void> => {
    if (bytes.length === 0) return;
    await new Promise<void>((resolve, reject) => {
      stream.write(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, (error) => {
        if (error && name === 'stdout') reject(writeError(error, stream));
        else resolve();
      });
    });
  };
  return {
    isTerminal,
    hasColor,
    columns: stream.columns || 80,
    write: async (text, style) => {
      const escaped = filter ? filter.push(text) : text;
      if (typeof escaped !== 'string') return send(escaped);
      return send(style && hasColor ? await styleText(layOut(escaped), style) : layOut(escaped));
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

function writeError(error: Error, { isTTY }: OutputStream): Error {
  // Writing to a terminal fails for no other reason.
  if (isTTY) return new Failure('hangup', 'the terminal was closed');
  const code = 'code' in error ? error.code : undefined;
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return new ClosedPipeError();
  return fileFailure('write', 'stdout', error);
}

/**
 * Whether to use color: as `--color` says; otherwise never with NO_COLOR or FORCE_COLOR=0, always with FORCE_COLOR or
 * CLICOLOR_FORCE (unless 0), and by default on a terminal that is not dumb, unless CLICOLOR is 0.
 */
export function canUseColor({ isTTY }: OutputStream, env: Runtime['env'], mode = 'auto'): boolean {
  if (mode !== 'auto') return mode === 'always';
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0';
  if (env.CLICOLOR_FORCE && env.CLICOLOR_FORCE !== '0') return true;
  return isTTY === true && env.TERM !== 'dumb' && env.CLICOLOR !== '0';
}
