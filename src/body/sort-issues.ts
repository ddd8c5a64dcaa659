import type { Issue } from '../errors.ts';

/**
 * Issues in the order of the text: those without a line, then file by file, in each by line and column. The files in `lastFiles`
 * follow all others, in that order.
 */
export function sortIssuesByLocation<T extends Pick<Issue, 'at'>>(
  issues: readonly T[],
  lastFiles: readonly string[] = [],
): T[] {
  const located = issues.map((issue) => {
    const [, file = '', line = '0', column = '0'] = /^(.*):(\d+):(\d+)$/.exec(issue.at) ?? [];
    return { issue, file, line: Number(line), column: Number(column) };
  });
  const otherFiles = located.map(({ file }) => file).filter((file) => !lastFiles.includes(file));
  const ranks = new Map([...new Set(['', ...otherFiles, ...lastFiles])].map((file, rank) => [file, rank]));
  const rankOf = (file: string): number => ranks.get(file) ?? 0;
  located.sort(
    (one, other) => rankOf(one.file) - rankOf(other.file) || one.line - other.line || one.column - other.column,
  );
  return located.map(({ issue }) => issue);
}
