import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { commandsIn } from './cli/all-commands.ts';
import { runCommandLine } from './cli/command-tree.ts';
import { checkArgumentEncoding, lineWarnings } from './cli/line-warnings.ts';
import { type PreparedCommandLine, prepareCommandLine } from './cli/prepare-command-line.ts';
import type { CommandEnd, ProcessEnd } from './command.ts';
import { environmentCredentials, secretVariables } from './config/environment.ts';
import { environmentSetting, trimVariables } from './config/settings.ts';
import type { Context } from './context.ts';
import type { FailureFacts, StopSignal } from './errors.ts';
import { Failure, InterruptedError, invalidValueFailure, signalOfFailure, toFailure, usageFailure } from './errors.ts';
import { createReporter, type Reporter } from './output/reporter.ts';
import { isCi, startDelayedSpinner } from './output/spinner.ts';
import { ClosedPipeError, canUseColor, createStreamWriter, type Writer } from './output/writer.ts';
import type { Runtime } from './runtime.ts';
import { version } from './version.ts';

// The time that a command has to report its state after a signal.
const SHUTDOWN_TIMEOUT_MS = 2000;

/** Runs one command line; all output is flushed at its end. Every error is caught here and printed once, on stderr. */
export async function main(given: Runtime): Promise<ProcessEnd> {
  const line = prepareCommandLine(given.argv);
  const trimmed = trimVariables(given);
  const { stdout: out, stderr: err, env, argv } = trimmed;
  // Before commander: the errors of an invalid command line have a color and a format too.
  const lastToken = (name: string) => line.tokens.findLast(({ flag }) => flag?.name === name);
  const runtime = { ...trimmed, credentials: environmentCredentials((flag) => lastToken(flag)?.value) };
  const color = lastToken('color');
  const colorMode = color?.form === '--no-color' ? 'never' : color?.value;
  const errorFormat = lastToken('error-format')?.value ?? environmentSetting('error_format', env) ?? 'text';
  const isJson = errorFormat === 'json';
  const [isQuiet, isVerbose] = [lastToken('quiet') !== undefined, lastToken('verbose') !== undefined];
  const noInput = lastToken('input') ? 'with --no-input' : isCi(env) ? 'with CI set' : undefined;
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
  const secrets = secretVariables(runtime).flatMap((variable) => env[variable] ?? []);
  let report = createReporter(stderr, { isJson, isQuiet, isVerbose: false, secrets });
  try {
    const encodingWarning = checkArgumentEncoding(argv, runtime.readCommandLine ?? (() => undefined));
    if (await printRequested(line, { runtime, stdout, noInput })) return 0;
    let end: ProcessEnd | undefined;
    await runCommandLine(line, runtime.cwd, async ({ command, args, readOptions }) => {
      if (!isJson && errorFormat !== 'text') throw invalidValueFailure('SVC_ERROR_FORMAT', errorFormat, 'text or json');
      report = createReporter(stderr, { isJson, isQuiet, isVerbose, secrets });
      for (const warning of [...(encodingWarning ? [encodingWarning] : []), ...(await lineWarnings(line, runtime))])
        await report.note(`warning: ${warning}`);
      // Ids and journals have no times before 1970.
      if (runtime.now() < 0)
        throw usageFailure('the clock of this machine is set before 1970', 'set it, and run again');
      end = await runUntilSignal(runtime, (handlers) =>
        command.run(args, readOptions, {
          runtime,
          stdout,
          report,
          noInput,
          startSpinner: isQuiet || isJson ? () => () => {} : spin,
          ...handlers,
        }),
      );
    });
    await stdout.end();
    return end ?? 0;
  } catch (error) {
    return reportFailure(error, report, line);
  }
}

// What a line asks for instead of a run: the version, or help.
async function printRequested(
  { words, command, tokens, asksFor }: PreparedCommandLine,
  context: Pick<Context, 'runtime' | 'stdout' | 'noInput'>,
): Promise<boolean> {
  const { runtime, stdout } = context;
  if (asksFor === '--version') {
    await stdout.write(runtime.argv.includes('--json') ? versionJson(runtime.node) : `svc ${version}\n`);
    return true;
  }
  const isEmpty = !command && tokens.length === 0;
  if (!(asksFor || isEmpty) || commandsIn(words).length === 0) return false;
  const { showHelp } = await import('./cli/docs/show-help.ts');
  await showHelp({ words, isFull: asksFor === '--help' }, context);
  return true;
}

// Version, commit (null if the build knew none), bundled libraries, and Node.
function versionJson(node: string): string {
  const built: object = JSON.parse(readFileSync(new URL('version.json', import.meta.url), 'utf8'));
  return `${JSON.stringify({ ...built, node }, null, 2)}\n`;
}

async function reportFailure(error: unknown, report: Reporter, line: PreparedCommandLine): Promise<ProcessEnd> {
  // A reader that closes the pipe, such as head, has read what it needs.
  if (error instanceof ClosedPipeError) return 0;
  let failure = toFailure(error);
  if (failure.code === 'bug') {
    // Maps positions in the bundle to the source files that a developer knows.
    const { withSourceLocations } = await import('./output/source-locations.ts');
    failure = failure.with({}, withSourceLocations(failure.message));
  }
  const { hint } = failure.facts;
  if (hint) failure = failure.with({ hint: await destinedHint(hint, line) });
  await report.failure(failure);
  return signalOfFailure(failure.code) ?? failure.exitCode;
}

// Without the module, which an update of the program may have removed, a failure is reported all the same.
function destinedHint(hint: string, line: PreparedCommandLine): Promise<string> {
  return import('./cli/corrected-line.ts').then(
    ({ keepDestination }) => keepDestination(hint, line),
    () => hint,
  );
}

type SignalHandlers = Omit<Context, 'runtime' | 'stdout' | 'report' | 'noInput' | 'startSpinner'>;

// Runs until the command ends or a signal arrives. After the first signal the command has SHUTDOWN_TIMEOUT_MS to report
// its state; the second one ends the run at once.
async function runUntilSignal(
  { onSignal, onUncaughtError, after }: Runtime,
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
  let isHangupIgnored = false;
  const listener = (signal: StopSignal): void => {
    if (signal === 'SIGHUP' && isHangupIgnored) return;
    const onInterrupt = signal === 'SIGHUP' ? undefined : pendingInterrupt;
    pendingInterrupt = undefined;
    const reason = new InterruptedError(signal);
    const giveUp = (): void => end(new Failure(reason.code, reason.message, facts()));
    if (onInterrupt) return void onInterrupt(reason);
    if (controller.signal.aborted) return void giveUp();
    controller.abort(reason);
    cancelTimeout = after(shutdownTimeoutMs, giveUp);
  };
  let release = onSignal(listener);
  const releaseErrors = onUncaughtError?.((error) => end(uncaughtFailure(error, facts())));
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
    ignoreHangup: () => {
      isHangupIgnored = true;
    },
  };
  const ended = await Promise.race([run(handlers), terminated]).finally(() => {
    release();
    releaseErrors?.();
    cancelTimeout();
  });
  return ended ?? undefined;
}

function uncaughtFailure(error: unknown, sent: FailureFacts): Failure {
  const failure = toFailure(error);
  const outcome = sent.applied === 'no' ? '' : '; what was sent may have been applied';
  return failure.with(sent, `${failure.message}${outcome}`);
}
