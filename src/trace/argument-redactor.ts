import { longestFirst, REDACTED, replaceSecrets, secretForms } from '../output/reporter.ts';
import type { Runtime } from '../runtime.ts';
import { redactNamedValues, secretArgumentIndexes } from './named-values.ts';
import { isSecretName } from './secret-name.ts';
import { redactSecretShapes } from './secret-shapes.ts';

/** Keeps secrets out of what is recorded about a command (docs/contract.md, section 12). */
export interface ArgumentRedactor {
  /** A text without secret values, values next to secret names, and texts with the shape of a secret. */
  readonly redactText: (text: string) => string;
  /** The arguments of a command, each as a text, and without the words that follow secret flags. */
  readonly redactArguments: (words: readonly string[]) => string[];
  readonly redactVariable: (name: string, value: string) => string;
}

// Switches and small numbers are parts of ordinary words, whatever the name of their variable.
const ORDINARY_VALUE = /^(?:true|false|\d{1,5})$/i;

/** Creates the redactor of a run. It redacts `secrets`, and the values of variables whose names mark them as secret. */
export function createArgumentRedactor(env: Runtime['env'], secrets: readonly string[]): ArgumentRedactor {
  const named = Object.entries(env).flatMap(([name, value]) =>
    value && isSecretName(name) && !ORDINARY_VALUE.test(value) ? [value] : [],
  );
  const values = longestFirst(longestFirst([...secrets, ...named]).flatMap(secretForms));
  const redactText = (text: string): string => redactNamedValues(redactSecretShapes(replaceSecrets(text, values)));
  return {
    redactText,
    redactArguments: (words) => {
      const secretIndexes = secretArgumentIndexes(words);
      return words.map((word, at) => (secretIndexes.has(at) ? REDACTED : redactText(word)));
    },
    redactVariable: (name, value) => (isSecretName(name) ? REDACTED : redactText(value)),
  };
}
