import type { Issue } from '../errors.ts';

/** Issues in the order of the text: file by file as they come, in each by line and column; those without a line first. */
export function sortIssuesByLocation<T extends Pick<Issue, 'at'>>(issues: readonly T[]): T[] {
  const files = new Map<string, number>();
  const located = issues.map((issue) => {
    // A byte of a file that is not text has no line: it is where reading ended.
    const [, file = '', line = 'Infinity', column = '0'] = /^(.*):(?:(\d+):(\d+)| byte \d+)$/.exec(issue.at) ?? [];
    if (!files.has(file)) files.set(file, files.size);
    return { issue, file: file === '' ? -1 : (files.get(file) ?? 0), line: Number(line), column: Number(column) };
  });
  located.sort((one, other) => one.file - other.file || one.line - other.line || one.column - other.column);
  return located.map(({ issue }) => issue);
}
