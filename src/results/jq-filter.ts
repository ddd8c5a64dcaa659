import type { Context } from '../context.ts';
import { Failure, type FailureFacts, usageFailure } from '../errors.ts';
import type { Sink } from '../output/sink.ts';
import type { JqEngine } from './jq-engine.ts';

/** A compiled `--jq` filter. */
export interface JqFilter {
  /** The text of all results for an input of one or more JSON values, and the Failure of the input it failed on. */
  readonly apply: (input: string) => { readonly text: string; readonly failure: Failure | undefined };
}

// jq needs many times the memory of its input, and WebAssembly has little.
const MAX_FILTER_INPUT_CHARS = 20_000_000;

// Of a compiler's message, which repeats the filter.
const MAX_MESSAGE_CHARS = 500;

/** Compiles a filter, before anything is sent. Throws usage for one that is invalid. */
export async function compileJqFilter(
  filter: string,
  { suspendSignals, report }: Pick<Context, 'suspendSignals' | 'report'>,
  openEngine = async () => (await import('./jq-engine.ts')).openJqEngine(),
): Promise<JqFilter> {
  const engine = await openEngine();
  const { stderr, exitCode } = engine.run('', filter);
  if (exitCode !== 0) throw usageFailure(`--jq: ${messageOf(stderr)}`, 'see https://jqlang.org/manual for the syntax');
  return {
    apply: (input) => {
      if (input.length > MAX_FILTER_INPUT_CHARS) throw tooLargeFailure(input.length);
      // A filter may run for ever, and while it does no listener is called: Ctrl-C has to end the process by itself.
      const run = suspendSignals(() => runOrAbort(engine, withoutLoneSurrogates(input), filter));
      return { text: run.lines.map(rawLine).join(''), failure: failureOf(run.exitCode, run.stderr, report.redact) };
    },
  };
}

/** A sink that writes the results of a filter for the lines of JSON it is given; its commit throws the last Failure. */
export function filteredSink({ writer, commit, abandon }: Sink, filter: JqFilter, facts: FailureFacts = {}): Sink {
  let failed: Failure | undefined;
  return {
    writer: {
      ...writer,
      write: async (lines) => {
        const { text, failure } = filter.apply(lines.toString());
        failed = failure ?? failed;
        await writer.write(text);
      },
    },
    commit: async () => {
      await commit();
      if (failed) throw new Failure(failed.code, failed.message, { ...failed.facts, ...facts });
    },
    abandon,
  };
}

function runOrAbort(engine: JqEngine, input: string, filter: string): ReturnType<JqEngine['run']> {
  try {
    return engine.run(input, filter);
  } catch {
    throw tooLargeFailure(input.length);
  }
}

function tooLargeFailure(chars: number): Failure {
  return new Failure('local', `the result is too large or too deep for --jq (${chars} characters)`, {
    hint: 'pipe it into jq instead: svc ... --json | jq',
  });
}

// Strings print raw, with every line break in them; any other value is compact JSON.
function rawLine(line: string): string {
  return `${line.startsWith('"') ? JSON.parse(line) : line}\n`;
}

function failureOf(exitCode: number, stderr: string, redact: (text: string) => string): Failure | undefined {
  if (exitCode === 0) return undefined;
  return new Failure('answer', `--jq: ${redact(messageOf(stderr))}`);
}

// jq's words without its name, its file and the count of errors.
function messageOf(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !/^jq: \d+ compile errors?$/.test(line));
  const message = lines
    .join('\n')
    .replace(/^jq: error(?: \(at [^)]*\))?: /gm, '')
    .replace(/^jq: error \(at [^)]*\)/gm, 'error')
    .replace(/ at <top-level>, line \d+, column \d+:/, ':');
  return message.slice(0, MAX_MESSAGE_CHARS) || 'the filter stopped with an error';
}

// jq rejects half of a surrogate pair, which JSON allows.
function withoutLoneSurrogates(json: string): string {
  if (!/\\u[dD][89a-fA-F]/.test(json)) return json;
  return json.replace(
    /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[dD][89a-fA-F][\da-fA-F]{2}|\\./g,
    (text) => (/^\\u[dD][89a-fA-F]/.test(text) && text.length === 6 ? '\\ufffd' : text),
  );
}
