export function closestMatch(word: string, candidates: Iterable<string>): string | undefined {
  const normalized = normalizeName(word);
  let best: string | undefined;
  // At most a third of the letters may differ, and a single letter is no misspelling, so that short words do not match each other.
  if (normalized.length < 2) return undefined;
  let minDistance = Math.floor(Math.max(normalized.length, 3) / 3) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(normalized, normalizeName(candidate), minDistance);
    if (distance < minDistance) [best, minDistance] = [candidate, distance];
  }
  return best;
}

// People take `topK`, `top-k` and `top_k` for the same name.
function normalizeName(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, '');
}

// Optimal string alignment distance: insertions, deletions, substitutions and transpositions. From `limit` on it is inexact.
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isTransposition = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isTransposition) cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    [beforeLast, last] = [last, current];
  }
  return last[b.length] ?? limit;
}

export function joinWithOr(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
