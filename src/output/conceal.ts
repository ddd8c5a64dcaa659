import { formsOf } from './secret-forms.ts';

// Shorter values would hide parts of ordinary words.
const SHORTEST = 4;
// Of a secret that is cut, so much at the end of a text gives it away.
const SHORTEST_START = 6;

/** Keeps values out of whatever is said. */
export interface Concealer {
  /** Values that no text shows from now on. */
  readonly add: (secrets: readonly string[]) => void;
  /** The text with `[hidden]` for each of them, in whatever form a server may give them back. */
  readonly clean: (text: string) => string;
}

/** A concealer of the values given; those of fewer than four characters are left, for they stand in every other word. */
export function concealer(given: readonly string[]): Concealer {
  let secrets: string[] = [];
  const add = (more: readonly string[]): void => {
    const forms = more.flatMap(formsOf).filter(({ length }) => length >= SHORTEST);
    // One that holds another goes first, or its rest would be left standing.
    secrets = [...new Set([...secrets, ...forms])].sort((left, right) => right.length - left.length);
  };
  add(given);
  return {
    add,
    clean: (text) => {
      const left = secrets.reduce((before, secret) => before.replaceAll(secret, '[hidden]'), text);
      const start = Math.max(0, ...secrets.map((secret) => startAtEnd(left, secret)));
      return start === 0 ? left : `${left.slice(0, -start)}[hidden]`;
    },
  };
}

// How many characters at the end of a text are the start of a secret: a server, or the network, may cut what it says.
function startAtEnd(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length >= SHORTEST_START; length--) {
    if (text.endsWith(secret.slice(0, length))) return length;
  }
  return 0;
}
