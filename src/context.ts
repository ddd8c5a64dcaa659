import type { FailureFacts } from './errors.ts';
import type { Reporter } from './output/reporter.ts';
import type { Writer } from './output/writer.ts';
import type { Runtime } from './runtime.ts';

/** What a command has to do its work with. */
export interface Context {
  readonly runtime: Runtime;
  /** The result, and nothing else. */
  readonly stdout: Writer;
  /** Everything else that is to be said. */
  readonly report: Reporter;
  /** Aborted, with Interrupted as its reason, when the process is asked to end. */
  readonly signal: AbortSignal;
  /** Says on a terminal that something takes long, until the result is called; a text that changes is asked for again. */
  readonly startSpinner: (text: string | (() => string)) => () => void;
  /** What to say of the work under way where the process must end before the command could. */
  readonly onProgressFacts: (facts: () => FailureFacts) => void;
  /** What Ctrl-C does the first time, in place of ending the command. */
  readonly onInterrupt: (stop: () => void) => void;
}
