import { expect, it } from 'vitest';
import { formatGithubAnnotation } from '../../src/output/failure-text.ts';

it.each([
  [
    { label: 'groups.jsonl', line: 12, column: 7 },
    'has no reward',
    '::error file=groups.jsonl,line=12,col=7,title=nan::has no reward',
  ],
  [
    { label: 'a,b:1.json', line: 3, column: 4 },
    '100%\r\nx',
    '::error file=a%2Cb%3A1.json,line=3,col=4,title=nan::100%25%0D%0Ax',
  ],
  [{ label: 'stdin', line: 1, column: 2 }, 'x', '::error line=1,col=2,title=nan::x'],
  [{ label: 'groups.jsonl' }, 'x', '::error file=groups.jsonl,title=nan::x'],
  [undefined, 'x: y', '::error title=nan::x: y'],
])('%s: %j becomes a workflow command', (at, message, line) => {
  expect(formatGithubAnnotation({ level: 'error', title: 'nan', message, at })).toBe(line);
});
