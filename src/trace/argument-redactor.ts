import { createRedactor, REDACTED } from '../output/reporter.ts';
import type { Runtime } from '../runtime.ts';

/** Keeps secrets out of what is recorded about a command (docs/tracing.md). */
export interface ArgumentRedactor {
  /** A text without secret values, the values of assignments and flags with secret names, and the passwords of URLs. */
  readonly redactText: (text: string) => string;
  /** The arguments of a command, each as a text, and without the words that follow secret flags. */
  readonly redactArguments: (words: readonly string[]) => string[];
  readonly redactVariable: (name: string, value: string) => string;
}

const SECRET_NAME =
  /(?<!by|com|tres)pass\b|pass(w|phrase|code)|secret|token|bearer|credential|cookie|authorization|signature|private|pwd?\b|\b(auth|pat|sig|jwt|otp|psk)\b|api-?key|access-?key|\bkey$/;

// Counts of tokens and keys of data, and words that only begin like a secret one.
const ORDINARY_NAME =
  /\b(max|min|num|n)-?((new|input|output|prompt|completion|context)-?)*tokens?\b|\b(total|remaining|prompt|completion)-?tokens\b|\btokens?-(count|limit|budget|length|type|per)\b|tokeni[sz]\w*|secretar(y|ies)\b|\bpass-(rate|count)\b|\b(public|primary|foreign|sort|partition|cache|idempotency)-?key\b/g;

// Switches and small numbers are parts of ordinary words, whatever the name of their variable.
const ORDINARY_VALUE = /^(?:true|false|\d{1,5})$/i;

const FLAG = /^--?[A-Za-z][\w-]*$/;
// `NAME=`, `--name=` and, in a script, `--name `, without the value, which may hold an assignment itself: `--env=TOKEN=x`.
const ASSIGNMENT = /(?<![\w.-])(?:([\w.-]+)=|(--?[A-Za-z][\w-]*)\s+(?!-))/g;
const VALUE = /(?:"[^"]*"?|'[^']*'?|[^\s"'&;|])*/y;
const USER_INFO = /:\/\/[^/?#\s]*@/g;

/** Creates the redactor of a run. It redacts `secrets`, and the values of variables whose names mark them as secret. */
export function createArgumentRedactor(env: Runtime['env'], secrets: readonly string[]): ArgumentRedactor {
  const named = Object.entries(env).flatMap(([name, value]) =>
    value && isSecretName(name) && !ORDINARY_VALUE.test(value) ? [value] : [],
  );
  const { redact } = createRedactor([...secrets, ...named]);
  const redactText = (text: string): string => redactAssignments(redact(text).replace(USER_INFO, `://${REDACTED}@`));
  return {
    redactText,
    redactArguments: (words) =>
      words.map((word, at) => {
        const flag = words[at - 1] ?? '';
        return FLAG.test(flag) && isSecretName(flag) && !FLAG.test(word) ? REDACTED : redactText(word);
      }),
    redactVariable: (name, value) => (isSecretName(name) ? REDACTED : redactText(value)),
  };
}

function isSecretName(name: string): boolean {
  // The working directories of a shell.
  if (/^(OLD)?PWD$/.test(name)) return false;
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .replace(/[_.]/g, '-')
    .toLowerCase();
  return SECRET_NAME.test(words.replace(ORDINARY_NAME, ''));
}

function redactAssignments(text: string): string {
  let redacted = '';
  let end = 0;
  for (const { 0: start, 1: name, 2: flag = '', index } of text.matchAll(ASSIGNMENT)) {
    const valueStart = index + start.length;
    VALUE.lastIndex = valueStart;
    if (index < end || !isSecretName(name ?? flag) || !VALUE.test(text) || VALUE.lastIndex === valueStart) continue;
    redacted += `${text.slice(end, valueStart)}${REDACTED}`;
    // A word that is an assignment ends with its value.
    end = index === 0 && name !== undefined ? text.length : VALUE.lastIndex;
  }
  return redacted + text.slice(end);
}
