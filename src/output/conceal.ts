// Shorter values would hide parts of ordinary words.
const SHORTEST = 4;

/** Keeps values out of whatever is said. */
export interface Concealer {
  /** Values that no text shows from now on. */
  readonly add: (secrets: readonly string[]) => void;
  /** The text with `[hidden]` for each of them, also where a server quotes them as JSON. */
  readonly clean: (text: string) => string;
}

/** A concealer of the values given; those of fewer than four characters are left, for they stand in every other word. */
export function concealer(given: readonly string[]): Concealer {
  let secrets: string[] = [];
  const add = (more: readonly string[]): void => {
    const forms = more.filter(({ length }) => length >= SHORTEST).flatMap((secret) => [secret, quoted(secret)]);
    // One that holds another goes first, or its rest would be left standing.
    secrets = [...new Set([...secrets, ...forms])].sort((left, right) => right.length - left.length);
  };
  add(given);
  return { add, clean: (text) => secrets.reduce((left, secret) => left.replaceAll(secret, '[hidden]'), text) };
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
