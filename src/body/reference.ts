import type { Tools } from './tools.ts';

/** The bytes `@file` or `@-` names. Throws Failure `local` where they cannot be read. */
export function readReference(word: string, { inputs }: Pick<Tools, 'inputs'>): Promise<Uint8Array> {
  return inputs.read(word.slice(1));
}

/** What to call the source `@file` or `@-` names in messages; undefined for a word that is no reference. */
export function referenceLabel(word: string): string | undefined {
  if (!word.startsWith('@')) return undefined;
  return word === '@-' ? 'stdin' : word.slice(1);
}
