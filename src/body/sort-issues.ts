import type { Issue } from '../errors.ts';

/** Issues in the order of the text: file by file as they come, in each by line and column; those without a line first. */
export function sortIssuesByLocation<T extends Pick<Issue, 'at'>>(issues: readonly T[]): T[] {
  const files = new Map<string, number>();
  const located = issues.map((issue) => {
    // A byte of a file that is not text has no line: it is where reading ended.
    const [, file = '', line = 'Infinity', column = '0'] = /^(.*):(?:(\d+):(\d+)| byte \d+)$/.exec(issue.at) ?? [];
    if (!files.has(file)) files.set(file, files.size);
    return { issue, rank: [file === '' ? -1 : (files.get(file) ?? 0), Number(line), Number(column)] as const };
  });
  return located.sort((left, right) => compareRanks(left.rank, right.rank)).map(({ issue }) => issue);
}

function compareRanks(left: readonly [number, number, number], right: readonly [number, number, number]): number {
  const at = [0, 1, 2].find((index) => left[index] !== right[index]);
  return at === undefined ? 0 : (left[at] ?? 0) < (right[at] ?? 0) ? -1 : 1;
}
