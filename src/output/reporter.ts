import { Buffer } from 'node:buffer';
import type { Failure } from '../errors.ts';
import { formatJsonPath } from '../json/json-node.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { failureJson, failureText } from './failure-text.ts';
import type { TextStyle } from './text-style.ts';
import type { Writer } from './writer.ts';

// Shorter values are parts of ordinary words.
const MIN_SECRET_CHARS = 4;
// A shorter beginning of a secret at the end of a text does not reveal it.
const MIN_PREFIX_CHARS = 6;

interface Redactor {
  readonly addSecrets: (secrets: readonly string[]) => void;
  /** The text with `[redacted]` in place of each secret, in any encoding in which a server may return it. */
  readonly redact: (text: string) => string;
  /** The JSON of a body that is stored, as `redact`; see bodySecretForms. */
  readonly redactBody: (json: string) => string;
}

/** A redactor of these values. Values of fewer than four characters are not redacted. */
export function createRedactor(initialSecrets: readonly string[]): Redactor {
  let secrets: string[] = [];
  let bodySecrets: string[] = [];
  const addSecrets = (newSecrets: readonly string[]): void => {
    secrets = longestFirst([...secrets, ...newSecrets.flatMap(secretForms)]);
    bodySecrets = longestFirst([...bodySecrets, ...bodySecretForms(newSecrets)]);
  };
  addSecrets(initialSecrets);
  return {
    addSecrets,
    redact: (text) => {
      const left = replaceSecrets(text, secrets);
      const start = Math.max(0, ...secrets.map((secret) => trailingPrefixLength(left, secret, MIN_PREFIX_CHARS)));
      return start === 0 ? left : left.slice(0, -start) + REDACTED;
    },
    redactBody: (json) => replaceSecrets(json, bodySecrets),
  };
}

/** Users pass a word such as `none` or `EMPTY` to servers that need no token; bodies contain such words for other reasons. */
export const MIN_BODY_SECRET_CHARS = 8;

/** The forms of secrets that are redacted in bodies; a secret of fewer than eight characters stays. */
export function bodySecretForms(secrets: readonly (string | undefined)[]): string[] {
  return secrets.flatMap((secret = '') => (secret.length < MIN_BODY_SECRET_CHARS ? [] : secretForms(secret)));
}

// The texts of at least four characters, each once and longer ones first, because they may contain others.
function longestFirst(texts: readonly string[]): string[] {
  const redactable = texts.filter(({ length }) => length >= MIN_SECRET_CHARS);
  return [...new Set(redactable)].sort((left, right) => right.length - left.length);
}

export const REDACTED = '[redacted]';

/** A text without some secrets, in these forms alone. */
export function replaceSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((before, secret) => before.replaceAll(secret, REDACTED), text);
}

/** The number of characters at the end of a cut text that begin a secret; 0 for fewer than `minChars`. */
export function trailingPrefixLength(text: string, secret: string, minChars: number): number {
  for (let length = Math.min(secret.length - 1, text.length); length >= minChars; length--) {
    if (text.endsWith(secret.slice(0, length))) return length;
  }
  return 0;
}

/**
 * The forms in which a server may return a value of four characters or more, longer ones first: unchanged, decoded as Latin-1 like headers, escaped as JSON once and
 * twice, as a step of a path, percent-encoded, and inside of any longer text that is base64.
 */
export function secretForms(secret: string): string[] {
  if (secret.length < MIN_SECRET_CHARS) return [];
  const rawForms = [secret, Buffer.from(secret).toString('latin1')];
  const escapedForms = rawForms.flatMap((text) => [text, ...jsonEscapedForms(text)]);
  const encodedForms = escapedForms.flatMap((text) => [
    ...jsonEscapedForms(text),
    formatJsonPath([text]),
    // A lone surrogate would throw an error.
    encodeURIComponent(Buffer.from(text).toString()),
    ...base64Forms(text),
  ]);
  return longestFirst([...escapedForms, ...encodedForms]);
}

// As JavaScript, Python and PHP write it.
function jsonEscapedForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const escapeNonAscii = (hexadecimal: (code: string) => string): string =>
    json.replace(/[^ -~]/g, (unit) => `\\u${hexadecimal(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`);
  const ascii = escapeNonAscii((code) => code);
  return [json, ascii, escapeNonAscii((code) => code.toUpperCase()), ascii.replaceAll('/', '\\/')];
}

// Three bytes are four characters, so the form depends on the offset. Characters that other bytes share are left out.
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((paddingBytes) => {
    const padded = Buffer.concat([Buffer.alloc(paddingBytes), bytes]);
    const range = [Math.ceil((paddingBytes * 8) / 6), Math.floor((padded.length * 8) / 6)] as const;
    return [padded.toString('base64').slice(...range), padded.toString('base64url').slice(...range)];
  });
}

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
  readonly stats: (text: string, fields: { readonly [name: string]: JsonValue }) => Promise<void>;
  /** A detail; only under `--verbose`. */
  readonly detail: (message: string) => Promise<void>;
  readonly isVerbose: boolean;
  readonly isQuiet: boolean;
  readonly failure: (failure: Failure) => Promise<void>;
  /** A chunk of the reasoning of a model: dimmed, or below a label without color; silent under `--quiet` and as JSON. */
  readonly reasoning: (text: string) => Promise<void>;
  /** Ends the reasoning, if any, so that the text of the response is set apart from it. */
  readonly endReasoning: () => Promise<void>;
}

interface ReporterOptions {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly isVerbose: boolean;
  readonly secrets: readonly string[];
}

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
    stats: (text, fields) =>
      stderr.write(isJson ? `${writeJson({ level: 'stats', ...fields })}\n` : `${text}\n`, 'dim'),
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
