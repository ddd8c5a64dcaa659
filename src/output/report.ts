import type { Failure } from '../errors.ts';
import { writeJson } from '../json/write.ts';
import { concealer } from './conceal.ts';
import { failureJson, failureText } from './failure.ts';
import type { Style } from './style.ts';
import type { Writer } from './writer.ts';

/** What svc has to say besides the result: lines on stderr, for people or (`--error-format json`) for programs. */
export interface Report {
  /** Good to know; silent under `--quiet`. */
  readonly note: (message: string) => Promise<void>;
  /** Likely a mistake; silent under `--quiet`. */
  readonly warn: (message: string) => Promise<void>;
  /** A line that was asked for beside the result; silent under `--quiet`. */
  readonly line: (text: string) => Promise<void>;
  /** How it goes in detail; only under `--verbose`. */
  readonly detail: (message: string) => Promise<void>;
  /** True under `--verbose`: details are told. */
  readonly isVerbose: boolean;
  /** The last word of a run that failed. */
  readonly failure: (failure: Failure) => Promise<void>;
  /** Text for the eyes that stands beside the result, such as reasoning; silent under `--quiet` and as JSON. */
  readonly aside: (text: string) => Promise<void>;
  /** A text without the values that never appear. */
  readonly clean: (text: string) => string;
  /** Further values that never appear in anything reported from now on. */
  readonly conceal: (secrets: readonly string[]) => void;
}

export interface ReportOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** Values that never appear in anything reported. */
  readonly secrets: readonly string[];
}

/** Reports to a writer, which is stderr. */
export function reportTo(stderr: Writer, { json, quiet, verbose, secrets }: ReportOptions): Report {
  const { add, clean } = concealer(secrets);
  const say = (level: string, message: string, style?: Style): Promise<void> =>
    stderr.write(json ? `${writeJson({ level, message: clean(message) })}\n` : `${clean(message)}\n`, style);
  return {
    note: async (message) => {
      if (!quiet) await say('note', json ? message : `svc: ${message}`, 'dim');
    },
    warn: async (message) => {
      if (!quiet) await say('warning', json ? message : `svc: warning: ${message}`, 'yellow');
    },
    line: async (text) => {
      if (!quiet) await say('line', text);
    },
    detail: async (message) => {
      if (verbose && !quiet) await say('detail', message, 'dim');
    },
    aside: async (text) => {
      if (!quiet && !json) await stderr.write(clean(text), 'dim');
    },
    failure: (failure) =>
      json ? stderr.write(`${failureJson(failure, clean)}\n`) : stderr.write(failureText(failure, clean), 'red'),
    isVerbose: verbose && !quiet,
    clean,
    conceal: add,
  };
}
