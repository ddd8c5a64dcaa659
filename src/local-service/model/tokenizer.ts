import { Buffer } from 'node:buffer';
import { hashText } from './hash-text.ts';

/** A token of the built-in model: a word with the blank before it. */
export interface Token {
  readonly text: string;
  readonly id: number;
}

// Of the size that vocabularies have; the ids only need to be steady.
const VOCABULARY_TOKENS = 32_000;

/** The tokens of a text; joined they are the text again. */
export function tokenizeText(text: string): Token[] {
  return (text.match(/\s*\S+|\s+$/gu) ?? []).map(createToken);
}

/** One token of exactly this text. */
export function createToken(text: string): Token {
  return { text, id: hashText(text) % VOCABULARY_TOKENS };
}

/** A log probability of the likeliest token at a place: made up, more than even, and always the same. */
export function tokenLogprob({ text }: Token, position: number): number {
  return -(1 + (hashText(`${position}:${text}`) % 600)) / 1000;
}

/** The bytes of a token as numbers. */
export function tokenBytes({ text }: Token): number[] {
  return [...Buffer.from(text)];
}
