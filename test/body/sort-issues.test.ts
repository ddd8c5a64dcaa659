import { expect, it } from 'vitest';
import { sortIssuesByLocation } from '../../src/body/body-check.ts';

it('sorts by file in order of appearance, then by line and column, issues without a line first', () => {
  const places = ['a.json:10:1', 'b:2.json:1:5', 'a.json:2:30', '--seed', 'a.json:2:4', ''];
  expect(sortIssuesByLocation(places.map((at) => ({ at }))).map(({ at }) => at)).toEqual([
    '--seed',
    '',
    'a.json:2:4',
    'a.json:2:30',
    'a.json:10:1',
    'b:2.json:1:5',
  ]);
});

it('sorts files that were streamed in their order, after all others', () => {
  const places = ['b.json:1:2', 'a.json:1:29', 'body.json:1:1', 'a.json:1:5', '--seed'];
  const sorted = sortIssuesByLocation(
    places.map((at) => ({ at })),
    ['a.json', 'b.json'],
  );
  expect(sorted.map(({ at }) => at)).toEqual(['--seed', 'body.json:1:1', 'a.json:1:5', 'a.json:1:29', 'b.json:1:2']);
});
