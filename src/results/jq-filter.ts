import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../errors.ts';
import type { Sink } from '../output/sink.ts';
import type { JqEngine, JqRun } from './jq-engine.ts';

/** A compiled `--jq` filter. */
export interface JqFilter {
  /** The results for an input of one or more JSON values. */
  readonly apply: (input: string) => FilterResult;
  /** The results for lines of JSON, as if each had a run of jq for itself. */
  readonly applyToLines: (lines: readonly string[]) => LinesResult;
}

/** The text of all results, and the Failure of the first input that the filter failed on. */
interface FilterResult {
  readonly text: string;
  readonly failure: Failure | undefined;
}

/** The results for lines, and the first line that the filter failed on. */
interface LinesResult extends FilterResult {
  readonly failedLine?: string | undefined;
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
  const apply = (input: string): FilterResult => {
    if (input.length > MAX_FILTER_INPUT_CHARS) throw tooLargeFailure(input.length);
    // A filter can run without end and blocks the event loop, so Ctrl-C must end the process without a listener.
    const run = suspendSignals(() => runOrAbort(engine, withoutLoneSurrogates(input), filter));
    return { text: run.lines.map(rawLine).join(''), failure: failureOf(run, report.redact) };
  };
  // A run costs a hundred times its input, so lines share one if no line can affect another.
  const applyToLines = (lines: readonly string[]): LinesResult => {
    const input = lines.join('');
    const isShared = lines.length > 1 && input.length <= MAX_FILTER_INPUT_CHARS && !AFFECTS_OTHER_INPUTS.test(filter);
    const result = isShared || lines.length <= 1 ? apply(input) : undefined;
    if (result && !(isShared && result.failure)) return { ...result, failedLine: result.failure && input };
    const middle = lines.length >> 1;
    const [first, second] = [applyToLines(lines.slice(0, middle)), applyToLines(lines.slice(middle))];
    const { failure, failedLine } = first.failure ? first : second;
    return { text: first.text + second.text, failure, failedLine };
  };
  return { apply, applyToLines };
}

// These read other inputs, count them, or end the run before them; a field may have such a name.
const AFFECTS_OTHER_INPUTS = /(?<!\.)\b(?:inputs?|input_line_number|halt|halt_error)\b/;

/**
 * A sink that writes the results of a filter for the lines of JSON it is given; its commit throws the first Failure, as
 * `locate` describes it for its line.
 */
export function filteredSink(
  { writer, keepsPartial, commit, abandon }: Sink,
  filter: JqFilter,
  locate: (failure: Failure, line: string) => Failure,
): Sink {
  let failed: Failure | undefined;
  return {
    writer: {
      ...writer,
      write: async (lines) => {
        const { text, failure, failedLine = '' } = filter.applyToLines(lines.toString().split(/(?<=\n)/));
        failed ??= failure && locate(failure, failedLine);
        await writer.write(text);
      },
    },
    keepsPartial,
    commit: async () => {
      await commit();
      if (failed) throw failed;
    },
    abandon,
  };
}

function runOrAbort(engine: JqEngine, input: string, filter: string): JqRun {
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

// Strings are printed without quotes, with their line breaks; any other value is compact JSON.
function rawLine(line: string): string {
  return `${line.startsWith('"') ? JSON.parse(line) : line}\n`;
}

// WebAssembly has no names of time zones (docs/contract.md, section 9).
const TIME_ZONE_HINT = 'this jq does not support %Z: write the name of the time zone instead, such as UTC';

// The exit code is that of the last input.
function failureOf({ exitCode, stderr }: JqRun, redact: (text: string) => string): Failure | undefined {
  if (exitCode === 0 && !stderr.includes('jq: error')) return undefined;
  const message = messageOf(stderr);
  const hint = /\bstrf(local)?time\/1: unknown system failure/.test(message) ? TIME_ZONE_HINT : undefined;
  return new Failure('answer', `--jq: ${redact(message)}`, { hint });
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
