import type { Readable, Writable } from 'node:stream';
import type { Send } from './http/message.ts';

/** A stream that may be a terminal. */
export type InputStream = Readable & { readonly isTTY?: boolean };
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/**
 * Everything svc takes from the world, made once in bin. Nothing else touches `process`, so a test runs the whole
 * program with streams, a clock and a network of its own.
 */
export interface Runtime {
  /** The words after the program's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** The folder that relative paths start from. */
  readonly cwd: string;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly pid: number;
  /** The name of this machine. */
  readonly host: string;
  /** The version of Node. */
  readonly node: string;
  /** True while a process of that id exists. */
  readonly isRunning: (pid: number) => boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds on a clock that never goes back. */
  readonly elapsed: () => number;
  /** Calls back once after so many milliseconds; the result takes the order back. */
  readonly after: (milliseconds: number, action: () => void) => () => void;
  readonly randomBytes: (count: number) => Uint8Array;
  /** The program that talks to the operating system's keychain, and its arguments. */
  readonly keychain: readonly string[];
  /** Calls back at SIGINT and SIGTERM until the result is called. */
  readonly onSignal: (listener: (signal: 'SIGINT' | 'SIGTERM') => void) => () => void;
  /** Sends requests instead of the network. */
  readonly send?: Send;
}
