import { Buffer } from 'node:buffer';
import { hash } from './hash.ts';

/** A token of the built-in model: a word with the blank before it. */
export interface Token {
  readonly text: string;
  readonly id: number;
}

// Of the size that vocabularies have; the ids only need to be steady.
const VOCABULARY = 32_000;

/** The tokens of a text; joined they are the text again. */
export function tokensOf(text: string): Token[] {
  return (text.match(/\s*\S+|\s+$/gu) ?? []).map(tokenOf);
}

/** One token of exactly this text. */
export function tokenOf(text: string): Token {
  return { text, id: hash(text) % VOCABULARY };
}

/** A log probability of the likeliest token at a place: made up, more than even, and always the same. */
export function logprobOf({ text }: Token, place: number): number {
  return -(1 + (hash(`${place}:${text}`) % 600)) / 1000;
}

/** The bytes of a token as numbers. */
export function bytesOf({ text }: Token): number[] {
  return [...Buffer.from(text)];
}
