import { setMaxListeners } from 'node:events';
import type { Context } from './cli/context.ts';
import { parseCommandLine } from './cli/program.ts';
import { Failure, type FailureFacts, failureOf, Interrupted, usage } from './errors.ts';
import { isOn, textOf } from './fields/flag.ts';
import { hasColour } from './output/colour.ts';
import { type Report, reportTo } from './output/report.ts';
import { delayedSpinner } from './output/spinner.ts';
import { ClosedPipe, streamWriter, type Writer } from './output/writer.ts';
import type { Runtime } from './runtime.ts';

// How long a command may take to say what it was doing when the process is asked to end.
const LAST_WORDS = 2000;

/**
 * Runs one command line and returns the exit code of the process. Whatever is thrown is caught here, told once on
 * stderr, and nowhere else.
 */
export async function main(runtime: Runtime): Promise<number> {
  const { stdout: out, stderr: err, env, argv } = runtime;
  const stdout = streamWriter(out, { name: 'stdout', colour: hasColour(out, env) });
  let clearSpinner = (): void => {};
  const spin: Context['spin'] = (text) => {
    const { clear, stop } = delayedSpinner(runtime, text);
    clearSpinner = clear;
    return stop;
  };
  const aside = streamWriter(err, { name: 'stderr', colour: hasColour(err, env), isAside: true });
  const stderr: Writer = {
    ...aside,
    write: (text, style) => {
      // A line of text beside a turning spinner would tear.
      clearSpinner();
      return aside.write(text, style);
    },
  };
  const secrets = [env.SVC_PASSWORD, env.SVC_TOKEN, env.SVC_UPSTREAM_TOKEN].flatMap((secret) => secret ?? []);
  let report = reportTo(stderr, { json: asksForJson(argv, env), quiet: false, verbose: false, secrets });
  try {
    const parsed = parseCommandLine(argv, Math.min(stdout.columns, 100));
    if ('text' in parsed) return await told(parsed.text, stdout);
    const { command, flags } = parsed.run;
    const quiet = isOn(flags, 'quiet') === true;
    const json = errorFormat(textOf(flags, 'error-format'), env) === 'json';
    report = reportTo(stderr, { json, quiet, verbose: isOn(flags, 'verbose') === true, secrets });
    const runCommand = await command.load();
    await untilSignal(runtime, (asked) =>
      runCommand(parsed.run, {
        runtime,
        stdout,
        report,
        spin: quiet || json ? () => () => {} : spin,
        ...asked,
      }),
    );
    return 0;
  } catch (error) {
    return failed(error, report);
  }
}

async function told(text: string, stdout: Writer): Promise<number> {
  await stdout.write(text);
  await stdout.end();
  return 0;
}

async function failed(error: unknown, report: Report): Promise<number> {
  // The reader of a pipe has what it wanted.
  if (error instanceof ClosedPipe) return 0;
  const failure = failureOf(error);
  await report.failure(failure.code === 'bug' ? await inSource(failure) : failure);
  return failure.exitCode;
}

// The places in a stack are those of the bundle, which say nothing to those who will mend it.
async function inSource({ code, message, facts }: Failure): Promise<Failure> {
  const { withSourcePlaces } = await import('./output/source-places.ts');
  return new Failure(code, await withSourcePlaces(message), facts);
}

// For telling what is wrong with a command line that could not be read.
function asksForJson(argv: readonly string[], { SVC_ERROR_FORMAT }: Runtime['env']): boolean {
  const at = argv.findLastIndex((word) => /^--error-format(=|$)/.test(word));
  const asked = argv[at]?.includes('=') ? argv[at]?.split('=')[1] : argv[at + 1];
  return (at === -1 ? SVC_ERROR_FORMAT : asked) === 'json';
}

function errorFormat(flag: string | undefined, { SVC_ERROR_FORMAT }: Runtime['env']): string {
  const format = flag ?? (SVC_ERROR_FORMAT || 'text');
  if (format === 'json' || format === 'text') return format;
  throw usage(`SVC_ERROR_FORMAT cannot be ${JSON.stringify(format)}`, 'it is text or json');
}

/** Runs until it ends by itself or the process is asked to end: then it may say its last words; a second time ends at once. */
async function untilSignal(
  { onSignal, after }: Runtime,
  run: (asked: Pick<Context, 'signal' | 'underway' | 'atInterrupt'>) => Promise<void>,
): Promise<void> {
  const controller = new AbortController();
  // Each of the many exchanges of a batch listens.
  setMaxListeners(0, controller.signal);
  let facts = (): FailureFacts => ({ applied: 'no' });
  let stop: (() => void) | undefined;
  let release = (): void => {};
  let endWait = (): void => {};
  const ended = new Promise<never>((_, reject) => {
    release = onSignal((signal) => {
      const gently = signal === 'SIGINT' ? stop : undefined;
      stop = undefined;
      if (gently) return gently();
      const reason = new Interrupted(signal);
      const giveUp = (): void => reject(new Failure(reason.code, reason.message, facts()));
      if (controller.signal.aborted) return giveUp();
      controller.abort(reason);
      endWait = after(LAST_WORDS, giveUp);
    });
  });
  const underway: Context['underway'] = (known) => {
    facts = known;
  };
  const atInterrupt: Context['atInterrupt'] = (first) => {
    stop = first;
  };
  try {
    await Promise.race([run({ signal: controller.signal, underway, atInterrupt }), ended]);
  } finally {
    release();
    endWait();
  }
}
