import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { checkArgumentEncoding } from './cli/command-line.ts';
import { parseCommandLine } from './cli/parse-command-line.ts';
import type { CommandEnd, ProcessEnd } from './command.ts';
import type { Context } from './context.ts';
import {
  Failure,
  type FailureFacts,
  InterruptedError,
  invalidValueFailure,
  type StopSignal,
  signalOfFailure,
  toFailure,
} from './errors.ts';
import { isFlagOn } from './flag.ts';
import { createReporter, type Reporter } from './output/reporter.ts';
import { startDelayedSpinner } from './output/spinner.ts';
import { ClosedPipeError, canUseColor, createStreamWriter, type Writer } from './output/writer.ts';
import type { Runtime } from './runtime.ts';
import { version } from './version.ts';

// The time that a command has to report its state after a signal.
const SHUTDOWN_TIMEOUT_MS = 2000;

/** Runs one command line; all output is flushed at its end. Every error is caught here and printed once, on stderr. */
export async function main(runtime: Runtime): Promise<ProcessEnd> {
  const { stdout: out, stderr: err, env, argv } = runtime;
  // Read from the words directly: the errors of an invalid command line have a color and a format too.
  const ownWords = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  const colorMode = lastValueOf(
    '--color',
    ownWords.map((word) => (word === '--no-color' ? '--color=never' : word)),
  );
  const errorFormat = lastValueOf('--error-format', ownWords) ?? (env.SVC_ERROR_FORMAT || 'text');
  const isJson = errorFormat === 'json';
  const noInput = ownWords.includes('--no-input') ? 'with --no-input' : env.CI ? 'with CI set' : undefined;
  const stdout = createStreamWriter(out, 'stdout', canUseColor(out, env, colorMode));
  let clearSpinner = (): void => {};
  const spin: Context['startSpinner'] = (text) => {
    const { clear, stop } = startDelayedSpinner(runtime, text, (line) => void report.note(line).catch(() => {}));
    clearSpinner = clear;
    return stop;
  };
  const plainStderr = createStreamWriter(err, 'stderr', canUseColor(err, env, colorMode));
  const write: Writer['write'] = (text, style) => {
    // The spinner and a line of text would overwrite each other.
    clearSpinner();
    return plainStderr.write(text, style);
  };
  const stderr = { ...plainStderr, write };
  const secrets = [env.SVC_PASSWORD, env.SVC_TOKEN, env.SVC_UPSTREAM_TOKEN].flatMap((secret) => secret ?? []);
  let report = createReporter(stderr, { isJson, isQuiet: false, isVerbose: false, secrets });
  try {
    const encodingWarning = checkArgumentEncoding(argv, runtime.readCommandLine ?? (() => undefined));
    const parsed = await parseCommandLine(argv, runtime.cwd);
    if ('isVersion' in parsed) {
      await stdout.write(argv.includes('--json') ? versionJson(runtime.node) : `svc ${version}\n`);
      return 0;
    }
    if ('help' in parsed) {
      const { showHelp } = await import('./cli/docs/show-help.ts');
      await showHelp(parsed.help, { runtime, stdout, noInput });
      return 0;
    }
    const { command, flags } = parsed.invocation;
    const isQuiet = isFlagOn(flags, 'quiet');
    if (!isJson && errorFormat !== 'text') throw invalidValueFailure('SVC_ERROR_FORMAT', errorFormat, 'text or json');
    report = createReporter(stderr, { isJson, isQuiet, isVerbose: isFlagOn(flags, 'verbose'), secrets });
    if (encodingWarning) await report.note(`warning: ${encodingWarning}`);
    const runCommand = await command.load();
    const end = await runUntilSignal(runtime, (handlers) =>
      runCommand(parsed.invocation, {
        runtime,
        stdout,
        report,
        noInput,
        startSpinner: isQuiet || isJson ? () => () => {} : spin,
        ...handlers,
      }),
    );
    await stdout.end();
    return end ?? 0;
  } catch (error) {
    return reportFailure(error, report);
  }
}

// Version, commit (null if the build knew none), bundled libraries, and Node.
function versionJson(node: string): string {
  const built: object = JSON.parse(readFileSync(new URL('version.json', import.meta.url), 'utf8'));
  return `${JSON.stringify({ ...built, node }, null, 2)}\n`;
}

async function reportFailure(error: unknown, report: Reporter): Promise<ProcessEnd> {
  // A reader that closes the pipe, such as head, has read what it needs.
  if (error instanceof ClosedPipeError) return 0;
  let failure = toFailure(error);
  if (failure.code === 'bug') {
    // Maps positions in the bundle to the source files that a developer knows.
    const { withSourceLocations } = await import('./output/source-locations.ts');
    failure = failure.with({}, withSourceLocations(failure.message));
  }
  await report.failure(failure);
  return signalOfFailure(failure.code) ?? failure.exitCode;
}

// The value of a flag that is given as `--flag value` or `--flag=value`; of several the last one counts.
function lastValueOf(flag: string, argv: readonly string[]): string | undefined {
  const at = argv.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`));
  if (at === -1) return undefined;
  return argv[at] === flag ? argv[at + 1] : argv[at]?.slice(flag.length + 1);
}

type SignalHandlers = Omit<Context, 'runtime' | 'stdout' | 'report' | 'noInput' | 'startSpinner'>;

// Runs until the command ends or a signal arrives. After the first signal the command has SHUTDOWN_TIMEOUT_MS to report
// its state; the second one ends the run at once.
async function runUntilSignal(
  { onSignal, after }: Runtime,
  run: (handlers: SignalHandlers) => CommandEnd,
): Promise<ProcessEnd | undefined> {
  const controller = new AbortController();
  // Every request of a batch adds a listener.
  setMaxListeners(0, controller.signal);
  let shutdownTimeoutMs = SHUTDOWN_TIMEOUT_MS;
  let facts = (): FailureFacts => ({ applied: 'no' });
  let pendingInterrupt: ((reason: InterruptedError) => void) | undefined;
  let cancelTimeout = (): void => {};
  let end: (failure: Failure) => void = () => {};
  const terminated = new Promise<never>((_, reject) => {
    end = reject;
  });
  const listener = (signal: StopSignal): void => {
    const onInterrupt = signal === 'SIGHUP' ? undefined : pendingInterrupt;
    pendingInterrupt = undefined;
    const reason = new InterruptedError(signal);
    const giveUp = (): void => end(new Failure(reason.code, reason.message, facts()));
    if (onInterrupt) onInterrupt(reason);
    else if (controller.signal.aborted) giveUp();
    else {
      controller.abort(reason);
      cancelTimeout = after(shutdownTimeoutMs, giveUp);
    }
  };
  let release = onSignal(listener);
  const handlers: SignalHandlers = {
    signal: controller.signal,
    onProgressFacts: (getFacts) => {
      facts = getFacts;
    },
    onInterrupt: (stop) => {
      pendingInterrupt = stop;
    },
    extendShutdown: (milliseconds) => {
      shutdownTimeoutMs = SHUTDOWN_TIMEOUT_MS + milliseconds;
    },
    suspendSignals: (action) => {
      release();
      try {
        return action();
      } finally {
        release = onSignal(listener);
      }
    },
    ignoreStopSignals: () => release(),
  };
  try {
    return (await Promise.race([run(handlers), terminated])) ?? undefined;
  } finally {
    release();
    cancelTimeout();
  }
}
