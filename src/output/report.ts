import { exitCodes, type Failure } from '../errors.ts';
import { writeJson } from '../json/write.ts';
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
  /** The last word of a run that failed. */
  readonly failure: (failure: Failure) => Promise<void>;
  /** Text for the eyes that stands beside the result, such as reasoning; silent under `--quiet` and as JSON. */
  readonly aside: (text: string) => Promise<void>;
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

// Shorter values would hide parts of ordinary words.
const SHORTEST_SECRET = 4;

/** Reports to a writer, which is stderr. */
export function reportTo(stderr: Writer, { json, quiet, verbose, ...given }: ReportOptions): Report {
  const secrets: string[] = [];
  const conceal = (more: readonly string[]): void =>
    void secrets.push(...more.filter((secret) => secret.length >= SHORTEST_SECRET));
  conceal(given.secrets);
  const clean = (text: string): string => secrets.reduce((left, secret) => left.replaceAll(secret, '[hidden]'), text);
  const say = (level: string, message: string, style?: Style): Promise<void> =>
    stderr.write(json ? `${clean(writeJson({ level, message }))}\n` : `${clean(message)}\n`, style);
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
      if (verbose) await say('detail', message, 'dim');
    },
    aside: async (text) => {
      if (!quiet && !json) await stderr.write(clean(text), 'dim');
    },
    failure: (failure) =>
      stderr.write(clean(json ? `${failureJson(failure)}\n` : failureText(failure)), json ? undefined : 'red'),
    conceal,
  };
}

function failureText({ message, facts }: Failure): string {
  const { hint, issues = [], ids = {} } = facts;
  const lines = [`svc: ${message}`];
  for (const issue of issues)
    lines.push(`  ${[issue.at, issue.path].filter((part) => part !== '').join(' ')}: ${issue.message}`);
  for (const [name, id] of Object.entries(ids)) lines.push(`  ${name}: ${id}`);
  if (hint) lines.push(`  ${hint}`);
  return `${lines.join('\n')}\n`;
}

function failureJson({ message, code, exitCode, facts }: Failure): string {
  const { hint, status, requestId, applied = 'no', attempts = 0, ids = {}, issues = [] } = facts;
  const retryable = exitCodes[code].again === 'yes' || exitCodes[code].again === 'later';
  return writeJson({
    error: {
      code,
      message,
      hint,
      exit_code: exitCode,
      status,
      request_id: requestId,
      retryable,
      applied,
      attempts,
      ids,
      issues: issues.map(({ path, at, message: text }) => ({ path, at, message: text })),
    },
  });
}
