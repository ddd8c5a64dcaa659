import { expect, it } from 'vitest';
import { sortIssuesByLocation } from '../../src/body/body-check.ts';
import type { Issue, Place } from '../../src/errors.ts';
import { formatPlace } from '../../src/output/failure-text.ts';

function at(label: string, line?: number, column?: number): { at: Place } {
  return { at: { label, ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) } };
}

function textsOf(issues: readonly Pick<Issue, 'at'>[]): string[] {
  return issues.map((issue) => formatPlace(issue.at));
}

it('sorts by file in order of appearance, then by line and column, issues without a line first', () => {
  const issues = [
    at('a.json', 10, 1),
    at('b:2.json', 1, 5),
    at('a.json', 2, 30),
    at('--seed'),
    at('a.json', 2, 4),
    { at: undefined },
  ];
  expect(textsOf(sortIssuesByLocation(issues))).toEqual([
    '--seed',
    '',
    'a.json:2:4',
    'a.json:2:30',
    'a.json:10:1',
    'b:2.json:1:5',
  ]);
});

it('sorts files that were streamed in their order, after all others', () => {
  const issues = [at('b.json', 1, 2), at('a.json', 1, 29), at('body.json', 1, 1), at('a.json', 1, 5), at('--seed')];
  const sorted = sortIssuesByLocation(issues, ['a.json', 'b.json']);
  expect(textsOf(sorted)).toEqual(['--seed', 'body.json:1:1', 'a.json:1:5', 'a.json:1:29', 'b.json:1:2']);
});
