import type { Failure } from '../errors.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { failureJson, failureText } from './failure-text.ts';
import { createRedactor, type Redactor } from './redact.ts';
import type { TextStyle } from './text-style.ts';
import type { Writer } from './writer.ts';

/** Prints everything besides the result: lines on stderr, for people or (`--error-format json`) for programs. */
export interface Reporter extends Redactor {
  /** A note; silent under `--quiet` unless it is urgent. */
  readonly note: (message: string, isUrgent?: boolean) => Promise<void>;
  /** A likely mistake; silent under `--quiet`. */
  readonly warn: (message: string) => Promise<void>;
  /** A detail of the failure that is reported last, such as an invalid line, or an annotation; also under `--quiet`. */
  readonly error: (text: string) => Promise<void>;
  /** A line that a flag requested; silent under `--quiet`. */
  readonly line: (text: string) => Promise<void>;
  /** Figures that a flag requested: a line of text, or of JSON with these fields; also under `--quiet`. */
  readonly stats: (text: string, members: { readonly [name: string]: JsonValue }) => Promise<void>;
  /** A detail; only under `--verbose`. */
  readonly detail: (message: string) => Promise<void>;
  /** True under `--verbose`: details are printed. */
  readonly isVerbose: boolean;
  readonly isQuiet: boolean;
  /** The failure of the run, reported last. */
  readonly failure: (failure: Failure) => Promise<void>;
  /** A chunk of the reasoning of a model: dimmed, or below a label without color; silent under `--quiet` and as JSON. */
  readonly reasoning: (text: string) => Promise<void>;
  /** Ends the reasoning, if any, so that the text of the response is set apart from it. */
  readonly endReasoning: () => Promise<void>;
}

export interface ReporterOptions {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly isVerbose: boolean;
  readonly secrets: readonly string[];
}

/** Reports to a writer, which is stderr. */
export function createReporter(stderr: Writer, { isJson, isQuiet, isVerbose, secrets }: ReporterOptions): Reporter {
  const redactor = createRedactor(secrets);
  const { redact } = redactor;
  let lastReasoning = '';
  const writeMessage = (level: string, message: string, style?: TextStyle): Promise<void> =>
    stderr.write(isJson ? `${writeJson({ level, message: redact(message) })}\n` : `${redact(message)}\n`, style);
  return {
    note: async (message, isUrgent = false) => {
      if (!isQuiet || isUrgent) await writeMessage('note', isJson ? message : `svc: ${message}`, 'dim');
    },
    warn: async (message) => {
      if (!isQuiet) await writeMessage('warning', isJson ? message : `svc: warning: ${message}`, 'yellow');
    },
    error: (text) => writeMessage('error', text),
    line: async (text) => {
      if (!isQuiet) await writeMessage('line', text);
    },
    stats: (text, members) =>
      stderr.write(isJson ? `${writeJson({ level: 'stats', ...members })}\n` : `${text}\n`, 'dim'),
    detail: async (message) => {
      if (isVerbose && !isQuiet) await writeMessage('detail', message, 'dim');
    },
    reasoning: async (text) => {
      if (text === '' || isQuiet || isJson) return;
      if (lastReasoning === '' && !stderr.hasColor) await stderr.write('reasoning:\n');
      await stderr.write(redact(text), 'dim');
      lastReasoning = text;
    },
    endReasoning: async () => {
      if (lastReasoning === '') return;
      const lineBreak = lastReasoning.endsWith('\n') ? '' : '\n';
      lastReasoning = '';
      await stderr.write(stderr.hasColor ? lineBreak : `${lineBreak}\n`);
    },
    failure: (failure) =>
      isJson ? stderr.write(`${failureJson(failure, redact)}\n`) : stderr.write(failureText(failure, redact), 'red'),
    isVerbose: isVerbose && !isQuiet,
    isQuiet,
    ...redactor,
  };
}
