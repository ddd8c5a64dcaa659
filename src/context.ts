import type { FailureFacts, InterruptedError } from './errors.ts';
import type { Reporter } from './output/reporter.ts';
import type { Writer } from './output/writer.ts';
import type { Runtime } from './runtime.ts';

export interface Context {
  readonly runtime: Runtime;
  readonly stdout: Writer;
  readonly report: Reporter;
  /** Aborted by SIGINT, SIGTERM and SIGHUP, with an InterruptedError as its reason. */
  readonly signal: AbortSignal;
  /** Why svc may not prompt, even at a terminal; undefined if it may. */
  readonly noInput?: 'with --no-input' | 'with CI set' | undefined;
  /** Shows a spinner on a terminal until the returned function is called; a function as text is called for each frame. */
  readonly startSpinner: (text: string | (() => string)) => () => void;
  /** Sets the facts to report about the request in flight if the process ends before the command does. */
  readonly onProgressFacts: (facts: () => FailureFacts) => void;
  /** Stops SIGINT, SIGTERM and SIGHUP from ending the command, which handles them itself from now on. */
  readonly ignoreStopSignals: () => void;
  /** Makes SIGHUP do nothing, as `nohup` wants it: Node does not keep that a signal is ignored. */
  readonly ignoreHangup: () => void;
  /** Sets what the first SIGINT or SIGTERM does instead of ending the command. */
  readonly onInterrupt: (stop: (reason: InterruptedError) => void) => void;
  /** Runs an action that blocks the event loop; meanwhile a signal ends the process at once. */
  readonly suspendSignals: <Result>(action: () => Result) => Result;
  /** Extends the time that the command has to end after a signal, in milliseconds. */
  readonly extendShutdown: (milliseconds: number) => void;
}
