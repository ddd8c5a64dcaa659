import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt as runProgram } from '../support/built.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { type Setting, svc, temporaryDirectory } from '../support/svc.ts';

const reply = {
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
};

/** A directory with a file of rows, and a server that keeps the bodies it gets. */
async function scene(name: string, content: string | Uint8Array) {
  const cwd = temporaryDirectory();
  const bodies: string[] = [];
  const server = await countingServer(
    (body) => body,
    (body, response) => {
      bodies.push(body.text);
      answerJson(
        response,
        body.text.includes('messages') ? reply : { id: 'f', created_at: '2026-01-01T00:00:00Z', payload: {} },
      );
    },
  );
  writeFileSync(join(cwd, name), content);
  const env = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url };
  const run = (args: readonly string[], setting: Setting = {}) => svc(args, { cwd, env, ...setting });
  // jq runs in a thread of the built program.
  const runBuilt = (args: readonly string[]) => runProgram(args, { cwd });
  const results = (file = 'out.jsonl') =>
    readFileSync(join(cwd, file), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { cwd, bodies, run, runBuilt, results };
}

const chat = ['chat', '-m', 'M', '--exact', '--concurrency', '1'];
const prompt = ['--set', 'messages:=[{"role":"user","content":"{{text}}"}]'];
const contentOf = (body: string): string => JSON.parse(body).messages.at(-1).content;

const table =
  '\ufeffid,text,score\r\n7,"a ""b"", c",9007199254740993\r\n8,"two\nlines",1.50\r\n9,@/etc/passwd,-0e1\r\n';

describe('rows', () => {
  it('of CSV become bodies, with every character and digit', async () => {
    const { bodies, run, results } = await scene('rows.csv', table);
    const set = ['--set', 'metadata.s:={{score:json}}', '--set', 'metadata.t={{score}}', '--id-column', 'id'];
    const { code, stderr } = await run([
      ...chat,
      '--rows',
      'rows.csv',
      'Classify {{#}}: {{text}}',
      ...set,
      '-o',
      'out.jsonl',
    ]);
    expect(code, stderr).toBe(0);
    expect(bodies.map(contentOf)).toEqual([
      'Classify 1: a "b", c',
      'Classify 2: two\nlines',
      'Classify 3: @/etc/passwd',
    ]);
    expect(bodies.map((body) => /"s":(\S+?),"t":(".*?")/.exec(body)?.slice(1))).toEqual([
      ['9007199254740993', '"9007199254740993"'],
      ['1.50', '"1.50"'],
      ['-0e1', '"-0e1"'],
    ]);
    expect(results().map(({ line, id }) => [line, id])).toEqual([
      [1, '7'],
      [2, '8'],
      [3, '9'],
    ]);
  });

  it.for([
    ['of a table', 'rows.csv', 'id,text\n7,a\n8,b\n', [], 1],
    ['of JSON Lines', 'rows.jsonl', '{"id":7,"text":"a"}\n{"id":8,"text":"b"}\n', [], 1],
    ['of a table without an id', 'rows.csv', 'key,text\n7,a\n', [], 0],
    ['of JSON Lines without an id', 'rows.jsonl', '{"text":"a"}\n', [], 0],
    ['with --id-column', 'rows.csv', table, ['--id-column', 'id'], 0],
    ['with --quiet', 'rows.csv', table, ['-q'], 0],
    ['of an earlier run', 'rows.csv', table, ['--resume'], 0],
  ] as const)('%s have a note about an id that the results lack', async ([, name, text, flags, notes]) => {
    const { run } = await scene(name, text);
    const args = [...chat, '--rows', name, '{{text}}', '-o', 'out.jsonl'];
    if (flags[0] === '--resume') await run(args);
    const { code, stderr } = await run([...args, ...flags]);
    expect(code, stderr).toBe(0);
    expect(stderr.split('--id-column id puts it into the results')).toHaveLength(notes + 1);
  });

  it.for([
    ['--prompt', ['--prompt', 'x {{text}}'], 'x t"1'],
    ['a file', ['--prompt', '@sys.txt'], 'About t"1'],
    ['JSON with quotes in a string', prompt, 't"1'],
    ['JSON in a text', ['--prompt', '{"a": {{n:json}}, "b": "{{text}}"}'], '{"a": 1.0, "b": "t"1"}'],
    ['literal braces', ['--prompt', '{{"{{"}}text}} {{ text }}'], '{{text}} t"1'],
    ['a number', ['--prompt', 'x', '--temperature', '{{n}}'], 'x'],
  ] as const)('fill %s', async ([, flags, content]) => {
    const { cwd, bodies, run } = await scene('rows.jsonl', '{"text":"t\\"1","n":1.0}\n\n{"text":"t\\"1","n":1.0}');
    writeFileSync(join(cwd, 'sys.txt'), 'About {{text}}');
    const { code, stderr } = await run([...chat, '--rows', 'rows.jsonl', ...flags, '-o', 'out.jsonl']);
    expect(code, stderr).toBe(0);
    expect(bodies).toHaveLength(2);
    const [body = ''] = bodies;
    expect(contentOf(body)).toBe(content);
    if (flags.some((flag) => flag === '--temperature')) expect(body).toContain('"temperature":1.0');
  });

  it('end at every line break outside of quotes, also if the header has another one', async () => {
    const text = 'id,text\r\n1,a\n2,"b\rc"\n\n\ufeff3,d\r4,"e\r\n"\r\n';
    const { cwd, bodies, run, runBuilt } = await scene('rows.csv', text);
    const args = [...chat, '--rows', 'rows.csv', '{{id}}:{{text}}', '-o', 'out.jsonl'];
    const { code, stderr } = await run(args);
    expect(code, stderr).toBe(0);
    expect(bodies.map(contentOf)).toEqual(['1:a', '2:b\rc', '\ufeff3:d', '4:e\r\n']);
    await runBuilt(['batch', 'merge', 'out.jsonl', '--join', 'rows.csv', '--columns', 'n=.line', '-o', 'all.csv']);
    const joined = 'id,text,n\n1,a,1\n2,"b\rc",2\n\ufeff3,d,3\n4,"e\r\n",4\n';
    expect(readFileSync(join(cwd, 'all.csv'), 'utf8')).toBe(joined);
  });

  it('fill the payload of feedback', async () => {
    const { bodies, run } = await scene('rows.tsv', 'id\tscore\nf1\t9007199254740993\n');
    const ids = [
      '--project-id',
      'a/b',
      '--feedback-id',
      '{{id}}',
      '--feedback-type',
      'custom',
      '--svc-ref',
      'svc:///a/b/call/c1',
    ];
    const args = [
      'feedback',
      'replace',
      '--rows',
      'rows.tsv',
      ...ids,
      '--payload',
      '{"score": {{score:json}}, "t": "<{{id}}>"}',
    ];
    const { code, stderr } = await run([...args, '--exact', '-o', 'out.jsonl']);
    expect(code, stderr).toBe(0);
    expect(bodies[0]).toContain('"payload":{"score": 9007199254740993, "t": "<f1>"}');
  });

  it.for([
    [
      'a missing column',
      ['--prompt', '{{txt}}'],
      2,
      /--prompt|the prompt names the column "txt", which rows.csv does not have/,
    ],
    ['a missing id column', ['--prompt', '{{text}}', '--id-column', 'key'], 2, /--id-column names the column "key"/],
    ['braces without a column', ['--prompt', '{{text'], 2, /the prompt has \{\{ without a column/],
    ['a file name from a column', ['--prompt', 'x', '--tools', '@{{text}}'], 2, /a column cannot name a file/],
    [
      'a cell that is not JSON',
      ['--prompt', 'x', '--seed', '{{text}}'],
      3,
      /rows.csv row 1: the column "text" is not JSON/,
    ],
    ['an invalid body', ['--prompt', 'x', '--n', '{{score}}'], 3, /rows.csv row 2 n: must be an integer/],
    ['--batch', ['--batch', 'rows.csv', '--prompt', 'x'], 2, /--rows cannot be combined with --batch/],
    ['a body', ['-f', 'rows.csv'], 2, /--file cannot be combined with --rows/],
    ['two prompts', ['x', '--prompt', 'y'], 2, /--prompt cannot be combined/],
  ] as const)('with %s send nothing', async ([, flags, exitCode, message]) => {
    const { bodies, run } = await scene('rows.csv', table);
    const { code, stderr } = await run([
      ...chat.filter((one) => one !== '--exact'),
      '--rows',
      'rows.csv',
      ...flags,
      '-o',
      'out.jsonl',
    ]);
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringMatching(message) });
    expect(bodies).toEqual([]);
  });

  it.for([
    ['a record with too many cells', 'text\na,b\n', /rows.csv row 1: the row has 2 cells, and the header 1/],
    ['a record with too few cells', 'text,b\na,b\na\n', /rows.csv row 2: the row has 1 cell, and the header 2/],
    ['an open quote', 'text\n"a\n', /rows.csv is not valid CSV: /],
    ['a quote within a cell', 'text,b\na"b,c\n', /rows.csv is not valid CSV: /],
    ['invalid UTF-8', Buffer.from('text\na\xff\n', 'latin1'), /rows.csv is not UTF-8/],
  ] as const)('of a file with %s are refused', async ([, content, message]) => {
    const { bodies, run } = await scene('rows.csv', content);
    const { code, stderr } = await run([...chat, '--rows', 'rows.csv', '--prompt', '{{text}}', '-o', 'out.jsonl']);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringMatching(message) });
    expect(bodies).toEqual([]);
  });

  it('resume: a changed row and a changed template are named, a new row is sent', async () => {
    const { cwd, bodies, run } = await scene('rows.csv', table);
    const args = [...chat, '--rows', 'rows.csv', '--prompt', '{{text}}', '-o', 'out.jsonl'];
    expect((await run(args)).code).toBe(0);
    const other = await run([...args, '--resume', '--prompt', '{{id}}']);
    expect(other).toMatchObject({ code: 13, stderr: expect.stringContaining('other values for --prompt') });
    writeFileSync(join(cwd, 'rows.csv'), table.replace('two', 'three'));
    expect(await run([...args, '--resume'])).toMatchObject({
      code: 13,
      stderr: expect.stringContaining('changed lines: 2'),
    });
    writeFileSync(join(cwd, 'rows.csv'), `${table}10,new,1\r\n`);
    expect((await run([...args, '--resume'])).code).toBe(0);
    expect(bodies.map(contentOf).slice(3)).toEqual(['new']);
  });

  // Python's writer, and those of spreadsheets, differ in quoting and line ends.
  it('of a foreign writer keep every cell', async ({ skip }) => {
    const cells = [
      'plain',
      'a,b',
      'say "x"',
      '"',
      '""',
      'l1\nl2',
      'l1\r\nl2',
      ' pad ',
      '',
      "'",
      'tab\there',
      '=1+1',
      '+cmd|x',
      '@sum',
      'ä€😀',
      '\\n',
      'a;b',
      '0012',
      '1e5',
      'null',
      '{"a":1}',
      '\u2028',
      'x'.repeat(70_000),
    ];
    for (const quoting of ['MINIMAL', 'ALL', 'NONNUMERIC']) {
      const script = `import csv,sys,json\nw=csv.writer(sys.stdout,quoting=csv.QUOTE_${quoting})\nw.writerow(["id","text"])\nfor i,c in enumerate(json.load(sys.stdin)): w.writerow([i,c])`;
      const written = spawnSync('python3', ['-c', script], {
        input: JSON.stringify(cells),
        env: { ...process.env, PYTHONIOENCODING: 'utf-8' },
        maxBuffer: 1e8,
      });
      if (written.status !== 0) return skip('no Python here');
      const { bodies, run } = await scene('rows.csv', written.stdout);
      const { code, stderr } = await run([...chat, '--rows', 'rows.csv', ...prompt, '-o', 'out.jsonl']);
      expect(code, stderr).toBe(0);
      expect(bodies.map(contentOf)).toEqual(cells);
    }
  });
});

it.each([[['Say hi']], [['Classify {text}']], [[]]])(
  'rows with no column in the flags are not sent: %j',
  async (args) => {
    const { bodies, run } = await scene('rows.csv', table);
    const { code, stderr } = await run([...chat, '--rows', 'rows.csv', ...args]);
    expect({ code, bodies }).toEqual({ code: 2, bodies: [] });
    expect(stderr).toMatch(/no flag names a column.*\n {2}(?:for the column text, )?write \{\{(?:column|text)\}\}/);
  },
);

describe('batch merge', () => {
  it('joins results with the rows that they are for, which stay as they are', async () => {
    const { cwd, run, runBuilt } = await scene('rows.csv', table);
    const sent = await run([...chat, '--rows', 'rows.csv', '--prompt', '{{text}}', '--limit', '2', '-o', 'out.jsonl']);
    expect(sent.code, sent.stderr).toBe(0);
    const content = 'answer=.response.choices[0].message.content';
    const columns = [
      '--columns',
      content,
      '--columns',
      'a "b"=.line',
      '--columns',
      'none=.x.y',
      '--columns',
      'bad=.line.x',
    ];
    const merge = ['batch', 'merge', 'out.jsonl', '--join', 'rows.csv', ...columns];
    const { code, stderr } = await runBuilt([...merge, '-o', 'all.csv']);
    expect(code, stderr).toBe(10);
    expect(stderr).toMatch(
      /svc: 2 lines: 2 done, 0 failed, 0 unknown; 1 missing: line 3\n {2}run that batch again with --resume, .* not applied\n/,
    );
    const quiet = await runBuilt([...merge, '-o', 'q.csv', '-q']);
    expect(quiet).toMatchObject({ code: 10, stderr: expect.stringContaining('1 missing: line 3\n') });
    expect(readFileSync(join(cwd, 'q.csv'), 'utf8')).toBe(readFileSync(join(cwd, 'all.csv'), 'utf8'));
    const asInput = await runBuilt(['batch', 'merge', 'out.jsonl', '--input', 'rows.csv']);
    expect(asInput.code).toBe(13);
    const [, hint = ''] = /with (--join rows\.csv --columns answer=text), without --input\n/.exec(asInput.stderr) ?? [];
    const joined = await runBuilt(['batch', 'merge', 'out.jsonl', ...hint.split(' ')]);
    expect(joined).toMatchObject({ code: 10, stdout: expect.stringContaining('answer\n7,') });
    const empty = stderr.split('\n').filter((line) => line.includes('is empty in every row'));
    expect(empty).toEqual(
      [
        'none: .x.y is empty in every row',
        'bad: .line.x is empty in every row: Cannot index number with string ("x")',
      ].map((one) => `svc: warning: --columns ${one}`),
    );
    expect(readFileSync(join(cwd, 'all.csv'), 'utf8')).toBe(
      [
        'id,text,score,answer,"a ""b""",none,bad',
        '7,"a ""b"", c",9007199254740993,ok,1,,',
        '8,"two\nlines",1.50,ok,2,,',
        '9,@/etc/passwd,-0e1,,,,\n',
      ].join('\n'),
    );
  });

  it('names a column by one of its own names, and says if the table has one of that name', async () => {
    const { cwd, run, runBuilt } = await scene('rows.csv', table);
    const prices = ['--price-prompt', '2', '--price-completion', '4'];
    await run([...chat, '--rows', 'rows.csv', '--prompt', '{{text}}', '-o', 'out.jsonl', ...prices]);
    const merge = ['batch', 'merge', 'out.jsonl', '--join', 'rows.csv', '-o', 'all.csv', '--columns'];
    const renamed = await runBuilt([...merge, 'answer=text,cost']);
    expect(renamed).toMatchObject({ code: 0, stderr: expect.not.stringContaining('already') });
    expect(readFileSync(join(cwd, 'all.csv'), 'utf8')).toMatch(/^id,text,score,answer,cost\n7,.*,ok,0\.\d+\n/);
    const doubled = await runBuilt([...merge, 'text']);
    expect(doubled.stderr).toContain('text is a column of the table; for that of the results, write new_name=text');
  });

  it('stops at a row whose cells are not those that were sent, however they are quoted', async () => {
    const { cwd, run, runBuilt } = await scene('rows.csv', table);
    await run([...chat, '--rows', 'rows.csv', '--prompt', '{{text}}', '-o', 'out.jsonl']);
    const { checkpoint } = JSON.parse(readFileSync(join(cwd, 'out.jsonl'), 'utf8').split('\n', 1).join(''));
    expect(checkpoint.row).toMatch(/^[0-9a-f]{16}$/);
    const [header, first, second, third] = [
      'id,text,score',
      '7,"a ""b"", c",9007199254740993',
      '8,"two\nlines",1.50',
      '9,@/etc/passwd,-0e1',
    ];
    writeFileSync(join(cwd, 'sorted.csv'), [header, third, second, first, ''].join('\n'));
    writeFileSync(join(cwd, 'quoted.tsv'), 'id\ttext\tscore\n"7"\t"a ""b"", c"\t"9007199254740993"\n');
    writeFileSync(join(cwd, 'edited.csv'), [header, first, second?.replace('1.50', '1.5'), third, ''].join('\n'));
    const merge = (name: string) =>
      runBuilt(['batch', 'merge', 'out.jsonl', '--join', name, '--columns', 'n=.line', '-o', 'all.csv']);
    for (const [name, row] of [
      ['sorted.csv', 1],
      ['edited.csv', 2],
    ] as const) {
      const { code, stderr } = await merge(name);
      expect({ code, stderr }).toEqual({
        code: 13,
        stderr: expect.stringContaining(`row ${row} of ${name} is not the row that was sent as line ${row}`),
      });
      expect(existsSync(join(cwd, 'all.csv'))).toBe(false);
    }
    // The first row is the same, and there is no second one.
    expect((await merge('quoted.tsv')).stderr).toContain('quoted.tsv has no row 2');
  });

  it.for([
    ['fewer rows', ['--join', 'few.csv', '--columns', 'a=.line'], 2, 'few.csv has no row 2'],
    ['no columns', ['--join', 'rows.csv'], 2, '--join needs --columns'],
    ['columns without a filter', ['--join', 'rows.csv', '--columns', 'a'], 2, '--columns cannot be "a"'],
    ['an invalid filter', ['--join', 'rows.csv', '--columns', 'b=.x', '--columns', 'a=)('], 2, '--columns a: syntax'],
    ['an error of jq', ['--join', 'rows.csv', '--columns', 'a=.x y'], 2, ' .x y\n'],
    ['a file that is no table', ['--join', 'out.jsonl', '--columns', 'a=.line'], 2, '--join cannot read out.jsonl'],
    ['columns alone', ['--columns', 'a=.line'], 2, '--columns works only with --join'],
    ['the table as output', ['--join', 'rows.csv', '--columns', 'a=.line', '-o', 'rows.csv'], 2, 'rows.csv'],
  ] as const)('with %s changes nothing', async ([, flags, exitCode, message]) => {
    const { cwd, run, runBuilt } = await scene('rows.csv', table);
    writeFileSync(join(cwd, 'few.csv'), `${table.split('\n', 2).join('\n')}\n`);
    await run([...chat, '--rows', 'rows.csv', '--prompt', '{{text}}', '-o', 'out.jsonl']);
    const { code, stderr } = await runBuilt(['batch', 'merge', 'out.jsonl', '-o', 'all.csv', ...flags]);
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(message) });
    expect(stderr).not.toContain('try');
    expect(existsSync(join(cwd, 'all.csv'))).toBe(false);
    expect(readFileSync(join(cwd, 'rows.csv'), 'utf8')).toBe(table);
  });

  it('warns if nothing shows that results are of the rows that they are joined with', async () => {
    const body = '{"model":"m","messages":[{"role":"user","content":"a"}]}\n';
    const lines = [...['7', '8', '9'].map((id) => `{"custom_id":"${id}","body":${body.trimEnd()}}\n`), body];
    const { cwd, run, runBuilt } = await scene('in.jsonl', lines.join(''));
    await run(['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl']);
    const merge = async (name: string, ...ids: readonly string[]): Promise<string> => {
      writeFileSync(join(cwd, name), `id\n${ids.join('\n')}\n`);
      const args = ['batch', 'merge', 'out.jsonl', '--join', name, '--columns', 'text', '-o', `all-${name}`];
      const { code, stderr } = await runBuilt(args);
      expect(code, stderr).toBe(0);
      return stderr.split('\n').filter((text) => text.includes('warning'))[0] ?? '';
    };
    expect(await merge('same.csv', '7', '8', '9', '10')).toContain('warning: 1 of 4 rows of same.csv may have results');
    expect(await merge('other.csv', '9', '8', 'null', 'null')).toContain('warning: 3 of 4 rows of other.csv may have');
  });

  // The members are those of the documented output of OpenAI's batches.
  it('writes results as OpenAI batches have them, from lines as they have them', async () => {
    const request = (id: string, body: string): string =>
      `{"custom_id":"${id}","method":"POST","url":"/v1/chat/completions","body":${body}}`;
    const body = '{"model":"m","messages":[{"role":"user","content":"hi"}]}';
    const { run } = await scene(
      'in.jsonl',
      `${request('request-1', body)}\n${request('request-2', '{"model":1}')}\n${body}\n`,
    );
    await run(['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl']);
    const { stdout } = await run(['batch', 'merge', 'out.jsonl', '--output-format', 'openai']);
    const [first, second, third] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first).toEqual({
      id: 'batch_req_1',
      custom_id: 'request-1',
      response: { status_code: 200, request_id: null, body: reply },
      error: null,
    });
    expect(second).toMatchObject({ custom_id: 'request-2', response: null, error: { code: 'body' } });
    expect(third).toMatchObject({ custom_id: 'line-3', response: { status_code: 200 } });
  });
});

it.each(['rows.csv', 'rows.tsv'])('--batch %s names --rows in its note and in the next step', async (name) => {
  const { bodies, run } = await scene(name, 'id,text\n7,a\n');
  const { code, stderr } = await run([...chat, '--batch', name]);
  expect({ code, bodies }).toEqual({ code: 10, bodies: [] });
  expect(stderr.match(/found "i"; to send the rows of a table, use --rows \(line 1\)/g)).toHaveLength(1);
  expect(stderr).toContain(`\n  write: svc chat --rows ${name} "{{text}}" -o <new file>\n`);
  expect(stderr.match(/--rows/g)).toHaveLength(2);
});

describe('expectations of rows', () => {
  const local = ['chat', '--local', '-q', '{{text}}', '--rows'];
  const labeled = 'text,label\na.b,a.b\naxb,a.b\n(x,(x\n';

  it.each<[string, string, string, string[], boolean[]]>([
    ['text', 'rows.csv', labeled, ['--expect-text', 'said "{{label}}"'], [true, false, true]],
    ['absent text', 'rows.csv', labeled, ['--expect-not', '"{{label}}"'], [false, true, false]],
    ['an anchor', 'rows.csv', labeled, ['--expect-text', '^You said "{{label}}": \\d word'], [true, false, true]],
    ['the number of the row', 'rows.csv', 'text\n1\n3\n', ['--expect-text', '"{{#}}"'], [true, false]],
    ['a nested value', 'r.jsonl', '{"text":"a","in":{"b":"a"}}\n', ['--expect-text', '"{{in.b}}"'], [true]],
  ])('take cells as literal text: %s', async (_, name, content, flags, passed) => {
    const { runBuilt, results } = await scene(name, content);
    const { code, stderr } = await runBuilt([...local, name, ...flags, '-o', 'out.jsonl', '--ordered']);
    expect(code, stderr).toBe(passed.includes(false) ? 10 : 0);
    expect(results().map(({ expectations }) => expectations[0])).toEqual(
      passed.map((one) => expect.objectContaining({ value: flags[1], passed: one })),
    );
    const report = JSON.parse((await runBuilt(['batch', 'report', 'out.jsonl', '--json'])).stdout);
    const [count, failed] = [true, false].map((one) => passed.filter((each) => each === one).length);
    expect(report.expectations).toEqual([{ expectation: flags.join(' '), passed: count, failed }]);
    if (flags[0] === '--expect-text' && name === 'rows.csv' && failed)
      expect(stderr).toMatch(/no match for .* in "You/);
  });

  it.each<[string, string, string[], number, RegExp]>([
    [
      'a missing column',
      labeled,
      ['--expect-text', '{{nope}}'],
      2,
      /names the column "nope", which rows.csv does not have/,
    ],
    ['an empty cell', 'text,label\na,a\nb,\n', ['--expect-text', '{{label}}'], 3, /row 2.*{{label}} is empty/],
    ['an empty cell not to be', 'text,label\na,\n', ['--expect-not', '{{label}}'], 3, /row 1.*{{label}} is empty/],
    ['an invalid expression', labeled, ['--expect-text', '({{label}}'], 3, /row 1.*\({{label}} is not valid/],
  ])('send nothing for %s, nor does a dry run pass', async (_, content, flags, exitCode, message) => {
    const { runBuilt, cwd } = await scene('rows.csv', content);
    for (const more of [['-o', 'out.jsonl'], ['--dry-run']]) {
      const { code, stderr } = await runBuilt([...local, 'rows.csv', ...flags, ...more]);
      expect(code, stderr).toBe(exitCode);
      expect(stderr).toMatch(message);
    }
    expect(existsSync(join(cwd, 'out.jsonl'))).toBe(false);
    writeFileSync(join(cwd, 'in.jsonl'), '{"messages":[{"role":"user","content":"x"}]}\n');
    const bodies = await runBuilt(['chat', '--local', '--batch', 'in.jsonl', '--expect-text', '{{label}}']);
    expect(bodies).toMatchObject({ code: 2, stderr: expect.stringContaining('columns fill it with --rows alone') });
  });
});

describe('before it costs', () => {
  const lines = Array.from({ length: 50 }, (_, at) =>
    JSON.stringify({ model: 'm', messages: [{ role: 'user', content: `p${at + 1}` }] }),
  ).join('\n');
  const batch = ['chat', '--batch', 'in.jsonl', '--exact', '-o', 'out.jsonl'];

  it('--limit sends the first lines, and a larger one continues', async () => {
    const { bodies, run, results } = await scene('in.jsonl', lines);
    expect((await run([...batch, '--limit', '3'])).code).toBe(0);
    expect(bodies.map(contentOf).sort()).toEqual(['p1', 'p2', 'p3']);
    for (const flags of [[], ['--limit', '2'], ['--sample', '9']]) {
      const { code, stderr } = await run([...batch, '--resume', ...flags]);
      expect({ code, stderr }).toEqual({
        code: 13,
        stderr: expect.stringMatching(
          /it was started with --limit 3, and now has .*; --limit 3 or more continues it$/m,
        ),
      });
    }
    expect((await run([...batch, '--resume', '--limit', '5'])).code).toBe(0);
    expect(bodies).toHaveLength(5);
    expect(results().map(({ line }) => line)).toEqual([1, 2, 3, 4, 5]);
    expect((await run([...batch, '--resume', '--accept-changes'])).code).toBe(0);
    expect(bodies).toHaveLength(50);
  });

  it('--sample sends the same lines again, of a file and of a pipe, and a wider one has them, too', async () => {
    const { bodies, run, results } = await scene('in.jsonl', lines);
    expect((await run([...batch, '--sample', '8'])).code).toBe(0);
    const first = results().map(({ line }) => line);
    expect(new Set(first).size).toBe(8);
    const piped = [
      ...batch.map((word) => ({ 'in.jsonl': '-', 'out.jsonl': 'piped.jsonl' })[word] ?? word),
      '--sample',
      '8',
    ];
    expect((await run(piped, { stdin: lines })).code).toBe(0);
    expect(results('piped.jsonl').map(({ line }) => line)).toEqual(first);
    expect(await run([...batch, '--resume', '--sample', '20', '--sample-seed', 'x'])).toMatchObject({ code: 13 });
    expect((await run([...batch, '--resume', '--sample', '20'])).code).toBe(0);
    expect(results().map(({ line }) => line)).toEqual(expect.arrayContaining(first));
    expect(bodies).toHaveLength(8 + 8 + 12);
    expect((await run([...batch.slice(0, -1), 'other.jsonl', '--sample', '8', '--sample-seed', 'x'])).code).toBe(0);
    expect(results('other.jsonl').map(({ line }) => line)).not.toEqual(first);
  });

  it('--max-total-tokens stops taking lines, and the batch can be resumed', async () => {
    const { bodies, run } = await scene('in.jsonl', lines);
    const { code, stderr } = await run([...batch, '--max-total-tokens', '20', '--concurrency', '1']);
    expect({ code, stderr }).toEqual({
      code: 10,
      stderr: expect.stringContaining('--max-total-tokens 20 was reached: 2'),
    });
    expect(bodies.length).toBeLessThanOrEqual(4);
    expect((await run([...batch, '--resume'])).code).toBe(0);
    expect(bodies).toHaveLength(50);
  });

  it('--take-over in less time than its holder needs to stop is a wrong command line', async () => {
    const { bodies, run } = await scene('in.jsonl', lines);
    const message = expect.stringMatching(/--take-over cannot be "64s"\n {2}use at least 65s: /);
    expect(await run([...batch, '--resume', '--take-over', '64s'])).toMatchObject({ code: 2, stderr: message });
    expect(bodies).toEqual([]);
  });

  it.for([
    ['--limit', '0'],
    ['--sample', 'x'],
    ['--max-total-tokens', '1.5'],
    ['--sample-seed', 'x'],
    ['--id-column', 'x'],
  ])('%s %s is a wrong command line', async ([flag = '', value = '']) => {
    const { bodies, run } = await scene('in.jsonl', lines);
    expect(await run([...batch, flag, value])).toMatchObject({ code: 2, stderr: expect.stringContaining(flag) });
    expect(bodies).toEqual([]);
  });
});
