import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Context } from '../context.ts';
import { Failure, InterruptedError, usageFailure, webAssemblyFailure } from '../errors.ts';
import { shellWord } from '../output/shell-quote.ts';
import { mapLines, type Sink } from '../output/sink.ts';
import type { Runtime } from '../runtime.ts';
import { lossyValueWarnings, withoutLoneSurrogates } from './lossy-values.ts';

/** A compiled `--jq` filter. A run that cannot be completed rejects with the Failure `invalid_response`, and one that a signal ends with its code. */
export interface JqFilter {
  readonly apply: (input: string) => Promise<FilterResult>;
  /** The results for lines of JSON, as if each had a run of jq for itself. */
  readonly applyToLines: (lines: readonly string[]) => Promise<FilterResult>;
}

/** The text of all results, and the Failure of the first input, or line, that the filter failed on. */
interface FilterResult {
  readonly text: string;
  readonly failure: Failure | undefined;
  readonly failedLine?: string | undefined;
}

// jq needs many times the memory of its input, and WebAssembly has little.
const MAX_FILTER_INPUT_CHARS = 20_000_000;

// For a run of a filter where nothing else limits the time.
const FILTER_TIMEOUT_MS = 120_000;

// Of a compiler's message, which repeats the filter.
const MAX_MESSAGE_CHARS = 500;

interface JqOptions {
  /** What errors name as the source of the filter. */
  readonly label?: string;
  /** How a filter is written there. */
  readonly write?: (filter: string) => string;
  /** The time that --timeout leaves to a run, infinite for none. */
  readonly remainingMs?: (() => number) | undefined;
  readonly runJq?: ReturnType<typeof createJqEngine>;
  /** What the filter can use, ended by a line break: errors show the line of the filter. */
  readonly definitions?: string;
}

/** Throws usage for an invalid filter. */
export async function compileJqFilter(
  filter: string,
  { runtime, signal, report }: Pick<Context, 'signal' | 'report'> & { readonly runtime: Pick<Runtime, 'after'> },
  {
    label = '--jq',
    write = (one) => `--jq ${shellWord(one)}`,
    remainingMs = () => Number.POSITIVE_INFINITY,
    runJq = createJqEngine(),
    definitions = '',
  }: JqOptions = {},
): Promise<JqFilter> {
  let timeoutFailure: Failure | undefined;
  const run = async (input: string): Promise<JqRun> => {
    // The next run would not end either.
    if (timeoutFailure) throw timeoutFailure;
    const timeLeftMs = remainingMs();
    const isLimited = Number.isFinite(timeLeftMs);
    const limitMs = isLimited ? timeLeftMs : FILTER_TIMEOUT_MS;
    const timeLimit = new AbortController();
    const cancelLimit = runtime.after(limitMs, () => timeLimit.abort());
    try {
      return await runJq({ input, filter: definitions + filter }, AbortSignal.any([signal, timeLimit.signal]));
    } catch (error) {
      const { reason } = signal;
      if (reason instanceof InterruptedError) throw new Failure(reason.code, `${label}: ${reason.message}`);
      const notLoaded = webAssemblyFailure(`${label}: jq`, error);
      if (notLoaded) throw new Failure('local_file', notLoaded.message, { hint: notLoaded.hint });
      if (!timeLimit.signal.aborted) throw tooLargeFailure(label, input.length);
      const seconds = (limitMs / 1000).toFixed(1);
      timeoutFailure = new Failure('invalid_response', `${label}: the filter was still running after ${seconds} s`, {
        hint: `check it for an endless loop${isLimited ? ', or raise --timeout' : ''}`,
      });
      throw timeoutFailure;
    } finally {
      cancelLimit();
    }
  };
  const { stderr, exitCode } = await run('').catch((error: unknown) => {
    if (!(error instanceof Failure && error.code === 'invalid_response')) throw error;
    const reason = error === timeoutFailure ? 'takes too long' : 'needs too much memory';
    throw usageFailure(`${label}: to compile the filter ${reason}`, 'write a simpler filter');
  });
  if (exitCode !== 0) throw usageFailure(`${label}: ${messageOf(stderr)}`, syntaxHint(filter, write));
  // Each line of a batch may have such a value.
  let hasWarned = false;
  const apply = async (input: string): Promise<FilterResult> => {
    if (input.length > MAX_FILTER_INPUT_CHARS) throw tooLargeFailure(label, input.length);
    const result = await run(withoutLoneSurrogates(input));
    for (const warning of hasWarned ? [] : lossyValueWarnings(input, '--jq')) {
      hasWarned = true;
      await report.warn(warning);
    }
    return { text: result.lines.map(rawLine).join(''), failure: failureOf(label, result, report.redact) };
  };
  return { apply, applyToLines: (lines) => applyToLines(lines, apply, !AFFECTS_OTHER_INPUTS.test(filter)) };
}

// A run costs a hundred times its input, so lines share one if no line can affect another.
async function applyToLines(
  lines: readonly string[],
  apply: JqFilter['apply'],
  canShare: boolean,
): Promise<FilterResult> {
  const input = lines.join('');
  const isShared = lines.length > 1 && input.length <= MAX_FILTER_INPUT_CHARS && canShare;
  const result = isShared || lines.length <= 1 ? await apply(input) : undefined;
  if (result && !(isShared && result.failure)) return { ...result, failedLine: result.failure && input };
  const middle = lines.length >> 1;
  const first = await applyToLines(lines.slice(0, middle), apply, canShare);
  const second = await applyToLines(lines.slice(middle), apply, canShare);
  const { failure, failedLine } = first.failure ? first : second;
  return { text: first.text + second.text, failure, failedLine };
}

// These read other inputs, count them, or end the run before them; a field may have such a name.
const AFFECTS_OTHER_INPUTS = /(?<!\.)\b(?:inputs?|input_line_number|halt|halt_error)\b/;

/** A sink for lines of JSON that writes their results; its commit throws the first Failure, as `locate` describes it for its line. */
export function filteredSink(sink: Sink, filter: JqFilter, locate: (failure: Failure, line: string) => Failure): Sink {
  let failed: Failure | undefined;
  const filtered = mapLines(sink, async (json) => {
    const onIncompleteRun = (error: unknown): FilterResult => {
      if (error instanceof Failure) return { text: json, failure: error };
      throw error;
    };
    const { text, failure, failedLine } = await filter.applyToLines(json.split(/(?<=\n)/)).catch(onIncompleteRun);
    failed ??= failure && failedLine !== undefined ? locate(failure, failedLine) : failure;
    return text;
  });
  const commit = async (): Promise<void> => {
    await sink.commit();
    if (failed) throw failed;
  };
  return { ...filtered, commit };
}

// `choices[0].text`, `choices[0]['text']` of Python, and `$.choices` of JSONPath.
function syntaxHint(filter: string, write: (filter: string) => string): string {
  const open = openBracket(filter);
  if (open) return `close the ${open}, or see https://jqlang.org/manual for the syntax`;
  const dotted = filter.replace(/\['(\w+)'\]/g, '.$1');
  const [, path] = /^\$?\.?(\w+(?:\.\w+|\[\d*\])*)$/.exec(dotted) ?? [];
  if (path === undefined || filter === `.${path}`) return 'see https://jqlang.org/manual for the syntax';
  return `did you mean ${write(`.${path}`)}?`;
}

// The first bracket that is not closed, unless a string, a comment or an interpolation could hold it.
function openBracket(filter: string): string | undefined {
  if (/["#]/.test(filter)) return undefined;
  const open: string[] = [];
  for (const [bracket] of filter.matchAll(/[[({\])}]/g)) {
    if ('[({'.includes(bracket)) open.push(bracket);
    else open.pop();
  }
  return open.at(-1);
}

// Strings are printed without quotes, with their line breaks; any other value is compact JSON.
function rawLine(line: string): string {
  return `${line.startsWith('"') ? JSON.parse(line) : line}\n`;
}

function tooLargeFailure(label: string, chars: number): Failure {
  return new Failure(
    'invalid_response',
    `${label}: the filter or its input is too large or too deep (input: ${chars} characters)`,
    { hint: 'pipe the result into jq instead: svc ... --json | jq' },
  );
}

// WebAssembly has no names of time zones (docs/internals/contract.md, section 9).
const TIME_ZONE_HINT = 'this jq does not support %Z: write the name of the time zone instead, such as UTC';

// The exit code is that of the last input.
function failureOf(label: string, { exitCode, stderr }: JqRun, redact: (text: string) => string): Failure | undefined {
  if (exitCode === 0 && !stderr.includes('jq: error')) return undefined;
  const message = messageOf(stderr);
  const hint = /\bstrf(local)?time\/1: unknown system failure/.test(message)
    ? TIME_ZONE_HINT
    : 'to see what the filter reads, write --jq . instead';
  return new Failure('invalid_response', `${label}: ${redact(message)}`, { hint });
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

export interface JqInput {
  readonly input: string;
  readonly filter: string;
}

/** The result of one run of jq: one JSON text per line, and what it wrote to its stderr. */
export interface JqRun {
  readonly lines: readonly string[];
  readonly stderr: string;
  readonly exitCode: number;
}

/**
 * jq itself, in a thread that starts with the first run; `file`, beside the bundle, is its program. A run rejects if it
 * exceeds its memory or its stack, and once the signal is aborted, which ends it. One run at a time.
 */
export function createJqEngine(
  file = new URL('./jq-worker.js', import.meta.url),
): (run: JqInput, signal: AbortSignal) => Promise<JqRun> {
  let worker: Worker | undefined;
  return async (run, signal) => {
    worker ??= new Worker(file);
    try {
      const response = once(worker, 'message', { signal });
      worker.postMessage(run);
      const [result] = await response;
      return result;
    } catch (error) {
      void worker.terminate();
      worker = undefined;
      throw error;
    }
  };
}
