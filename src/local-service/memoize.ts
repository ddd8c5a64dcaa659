/** A function that computes the value of each text once. */
export function memoize<T>(compute: (text: string) => T): (text: string) => T {
  const results = new Map<string, T>();
  return (text) => {
    const result = results.get(text) ?? compute(text);
    results.set(text, result);
    return result;
  };
}
