import type { Readable, Writable } from 'node:stream';
import type { StopSignal } from './errors.ts';
import type { Send } from './http/message.ts';

export type InputStream = Readable & { readonly isTTY?: boolean; readonly setRawMode?: (mode: boolean) => unknown };
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly fd?: number };

/** What svc takes from process and system, created once in bin, so that a test can run it with its own streams, clock and network. */
export interface Runtime {
  readonly argv: readonly string[];
  /** The bytes of the command line, each argument ended by a zero byte; undefined if the system does not provide them. */
  readonly readCommandLine?: () => Uint8Array | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: InputStream;
  readonly stdinFd?: number;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly cwd: string;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly pid: number;
  /** The effective user; undefined if the system has no user ids. */
  readonly userId?: number | undefined;
  readonly host: string;
  readonly node: string;
  readonly isRunning: (pid: number) => boolean;
  /** True with a controlling terminal and no stream on a terminal, as `nohup` starts a program. */
  readonly isDetached?: () => boolean;
  /** True if svc was started with stdout closed, or with one that its parent discards. */
  readonly isStdoutClosed: () => boolean;
  /** Where a process id has a meaning: the boot of the system and the PID namespace; undefined if the system does not report it. */
  readonly processScope: string | undefined;
  /** When a process started, in the system's own form; undefined if the system does not report it. */
  readonly processStart: (pid: number) => string | undefined;
  readonly now: () => number;
  /** Milliseconds on a monotonic clock. */
  readonly elapsed: () => number;
  /** Milliseconds on a monotonic clock that continues while the machine sleeps. */
  readonly uptime: () => number;
  /** Like setTimeout; returns a function that cancels it. */
  readonly after: (milliseconds: number, action: () => void) => () => void;
  readonly randomBytes: (count: number) => Uint8Array;
  /** The program that talks to the operating system's keychain, and its arguments. */
  readonly keychain: readonly string[];
  readonly docs: string;
  /** Calls the listener on the given signals, by default SIGINT, SIGTERM and SIGHUP, until the returned function is called. */
  readonly onSignal: <S extends NodeJS.Signals = StopSignal>(
    listener: (signal: S) => void,
    signals?: readonly S[],
  ) => () => void;
  /** Calls the listener with an error that nothing caught, until the returned function is called. */
  readonly onUncaughtError?: (listener: (error: unknown) => void) => () => void;
  /** Stops the process, as Ctrl-Z does; returns when it is continued. */
  readonly stopProcess: () => void;
  readonly send?: Send;
  /** The credentials of the environment, which main finds. */
  readonly credentials?: readonly EnvironmentCredential[];
}

/** The variables of a credential. With a user name the secret is a password, else a token. */
export interface EnvironmentCredential {
  readonly scheme: 'basic' | 'bearer';
  readonly username?: string | undefined;
  readonly secret: string;
  /** The flag that names the variable, which then has to be set. */
  readonly namedBy?: string;
}
