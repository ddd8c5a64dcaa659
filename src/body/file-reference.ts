import type { BodyDependencies } from './input-reader.ts';

/** The bytes `@file` or `@-` names. Throws Failure `local` where they cannot be read. */
export function readFileReference(word: string, { inputs }: Pick<BodyDependencies, 'inputs'>): Promise<Uint8Array> {
  return inputs.read(word.slice(1));
}

/** What to call the source `@file` or `@-` names in messages; undefined for a word that is no reference. */
export function fileReferenceLabel(word: string): string | undefined {
  if (!word.startsWith('@')) return undefined;
  return word === '@-' ? 'stdin' : word.slice(1);
}

/** The end of a message about an argument that is not JSON: how to read a file, if the argument looks like its name. */
export function fileReferenceHint(word: string): string {
  return /^[\w./~-]+\.\w+$/.test(word) ? `; to read a file, write @${word}` : '';
}
