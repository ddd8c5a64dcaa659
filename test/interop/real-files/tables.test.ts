import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runOnFiles } from '../../support/real-files.ts';

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const bytes = (...values: readonly number[]): Buffer => Buffer.from([...values, ...Array(20).fill(1)]);
const rows = (file: string, text: string | Uint8Array, args: readonly string[] = ['{{q}}']) =>
  runOnFiles({ [file]: text }, ['chat', '--rows', file, ...args, '--concurrency', '1', '-o', 'out.jsonl']);
const prompts = (bodies: readonly string[]): string[] => bodies.map((body) => JSON.parse(body).messages.at(-1).content);

describe('tables of prompts', () => {
  it.for([
    ['a comma', 'in.csv', 'id,q\n1,"a, b"\n', ['a, b']],
    ['a semicolon', 'in.csv', 'id;q\n1;a, b\n2;c\n', ['a, b', 'c']],
    ['a tab in .csv', 'in.csv', 'id\tq\n1\ta;b\n', ['a;b']],
    ['a pipe', 'in.csv', 'id|q\r\n1|a;b\r\n', ['a;b']],
    ['sep=', 'in.csv', 'sep=;\nid,x;q\n1;a\n', ['a']],
    ['a delimiter in a quoted name', 'in.csv', '"x,y,z";q\n1;a\n', ['a']],
    ['one column', 'in.csv', 'q\na\n\nb\n', ['a', 'b']],
    ['a byte order mark', 'in.csv', '\ufeffq;x\na;1\n', ['a']],
    ['a break and quotes in a cell', 'in.csv', 'q,x\n"say ""hi""\nnow",1\n', ['say "hi"\nnow']],
    ['a quote within a cell of TSV', 'in.tsv', 'x\tq\n1\t5" disk\n', ['5" disk']],
    [
      'a quote at the start of a cell of TSV',
      'in.tsv',
      'x\tq\n1\t"Hi" she said\n2\t"open\n3\tend\n',
      ['"Hi" she said', '"open', 'end'],
    ],
    ['a cell of TSV in quotes', 'in.tsv', 'x\tq\n1\t"a\tb"\n', ['a\tb']],
    ['lines of text', 'in.txt', 'a, "b"\r\n\n{{x}}\nlast', ['a, "b"', '{{x}}', 'last'], ['{{line}}']],
    ['a table by --delimiter', 'in.data', 'x~q\n1~a\n', ['a'], ['{{q}}', '--delimiter', '~']],
    ['a tab by --delimiter', 'in.csv', 'x,y\tq\n1\ta\n', ['a'], ['{{q}}', '--delimiter', 'tab']],
    ['nested rows', 'in.jsonl', '{"input":{"question":"a"}}\n', ['a'], ['{{input.question}}']],
    ['items of nested rows', 'in.jsonl', '{"messages":[{"content":"a"}]}\n', ['a'], ['{{messages[0].content}}']],
    ['a name with a dot', 'in.jsonl', '{"a.b":"x","a":{"b":"y"}}\n', ['x'], ['{{a.b}}']],
  ] as const)('read %s', async ([, file, text, expected, args]) => {
    const { code, stderr, bodies } = await rows(file, text, args);
    expect(code, stderr).toBe(0);
    expect(prompts(bodies)).toEqual(expected);
  });

  it.for([
    [
      'chat',
      '--messages',
      '{"v":[{"role":"user","content":"a"}]}',
      (body: string) => JSON.parse(body).messages[0].content,
      'a',
      [],
    ],
    [
      'chat',
      '--tools',
      '{"v":[{"type":"function","function":{"name":"f"}}]}',
      (body: string) => JSON.parse(body).tools[0].function.name,
      'f',
      ['hi'],
    ],
    [
      'chat',
      '--json-schema',
      '{"v":{"type":"object","a":1}}',
      (body: string) => JSON.parse(body).response_format.json_schema.schema.a,
      1,
      ['hi'],
    ],
    [
      'call start',
      '--inputs',
      '{"v":{"a":1}}',
      (body: string) => JSON.parse(body).start.inputs.a,
      1,
      ['--op-name', 'x'],
    ],
    [
      'feedback replace',
      '--payload',
      '{"v":{"a":1}}',
      (body: string) => JSON.parse(body).payload.a,
      1,
      [
        '--feedback-id',
        'f',
        '--feedback-type',
        't',
        '--svc-ref',
        'svc:///a/b/call/0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e07',
      ],
    ],
  ] as const)('fill %s %s with JSON', async ([command, flag, row, read, expected, more]) => {
    const args = [...command.split(' '), '--rows', 'in.jsonl', flag, '{{v:json}}', ...more, '-o', 'out.jsonl'];
    const { code, stderr, bodies } = await runOnFiles({ 'in.jsonl': `${row}\n` }, args);
    expect(code, stderr).toBe(0);
    expect(read(bodies[0] ?? '')).toBe(expected);
  });

  it.for([
    [
      'a row with more cells',
      'in.csv',
      'q,x\na,b,c\n',
      'in.csv row 1: the row has 3 cells, and the header 2: "c" has no column',
    ],
    [
      'a row with fewer cells',
      'in.csv',
      'q,x\na,b\nc\n',
      'in.csv row 2: the row has 1 cell, and the header 2: "x" has no cell',
    ],
    ['text after a quote', 'in.csv', 'q,x\na,"b" c\n', 'row 1, column 2: text after the closing quote'],
    ['an open quote', 'in.csv', 'q\na\n"b\n', 'row 2, column 1: the quote is not closed'],
    ['a quote in a cell', 'in.csv', 'q\n5" disk\n', 'row 1, column 1: a quote in a cell without quotes'],
    ['a header alone', 'in.csv', 'q,x\n', 'there are no rows in in.csv: it has a header, and no rows'],
    ['an empty table', 'in.csv', '', 'there are no rows in in.csv'],
    ['an empty file of rows', 'in.jsonl', '\n', 'there are no rows in in.jsonl: it is empty'],
    [
      'an array',
      'in.jsonl',
      ' [{"q":"a"}]',
      "in.jsonl is a JSON array, not JSON Lines\n  write one value per line: jq -c '.[]' in.jsonl",
    ],
    [
      '.xlsx',
      'in.csv',
      Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(26), Buffer.from('[Content_Types].xml')]),
      'in.csv is a spreadsheet (.xlsx)\n  save it as CSV',
    ],
    [
      '.ods',
      'in.csv',
      Buffer.concat([
        Buffer.from('PK\x03\x04'),
        Buffer.alloc(26, 1),
        Buffer.from('mimetypeapplication/vnd.oasis.opendocument.spreadsheet'),
      ]),
      'in.csv is an OpenDocument file (.ods)\n  save it as CSV',
    ],
    ['a zip archive', 'in.csv', Buffer.from('PK\x03\x04 a.csv        '), 'in.csv is a zip archive'],
    ['Parquet', 'in.jsonl', Buffer.from('PAR1 and more'), 'in.jsonl is a Parquet file\n  save it as CSV'],
    ['xz', 'in.csv', bytes(0xfd, 0x37, 0x7a, 0x58, 0x5a, 0), 'in.csv is compressed with xz'],
    ['bzip2', 'in.txt', Buffer.from('BZh91AY&SY more'), 'in.txt is compressed with bzip2'],
    ['gzip', 'in.csv', bytes(0x1f, 0x8b, 8, 0), 'in.csv is compressed with gzip'],
    ['a missing nested value', 'in.jsonl', '{"a":{"q":1}}\n', 'there is no member "q"; the row has "a"'],
  ] as const)('name %s', async ([, file, content, message]) => {
    const { code, stderr, bodies } = await rows(file, content, file === 'in.txt' ? ['{{line}}'] : undefined);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(message) });
    expect(bodies).toEqual([]);
  });

  it.for([
    ['UTF-16', 'my in.csv', utf16('q\nä\n'), '-f UTF-16 '],
    ['UTF-16 without a mark', 'in.csv', utf16('q\nä\n').subarray(2), '-f UTF-16LE'],
    ['Windows-1252', 'in.csv', latin1('q\nä\n'), '-f WINDOWS-1252'],
    ['ISO-8859-1', 'in.txt', latin1('ä\x81\n'), '-f ISO-8859-1'],
  ] as const)('name %s with a command that converts it', async ([, file, content, encoding]) => {
    const { code, stderr, cwd } = await rows(file, content, ['{{line}}']);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(encoding) });
    const [, command = ''] = /convert it: (iconv .*)/.exec(stderr) ?? [];
    execFileSync('bash', ['-c', command], { cwd });
    expect(existsSync(join(cwd, file.replace('in.', 'in.utf8.'))), command).toBe(true);
  });

  it('show no token of their own in messages, and answer filters of templates', async () => {
    const wrong = await rows('in.csv', 'q\na\n', ['--messages', '[{{q}}', '--model', 'm']);
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.not.stringMatching(/svc[0-9a-f]{16}/),
    });
    const filter = await rows('in.csv', 'q\na\n', ['{{ q | upper }}']);
    expect(filter).toMatchObject({ code: 2, stderr: expect.stringContaining('svc has no filters: write {{q}}') });
  });

  it('of another batch input name an array, and take a custom_id without a warning', async () => {
    const line = '{"custom_id":"a","messages":[{"role":"user","content":"x"}]}';
    const batch = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl'];
    const array = await runOnFiles({ 'in.jsonl': `[${line}]` }, batch);
    expect(array).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("jq -c '.[]' in.jsonl > lines.jsonl"),
      bodies: [],
    });
    const { code, stderr } = await runOnFiles({ 'in.jsonl': `${line}\n` }, batch);
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain('custom_id');
  });
});
