import { secretForms } from './secret-forms.ts';

// Shorter values are parts of ordinary words.
const MIN_SECRET_CHARS = 4;
// A shorter beginning of a secret at the end of a text does not reveal it.
const MIN_PREFIX_CHARS = 6;

/** Removes secrets from texts. */
export interface Redactor {
  /** Further values to redact from now on. */
  readonly addSecrets: (secrets: readonly string[]) => void;
  /** The text with `[hidden]` in place of each secret, in any encoding in which a server may return it. */
  readonly redact: (text: string) => string;
}

/** A redactor of these values. Values of fewer than four characters are not redacted. */
export function createRedactor(initialSecrets: readonly string[]): Redactor {
  let secrets: string[] = [];
  const addSecrets = (newSecrets: readonly string[]): void => {
    const forms = newSecrets.flatMap(secretForms).filter(({ length }) => length >= MIN_SECRET_CHARS);
    // Longer secrets first: they may contain others.
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

// The number of characters at the end of a text that begin a secret: a server or the network may cut a text.
function trailingPrefixLength(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length >= MIN_PREFIX_CHARS; length--) {
    if (text.endsWith(secret.slice(0, length))) return length;
  }
  return 0;
}
