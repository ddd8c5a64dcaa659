import { longestFirst, secretForms } from '../output/redact.ts';
import type { Runtime } from '../runtime.ts';

/** Keeps secrets out of what is recorded about a command (docs/contract.md section 12). */
export interface ArgumentRedactor {
  /** A text without secret values, values next to secret names, and the user information of URLs. */
  readonly redactText: (text: string) => string;
  /** The arguments of a command, each as a text, and without the words that follow secret flags. */
  readonly redactArguments: (words: readonly string[]) => string[];
  /** The value of a variable. */
  readonly redactVariable: (name: string, value: string) => string;
}

const REDACTED = '[redacted]';

// `-u` of curl and `-p` of others are too ambiguous to guess.
const SECRET_FLAG = /^--?([A-Za-z][\w-]+)$/;

// A text that begins with a secret assignment or header is secret to its end. Elsewhere a value ends with its quotes,
// or at a separator. No pattern may start inside of a name: arguments can be long, and the time has to stay linear.
const LEADING_VALUE = /^((?:--?)?([A-Za-z][\w.-]*)\s*(?:=|:\s*))\S.*/s;
const ASSIGNED_VALUE =
  /(?<![\w.-])((?:--?)?([A-Za-z][\w.-]*)["']?\s*[=:]\s*)("[^"]*"?|'[^']*'?|(?:(?:Basic|Bearer|Token)\s+)?[^\s"'`;&|)},#]+)/gi;
const FLAG_VALUE = /(?<![\w.-])(--?([A-Za-z][\w-]+)\s+)("[^"]*"?|'[^']*'?|[^\s"'`;&|)-][^\s"'`;&|)]*)/g;

/** Creates the redactor of a run: secret are `secrets`, and the values of variables whose names say so. */
export function createArgumentRedactor(env: Runtime['env'], secrets: readonly string[]): ArgumentRedactor {
  const named = Object.entries(env).flatMap(([name, value]) => (value && isSecretName(name) ? [value] : []));
  const values = longestFirst(longestFirst([...secrets, ...named]).flatMap(secretForms));
  const redactText = (text: string): string =>
    [LEADING_VALUE, ASSIGNED_VALUE, FLAG_VALUE].reduce(
      (before, pattern) =>
        before.replace(pattern, (match, start: string, name: string) =>
          isSecretName(name) ? `${start}${REDACTED}` : match,
        ),
      values
        .reduce((before, value) => before.replaceAll(value, REDACTED), text)
        .replace(/:\/\/[^/?#\s]*@/g, `://${REDACTED}@`),
    );
  return {
    redactText,
    redactArguments: (words) => {
      let isSecretNext = false;
      return words.map((word) => {
        const isValue = isSecretNext;
        isSecretNext = isSecretName(SECRET_FLAG.exec(word)?.[1] ?? '');
        return isValue && !isSecretNext ? REDACTED : redactText(word);
      });
    },
    redactVariable: (name, value) => (isSecretName(name) ? REDACTED : redactText(value)),
  };
}

// The name of a variable, flag, header or parameter that says that its value is secret. PWD is the working directory.
function isSecretName(name: string): boolean {
  if (name === 'PWD') return false;
  return /passw|passphrase|secret|token|credential|cookie|authorization|signature|private|(^|[-_.])(auth|pwd|pass|pat|sig)($|[-_.])|api[-_.]?key|access[-_.]?key|(^|[-_.])key$|apikey/i.test(
    name,
  );
}
