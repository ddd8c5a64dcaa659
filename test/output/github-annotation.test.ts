import { expect, it } from 'vitest';
import { formatGithubAnnotation } from '../../src/output/failure-text.ts';

it.each([
  ['groups.jsonl:12:7', 'has no reward', '::error file=groups.jsonl,line=12,col=7,title=nan::has no reward'],
  ['a,b:1.json:3:4', '100%\r\nx', '::error file=a%2Cb%3A1.json,line=3,col=4,title=nan::100%25%0D%0Ax'],
  ['stdin:1:2', 'x', '::error line=1,col=2,title=nan::x'],
  ['groups.jsonl', 'x', '::error file=groups.jsonl,title=nan::x'],
  ['', 'x: y', '::error title=nan::x: y'],
])('%s: %j becomes a workflow command', (at, message, line) => {
  expect(formatGithubAnnotation({ level: 'error', title: 'nan', message, at })).toBe(line);
});
