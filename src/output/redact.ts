import { secretForms } from './secret-forms.ts';

// Shorter values would hide parts of ordinary words.
const MIN_SECRET_CHARS = 4;
// Of a secret that is cut, so much at the end of a text gives it away.
const MIN_PREFIX_CHARS = 6;

/** Keeps values out of whatever is said. */
export interface Redactor {
  /** Values that no text shows from now on. */
  readonly addSecrets: (secrets: readonly string[]) => void;
  /** The text with `[hidden]` for each of them, in whatever form a server may give them back. */
  readonly redact: (text: string) => string;
}

/** A concealer of the values given; those of fewer than four characters are left, for they stand in every other word. */
export function createRedactor(initialSecrets: readonly string[]): Redactor {
  let secrets: string[] = [];
  const addSecrets = (newSecrets: readonly string[]): void => {
    const forms = newSecrets.flatMap(secretForms).filter(({ length }) => length >= MIN_SECRET_CHARS);
    // One that holds another goes first, or its rest would be left standing.
    secrets = [...new Set([...secrets, ...forms])].sort((left, right) => right.length - left.length);
  };
  addSecrets(initialSecrets);
  return {
    addSecrets,
    redact: (text) => {
      const left = secrets.reduce((before, secret) => before.replaceAll(secret, '[hidden]'), text);
      const start = Math.max(0, ...secrets.map((secret) => trailingPrefixLength(left, secret)));
      return start === 0 ? left : `${left.slice(0, -start)}[hidden]`;
    },
  };
}

// How many characters at the end of a text are the start of a secret: a server, or the network, may cut what it says.
function trailingPrefixLength(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length >= MIN_PREFIX_CHARS; length--) {
    if (text.endsWith(secret.slice(0, length))) return length;
  }
  return 0;
}
