import type { Buffer } from 'node:buffer';
import { execFile } from 'node:child_process';
import { describeFileError, errorCode } from '../../files/file-errors.ts';
import type { Runtime } from '../../runtime.ts';

/** A program to run, and what it may take. */
export interface ProgramOptions {
  /** The program and its arguments, as they are: there is no shell. */
  readonly command: readonly string[];
  readonly env: Runtime['env'];
  readonly cwd: string;
  /** What it finds on stdin, which ends then. */
  readonly input?: string;
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly after: Runtime['after'];
  /** Ends the program; what waits for it then throws the reason. */
  readonly signal: AbortSignal;
}

/** What a program printed, or in words why that does not count. */
export type ProgramOutput = { readonly bytes: Buffer } | { readonly why: string };

const MAX_OUTPUT_BYTES = 64 * 1024;

/** What a program prints on stdout, up to 64 KiB; what it says on stderr is not shown, for there may be secrets in it. */
export async function runProgram({
  command,
  env,
  cwd,
  input = '',
  timeoutMs,
  after,
  signal,
}: ProgramOptions): Promise<ProgramOutput> {
  const [program = '', ...args] = command;
  const timeoutController = new AbortController();
  const cancelTimeout = after(timeoutMs, () => timeoutController.abort());
  try {
    const bytes = await new Promise<Buffer>((done, failed) => {
      const child = execFile(
        program,
        args,
        {
          env,
          cwd,
          encoding: 'buffer',
          maxBuffer: MAX_OUTPUT_BYTES,
          windowsHide: true,
          killSignal: 'SIGKILL',
          signal: AbortSignal.any([signal, timeoutController.signal]),
        },
        (error, stdout) => (error ? failed(error) : done(stdout)),
      );
      // A program may end without having read.
      child.stdin?.on('error', () => {}).end(input);
    });
    return { bytes };
  } catch (error) {
    signal.throwIfAborted();
    return {
      why: timeoutController.signal.aborted ? `took longer than ${timeoutMs / 1000} s` : programErrorReason(error),
    };
  } finally {
    cancelTimeout();
  }
}

function programErrorReason(error: unknown): string {
  if (errorCode(error) === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'printed more than 64 KiB';
  if (errorCode(error) === 'ENOENT') return 'was not found';
  if (errorCode(error) !== undefined) return `could not be started: ${describeFileError(error)}`;
  const { code, signal }: { code?: unknown; signal?: unknown } = Object(error);
  return signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
}
