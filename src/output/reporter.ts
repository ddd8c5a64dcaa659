import type { Failure } from '../errors.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { failureJson, failureText } from './failure-text.ts';
import { createRedactor } from './redact.ts';
import type { TextStyle } from './text-style.ts';
import type { Writer } from './writer.ts';

/** What svc has to say besides the result: lines on stderr, for people or (`--error-format json`) for programs. */
export interface Reporter {
  /** Good to know; silent under `--quiet`. */
  readonly note: (message: string) => Promise<void>;
  /** Likely a mistake; silent under `--quiet`. */
  readonly warn: (message: string) => Promise<void>;
  /** A line that was asked for beside the result; silent under `--quiet`. */
  readonly line: (text: string) => Promise<void>;
  /** Figures that were asked for: a line of text, or of JSON with these members; silent under `--quiet`. */
  readonly stats: (text: string, members: { readonly [name: string]: JsonValue }) => Promise<void>;
  /** How it goes in detail; only under `--verbose`. */
  readonly detail: (message: string) => Promise<void>;
  /** True under `--verbose`: details are printed. */
  readonly isVerbose: boolean;
  /** The last word of a run that failed. */
  readonly failure: (failure: Failure) => Promise<void>;
  /** The reasoning of a model, in pieces: dimmed, or under a label where there is no color; silent under `--quiet` and as JSON. */
  readonly reasoning: (text: string) => Promise<void>;
  /** Ends the reasoning, if any, so that the text of the response is set apart from it. */
  readonly endReasoning: () => Promise<void>;
  /** A text without the values that never appear. */
  readonly redact: (text: string) => string;
  /** Further values that never appear in anything reported from now on. */
  readonly addSecrets: (secrets: readonly string[]) => void;
}

export interface ReporterOptions {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly isVerbose: boolean;
  /** Values that never appear in anything reported. */
  readonly secrets: readonly string[];
}

/** Reports to a writer, which is stderr. */
export function createReporter(stderr: Writer, { isJson, isQuiet, isVerbose, secrets }: ReporterOptions): Reporter {
  const { addSecrets, redact } = createRedactor(secrets);
  let lastReasoning = '';
  const writeMessage = (level: string, message: string, style?: TextStyle): Promise<void> =>
    stderr.write(isJson ? `${writeJson({ level, message: redact(message) })}\n` : `${redact(message)}\n`, style);
  return {
    note: async (message) => {
      if (!isQuiet) await writeMessage('note', isJson ? message : `svc: ${message}`, 'dim');
    },
    warn: async (message) => {
      if (!isQuiet) await writeMessage('warning', isJson ? message : `svc: warning: ${message}`, 'yellow');
    },
    line: async (text) => {
      if (!isQuiet) await writeMessage('line', text);
    },
    stats: async (text, members) => {
      if (!isQuiet) await stderr.write(isJson ? `${writeJson({ level: 'stats', ...members })}\n` : `${text}\n`, 'dim');
    },
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
    redact,
    addSecrets: addSecrets,
  };
}
