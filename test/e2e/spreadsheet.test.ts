import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { countingServer } from '../support/counting-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const formulas = ['=1+1', '+cmd|x', '-2+3', '@sum(A1)', '\tx', '\rx', '-', '-5abc', '--1', '+1e', '=5'];
const others = ['-5', '+5.5', '-.5e-3', '1-2', 'a=b', "'=1"];
const warning = `${formulas.length} cells begin with =, +, -, @, a tab or a carriage return`;

async function schema(format: string, ...flags: string[]) {
  const paths = [...formulas, ...others].map((path) => ({ json_path: path, value_type: 'numeric' }));
  const { url } = await countingServer(String, (_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ paths }));
  });
  const args = ['feedback', 'schema', '--project-id', 'a/b', '--since', '7d', '--base-url', url];
  return runBuilt([...args, '--format', format, ...flags], {
    env: { SVC_USERNAME: 'user', SVC_PASSWORD: 'pass-word' },
  });
}

describe('cells that a spreadsheet would run', () => {
  it.each(['csv', 'tsv'])('begin with a quotation mark under --spreadsheet-safe: %s', async (format) => {
    const { code, stdout, stderr } = await schema(format, '--spreadsheet-safe');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const cell of ["'=1+1", "'+cmd|x", "'-2+3", "'@sum(A1)", "'-", "'-5abc", "'--1", "'+1e", "'=5"])
      expect(stdout).toMatch(new RegExp(`^${cell.replace(/[+|()]/g, '\\$&')}[,\\t]`, 'm'));
    expect(stdout).toContain(format === 'csv' ? `"'\rx",` : "'\\rx\t");
    for (const cell of others) expect(stdout).not.toContain(`\n'${cell},`);
  });

  it.each(['csv', 'tsv'])('are counted by one warning without the flag: %s', async (format) => {
    const { code, stdout, stderr } = await schema(format);
    expect(code, stderr).toBe(0);
    expect(stdout).not.toContain("'=1+1");
    expect(stderr.split('svc: warning: ')).toEqual(['', expect.stringContaining(warning)]);
  });

  it('are no concern of other formats', async () => {
    const { stderr } = await schema('json');
    expect(stderr).toBe('');
    expect(await schema('json', '--spreadsheet-safe')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--spreadsheet-safe works only with CSV and TSV'),
    });
  });

  it.each(['csv', 'tsv'])('are those of the rows and of the columns in batch merge --join: %s', async (format) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, `rows.${format}`), 'name\nplain\n=evil\n"-7"\n');
    const checkpoint =
      '"checkpoint":{"input":"0123456789abcdef","run":"01a1fd65-c7c7-7d58-a39c-000000000000","operation":"/v1/chat/completions","shard":"1/1"}';
    const result = (line: number, id: string, response: string): string =>
      `{"line":${line},"id":"${id}","status":200,"exit_code":0,"applied":"yes","response":${response},"attempts":1,"ms":1,${checkpoint}}\n`;
    writeFileSync(
      join(cwd, 'out.jsonl'),
      result(1, 'plain', '"@a"') + result(2, '=evil', '-3') + result(3, '-7', '"+x"'),
    );
    const merge = async (...flags: string[]) => {
      const args = ['batch', 'merge', 'out.jsonl', '--join', `rows.${format}`, '--columns', 'r=.response'];
      const { code, stderr } = await runBuilt([...args, '-o', 'all', ...flags], { cwd });
      expect(code, stderr).toBe(0);
      return { stderr, table: readFileSync(join(cwd, 'all'), 'utf8').replaceAll('\t', ',').replaceAll('"', '') };
    };
    const plain = await merge();
    expect(plain.table).toBe('name,r\nplain,@a\n=evil,-3\n-7,+x\n');
    expect(plain.stderr).toContain('svc: warning: 3 cells begin with');
    const safe = await merge('--spreadsheet-safe');
    expect(safe.table).toBe("name,r\nplain,'@a\n'=evil,-3\n-7,'+x\n");
    expect(safe.stderr).not.toContain('warning');
  });
});
