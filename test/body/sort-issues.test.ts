import { expect, it } from 'vitest';
import { sortIssuesByLocation } from '../../src/body/sort-issues.ts';

it('sorts by file in order of appearance, then by line and column, issues without a line first', () => {
  const places = ['a.json:10:1', 'b:2.json:1:5', 'a.json:2:30', '--seed', 'a.json:2:4', 'b:2.json: byte 7', ''];
  expect(sortIssuesByLocation(places.map((at) => ({ at }))).map(({ at }) => at)).toEqual([
    '--seed',
    '',
    'a.json:2:4',
    'a.json:2:30',
    'a.json:10:1',
    'b:2.json:1:5',
    'b:2.json: byte 7',
  ]);
});
