/** The form of a noun for a count: `line` for 1, else `lines`. */
export function pluralize(count: number, singular: string, plural = `${singular}s`): string {
  return count === 1 ? singular : plural;
}
