import { Buffer } from 'node:buffer';
import { type ChildProcess, spawn } from 'node:child_process';
import { formatByteSize } from '../../files/byte-size.ts';
import { describeFileError, errorCode } from '../../files/file-errors.ts';
import type { Runtime } from '../../runtime.ts';

interface ProgramOptions extends Pick<Runtime, 'env' | 'cwd' | 'after'> {
  readonly command: readonly string[];
  readonly input?: string;
  readonly timeoutMs: number;
  /** Kills the program; the caller gets the signal's reason. */
  readonly signal: AbortSignal;
}

export type ProgramOutput = { readonly bytes: Buffer } | { readonly why: string };

const MAX_OUTPUT_BYTES = 64 * 1024;

/**
 * Runs a program and returns its stdout, up to 64 KiB; its stderr is dropped, because it may hold secrets. Returns within the
 * time limit even when a background process keeps stdout open.
 */
export async function runProgram(options: ProgramOptions): Promise<ProgramOutput> {
  const { env, cwd, input = '', timeoutMs, after, signal } = options;
  signal.throwIfAborted();
  const [program = '', ...args] = options.command;
  const child = spawn(program, args, { env, cwd, stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true });
  let onAbort = (): void => {};
  let cancelTimeout = (): void => {};
  const stopped = new Promise<ProgramOutput>((resolve, reject) => {
    cancelTimeout = after(timeoutMs, () => {
      const background = 'ended, but a background process kept its stdout open for longer than';
      resolve({ why: `${child.exitCode === null ? 'took longer than' : background} ${timeoutMs / 1000} s` });
    });
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  // A program may end without having read.
  child.stdin.on('error', () => {}).end(input);
  try {
    return await Promise.race([collectOutput(child, child.stdout), stopped]);
  } finally {
    cancelTimeout();
    signal.removeEventListener('abort', onAbort);
    child.kill('SIGKILL');
    // A background process can keep the other ends of the pipes open.
    child.stdout.destroy();
    child.stdin.destroy();
    child.unref();
  }
}

function collectOutput(child: ChildProcess, stdout: NodeJS.ReadableStream): Promise<ProgramOutput> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_OUTPUT_BYTES) resolve({ why: `printed more than ${formatByteSize(MAX_OUTPUT_BYTES)}` });
    });
    child.once('error', (error) => {
      const isMissing = errorCode(error) === 'ENOENT';
      resolve({ why: isMissing ? 'was not found' : `could not be started: ${describeFileError(error)}` });
    });
    child.once('close', (code, signalName) => {
      if (code === 0) resolve({ bytes: Buffer.concat(chunks) });
      else resolve({ why: signalName ? `was ended by ${signalName}` : `ended with exit code ${code}` });
    });
  });
}
