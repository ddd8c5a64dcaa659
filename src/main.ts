import { setMaxListeners } from 'node:events';
import { parseCommandLine } from './cli/parse-command-line.ts';
import type { Context } from './context.ts';
import { Failure, type FailureFacts, InterruptedError, toFailure, usageFailure } from './errors.ts';
import { getBooleanFlag, getStringFlag } from './flag.ts';
import { canUseColor } from './output/color.ts';
import { startDelayedSpinner } from './output/delayed-spinner.ts';
import { createReporter, type Reporter } from './output/reporter.ts';
import { ClosedPipeError, createStreamWriter, type Writer } from './output/writer.ts';
import type { Runtime } from './runtime.ts';

// How long a command may take to say what it was doing when the process is asked to end.
const SHUTDOWN_TIMEOUT_MS = 2000;

/**
 * Runs one command line and returns the exit code of the process. Whatever is thrown is caught here, told once on
 * stderr, and nowhere else.
 */
export async function main(runtime: Runtime): Promise<number> {
  const { stdout: out, stderr: err, env, argv } = runtime;
  const stdout = createStreamWriter(out, { name: 'stdout', hasColor: canUseColor(out, env) });
  let clearSpinner = (): void => {};
  const spin: Context['startSpinner'] = (text) => {
    const { clear, stop } = startDelayedSpinner(runtime, text);
    clearSpinner = clear;
    return stop;
  };
  const plainStderr = createStreamWriter(err, { name: 'stderr', hasColor: canUseColor(err, env), isStderr: true });
  const stderr: Writer = {
    ...plainStderr,
    write: (text, style) => {
      // A line of text beside a turning spinner would tear.
      clearSpinner();
      return plainStderr.write(text, style);
    },
  };
  const secrets = [env.SVC_PASSWORD, env.SVC_TOKEN, env.SVC_UPSTREAM_TOKEN].flatMap((secret) => secret ?? []);
  let report = createReporter(stderr, {
    isJson: isJsonRequested(argv, env),
    isQuiet: false,
    isVerbose: false,
    secrets,
  });
  try {
    const parsed = parseCommandLine(argv, Math.min(stdout.columns, 100));
    if ('text' in parsed) return await printText(parsed.text, stdout);
    const { command, flags } = parsed.invocation;
    const isQuiet = getBooleanFlag(flags, 'quiet') === true;
    const isJson = resolveErrorFormat(getStringFlag(flags, 'error-format'), env) === 'json';
    report = createReporter(stderr, { isJson, isQuiet, isVerbose: getBooleanFlag(flags, 'verbose') === true, secrets });
    const runCommand = await command.load();
    await runUntilSignal(runtime, (handlers) =>
      runCommand(parsed.invocation, {
        runtime,
        stdout,
        report,
        startSpinner: isQuiet || isJson ? () => () => {} : spin,
        ...handlers,
      }),
    );
    return 0;
  } catch (error) {
    return reportFailure(error, report);
  }
}

async function printText(text: string, stdout: Writer): Promise<number> {
  await stdout.write(text);
  await stdout.end();
  return 0;
}

async function reportFailure(error: unknown, report: Reporter): Promise<number> {
  // The reader of a pipe has what it wanted.
  if (error instanceof ClosedPipeError) return 0;
  const failure = toFailure(error);
  await report.failure(failure.code === 'bug' ? await withSourceStack(failure) : failure);
  return failure.exitCode;
}

// The places in a stack are those of the bundle, which say nothing to those who will mend it.
async function withSourceStack({ code, message, facts }: Failure): Promise<Failure> {
  const { withSourceLocations } = await import('./output/source-locations.ts');
  return new Failure(code, await withSourceLocations(message), facts);
}

// For telling what is wrong with a command line that could not be read.
function isJsonRequested(argv: readonly string[], { SVC_ERROR_FORMAT }: Runtime['env']): boolean {
  const at = argv.findLastIndex((word) => /^--error-format(=|$)/.test(word));
  const asked = argv[at]?.includes('=') ? argv[at]?.split('=')[1] : argv[at + 1];
  return (at === -1 ? SVC_ERROR_FORMAT : asked) === 'json';
}

function resolveErrorFormat(flag: string | undefined, { SVC_ERROR_FORMAT }: Runtime['env']): string {
  const format = flag ?? (SVC_ERROR_FORMAT || 'text');
  if (format === 'json' || format === 'text') return format;
  throw usageFailure(`SVC_ERROR_FORMAT cannot be ${JSON.stringify(format)}`, 'it is text or json');
}

/** Runs until it ends by itself or the process is asked to end: then it may say its last words; a second time ends at once. */
async function runUntilSignal(
  { onSignal, after }: Runtime,
  run: (handlers: Pick<Context, 'signal' | 'onProgressFacts' | 'onInterrupt'>) => Promise<void>,
): Promise<void> {
  const controller = new AbortController();
  // Each of the many exchanges of a batch listens.
  setMaxListeners(0, controller.signal);
  let facts = (): FailureFacts => ({ applied: 'no' });
  let pendingInterrupt: (() => void) | undefined;
  let release = (): void => {};
  let cancelTimeout = (): void => {};
  const terminated = new Promise<never>((_, reject) => {
    release = onSignal((signal) => {
      const interruptHandler = signal === 'SIGINT' ? pendingInterrupt : undefined;
      pendingInterrupt = undefined;
      if (interruptHandler) return interruptHandler();
      const reason = new InterruptedError(signal);
      const giveUp = (): void => reject(new Failure(reason.code, reason.message, facts()));
      if (controller.signal.aborted) return giveUp();
      controller.abort(reason);
      cancelTimeout = after(SHUTDOWN_TIMEOUT_MS, giveUp);
    });
  });
  const onProgressFacts: Context['onProgressFacts'] = (getFacts) => {
    facts = getFacts;
  };
  const onInterrupt: Context['onInterrupt'] = (first) => {
    pendingInterrupt = first;
  };
  try {
    await Promise.race([run({ signal: controller.signal, onProgressFacts, onInterrupt }), terminated]);
  } finally {
    release();
    cancelTimeout();
  }
}
