export function closestMatch(word: string, candidates: Iterable<string>): string | undefined {
  return closestMatches(word, candidates)[0];
}

/** The candidates that the word may be a misspelling of, the closest first; never the word itself. */
export function closestMatches(word: string, candidates: Iterable<string>): string[] {
  const normalized = normalizeName(word);
  // At most a third of the letters may differ, and a single letter is no misspelling, so that short words do not match each other.
  if (normalized.length < 2) return [];
  const maxDistance = Math.floor(Math.max(normalized.length, 3) / 3);
  const near = [...new Set(candidates)].flatMap((candidate) => {
    const other = normalizeName(candidate);
    if (candidate === word || Math.abs(other.length - normalized.length) > maxDistance) return [];
    const distance = editDistance(normalized, other);
    return distance <= maxDistance ? [{ candidate, distance }] : [];
  });
  return near.sort((one, other) => one.distance - other.distance).map(({ candidate }) => candidate);
}

// People take `topK`, `top-k` and `top_k` for the same name.
function normalizeName(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, '');
}

// Optimal string alignment distance: insertions, deletions, substitutions and transpositions.
function editDistance(a: string, b: string): number {
  const rows: number[][] = [];
  const costAt = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 0; row <= a.length; row++) {
    const costs: number[] = [];
    rows.push(costs);
    for (let column = 0; column <= b.length; column++) {
      const replaced = costAt(row - 1, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const isTransposed = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const transposed = isTransposed ? costAt(row - 2, column - 2) + 1 : replaced;
      const cost = Math.min(costAt(row - 1, column) + 1, costAt(row, column - 1) + 1, replaced, transposed);
      costs.push(row + column === 0 ? 0 : cost);
    }
  }
  return costAt(a.length, b.length);
}

export function joinWithOr(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
