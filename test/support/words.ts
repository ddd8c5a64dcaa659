/** The words of a command line as a shell splits them: spaces, single and double quotes. */
export function shellWords(line: string): string[] {
  const pieces = line.matchAll(/\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\s'"]+)/g);
  const words: string[] = [];
  let word: string | undefined;
  for (const [all, single, double, bare] of pieces) {
    if (all.trim() === '') {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + (single ?? double?.replace(/\\(.)/g, '$1') ?? bare ?? '');
    }
  }
  return word === undefined ? words : [...words, word];
}
