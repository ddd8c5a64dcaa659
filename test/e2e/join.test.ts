import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { temporaryDirectory } from '../support/svc.ts';

const checkpoint =
  '"checkpoint":{"input":"0123456789abcdef","run":"01a1fd65-c7c7-7d58-a39c-000000000000","operation":"/v1/chat/completions","shard":"1/1"}';
const result = (line: number, response: string): string =>
  `{"line":${line},"id":"row ${line}","status":200,"exit_code":0,"applied":"yes","response":${response},"attempts":1,"ms":1,${checkpoint}}\n`;

// A table of rows, and the results of a batch that sent them.
async function joinResults(responses: readonly string[], columns: readonly string[], ...flags: string[]) {
  const cwd = temporaryDirectory();
  const rows = responses.map((_, at) => `row ${at + 1}\n`).join('');
  writeFileSync(join(cwd, 'rows.csv'), `name\n${rows}`);
  writeFileSync(join(cwd, 'out.jsonl'), responses.map((response, at) => result(at + 1, response)).join(''));
  const args = [
    'batch',
    'merge',
    'out.jsonl',
    '--join',
    'rows.csv',
    '-o',
    'all.csv',
    '--columns',
    ...columns,
    ...flags,
  ];
  const { code, stderr } = await runBuilt(args, { cwd });
  expect(code, stderr).toBe(0);
  return { stderr, table: readFileSync(join(cwd, 'all.csv'), 'utf8') };
}

describe('batch merge --join --columns', () => {
  it.each([1, 2, 3, 500])('warns about values that jq changes, with %d rows', async (count) => {
    for (const [value, warning] of [
      ['1e1000000000', '--jq may print another number for 1e1000000000'],
      ['"a\\ud800"', '--jq prints U+FFFD for half of a surrogate pair in "a\\ud800"'],
    ]) {
      const responses = Array.from({ length: count }, (_, at) => (at === count - 1 ? (value ?? '') : '1'));
      const { stderr } = await joinResults(responses, ['value=.response']);
      expect(stderr.split(`svc: warning: ${warning}\n`), stderr).toHaveLength(2);
    }
    const { stderr } = await joinResults(
      Array.from({ length: count }, () => '"\\ud83d\\ude00 1e999"'),
      ['value=.response'],
    );
    expect(stderr).not.toContain('warning');
  });

  it('says where the filter of an empty column belongs, and how a column that jq cannot read is written', async () => {
    const { stderr } = await joinResults(['{}'], ['a=.choices[0].message.content']);
    expect(stderr).toContain('is empty in every row; write .response.choices[0].message.content\n');
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'rows.csv'), 'name\nrow 1\n');
    writeFileSync(join(cwd, 'out.jsonl'), result(1, '{}'));
    for (const [column, hint] of [
      ['a=content', 'did you mean a=text?'],
      ['answer', 'did you mean answer=text?'],
      ['a=tokens', 'did you mean a=prompt_tokens, a=completion_tokens or a=cached_tokens?'],
      ['a=choices[0].text', "did you mean --columns 'a=.response.choices[0].text'?"],
      ['a=text b=cost', 'separate them by commas: --columns a=text,b=cost'],
      ['a=.x[', 'close the [, or see https://jqlang.org/manual for the syntax'],
    ] as const) {
      const args = ['batch', 'merge', 'out.jsonl', '--join', 'rows.csv', '--columns', column];
      const { code, stderr } = await runBuilt(args, { cwd });
      expect(code, stderr).toBe(2);
      expect(stderr.endsWith(`\n  ${hint}\n`), stderr).toBe(true);
    }
    const failed = await joinResults(['{}'], ['a=.response|fromjson', '--columns', 'b=text,b=cost,']);
    expect(failed.stderr).toContain('--columns a: .response|fromjson is empty in every row: object ({}) only strings');
    expect(failed.stderr).toContain('--columns has two columns b; give each its own name\n');
  });
});
