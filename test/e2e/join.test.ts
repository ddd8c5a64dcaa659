import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resultColumns } from '../../src/batch/store/result-export.ts';
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
    expect(failed.stderr).toContain('two columns are called b; give each its own name\n');
  });

  // A table with a column that is also a name of the results, one with a comma, and an id that identifies no row.
  const tables = {
    'rows.csv': 'id,text,"a, b"\n1,"Great, really",=x\n2,,\n3,no,\n',
    'quoted.csv': '"id","text","a, b"\n"1","Great, really","=x"\n"2","",""\n"3","no",""\n',
    'rows.tsv': 'id\ttext\ta, b\n1\tGreat, really\t=x\n2\t\t\n3\tno\t\n',
  };
  const merge = (table: keyof typeof tables, ...columns: string[]) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, table), tables[table]);
    const answer = (text: string): string => JSON.stringify({ choices: [{ message: { content: text } }] });
    const answers = ['{"label":"good","note":"a, b"}', '{"label":"bad"}'];
    writeFileSync(join(cwd, 'out.jsonl'), answers.map((text, at) => result(at + 1, answer(text))).join(''));
    const flags = columns.flatMap((column) => ['--columns', column]);
    return runBuilt(['batch', 'merge', 'out.jsonl', '--join', table, ...flags], { cwd });
  };

  it.each([
    ['rows.csv', ['label=(text|fromjson|.label)', 'id'], 'label,id\ngood,1\nbad,2\n,3\n'],
    ['rows.csv', ['id,text', 'text=.line'], 'id,text,text\n1,"Great, really",1\n2,,2\n3,no,\n'],
    ['rows.csv', ['a, b', 'note=text|fromjson|.note'], '"a, b",note\n=x,"a, b"\n,\n,\n'],
    ['rows.csv', ['text=.missing'], `${tables['rows.csv'].replaceAll('\n', ',\n').replace('b",\n', 'b",text\n')}`],
    ['rows.csv', ['a, b'], '"a, b"\n=x\n""\n""\n'],
    ['quoted.csv', ['n=.line,id'], '"n","id"\n1,"1"\n2,"2"\n,"3"\n'],
    ['rows.tsv', ['id,ms=latency_ms*2'], 'id\tms\n1\t2\n2\t2\n3\t\n'],
  ] as const)('selects columns of the table by name, in the given order: %s %j', async (table, columns, expected) => {
    const { stdout, stderr, code } = await merge(table, ...columns);
    expect({ stdout, code }, stderr).toEqual({ stdout: expected, code: 10 });
  });

  it('names the column of the table that a name may mean, and one that is a name of the results, too', async () => {
    for (const [column, hint] of [
      ['idd', 'did you mean id?'],
      ['texts', 'did you mean text or texts=text?'],
      ['a. b', 'did you mean a, b?'],
    ] as const) {
      const { code, stderr } = await merge('rows.csv', column);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`\n  ${hint}\n`)]);
    }
    const warning = '--columns text is a column of the table; for that of the results, write new_name=text\n';
    expect((await merge('rows.csv', 'id,text')).stderr).toContain(warning);
    expect((await merge('rows.csv', 'id,text,answer=text')).stderr).not.toContain(warning);
    expect((await merge('rows.csv', 'text=.line')).stderr).toContain('two columns are called text; give');
    expect((await merge('rows.csv', 'id,text=.line')).stderr).not.toContain('warning: two');
  });

  it('escapes the cells of selected columns, and counts them alone', async () => {
    expect((await merge('rows.csv', 'id,n=.line')).stderr).not.toContain('begins with');
    expect((await merge('rows.csv', 'a, b', 'n=.line')).stderr).toContain('1 cell begins with');
  });

  it('defines the names of columns for filters, but none that jq has', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'out.jsonl'), result(1, '{}'));
    const { stdout } = await runBuilt(['batch', 'merge', 'out.jsonl', '--jq', 'builtins[]'], { cwd });
    const builtins = stdout.split('\n').map((name) => name.replace(/\/0$/, ''));
    expect([...resultColumns.keys()].filter((name) => builtins.includes(name))).toEqual(['error']);
    for (const name of resultColumns.keys()) {
      const { stderr } = await merge('rows.csv', `a=[${name}]`, 'b=try (1|error) catch .');
      expect(stderr.includes('is empty in every row'), stderr).toBe(name === 'error');
    }
    const { stderr } = await merge('rows.csv', 'a=(text|fromjsn)');
    expect(stderr).not.toContain('def ');
    expect(stderr).toContain('fromjsn/0 is not defined:');
  });
});
