/** A token of the built-in model: a word with the space before it. */
export interface Token {
  readonly text: string;
  readonly id: number;
}

// A typical vocabulary; ids only need to be stable.
const VOCABULARY_TOKENS = 32_000;

/** The tokens of a text; joined they are the text again. */
export function tokenizeText(text: string): Token[] {
  return (text.match(/\s*\S+|\s+$/gu) ?? []).map(createToken);
}

export function createToken(text: string): Token {
  return { text, id: hashText(text) % VOCABULARY_TOKENS };
}

/** A log probability of the likeliest token at a position: invented, above one half, and always the same. */
export function tokenLogprob({ text }: Token, position: number): number {
  return -(1 + (hashText(`${position}:${text}`) % 600)) / 1000;
}

/** A number from 0 to 2^32-1 that depends on every character of a text (FNV-1a); the same on every machine. */
export function hashText(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}
