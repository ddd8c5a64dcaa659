const PREFIX = '  | ';
// What a line of svc and a workflow command of GitHub begin with; the runner ignores white space before it.
const POSING = /^\s*(?:svc:|::)/;
const UNDECIDED = /^\s*(?:s|sv|svc|:)?$/;

/**
 * A message on stderr whose further lines begin with `  | `: text of a service imitates neither svc nor a workflow command of
 * GitHub, which `##[` begins anywhere in a line. Of a chunk, `before` is the end of the text before it.
 */
export function markFurtherLines(text: string, before = ''): string {
  const mark = (found: string, at: number): string => (at < before.length ? found : found === '[' ? '\\[' : PREFIX);
  return (before + text).replace(/(?<=\n)(?=[^\n])|(?<=##)\[/g, mark).slice(before.length);
}

/** As markFurtherLines, and the first line too if it imitates one of svc or a command. */
export function markForeignLines(text: string): string {
  return (POSING.test(text) ? PREFIX : '') + markFurtherLines(text);
}

/** As markForeignLines, for a text in chunks. The first characters are held back until they decide. */
export function createForeignTextMarker() {
  let held: string | undefined = '';
  let end = '';
  return {
    push: (text: string): string => {
      if (held === undefined) {
        const marked = markFurtherLines(text, end);
        end = (end + text).slice(-2);
        return marked;
      }
      held += text;
      if (UNDECIDED.test(held)) return '';
      const marked = markForeignLines(held);
      [end, held] = [held.slice(-2), undefined];
      return marked;
    },
    flush: (): string => held ?? '',
  };
}
