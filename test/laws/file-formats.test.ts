import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileFormatSections } from '../../scripts/file-formats.ts';
import { resultColumns } from '../../src/batch/store/result-export.ts';
import { reportFiles } from '../../src/reports/run-report.ts';
import { runBuilt } from '../support/built.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

// The names in the first column of the tables of a section.
function documentedNames(title: string): string[] {
  const sections = fileFormatSections();
  const start = sections.findIndex((text) => text.startsWith(`## ${title}`));
  const rows = sections[start + 1]?.split('\n').slice(2) ?? [];
  return rows.flatMap((row) => Array.from(row.split(' | ')[0]?.matchAll(/`(\w+)`/g) ?? [], ([, name = '']) => name));
}

describe('the reference documents the fields of', () => {
  it('result lines of a batch', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), '{"messages":[{"role":"user","content":"x"}]}\n{"messages":1}\n');
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--expect-text', 'absent'];
    const response =
      '{"id":"c","choices":[{"message":{"content":"x"}}],"usage":{"cost":0.1,"prompt_tokens_details":{"cached_tokens":1}}}';
    const failed = '{"error":{"message":"no","code":"E7"}}';
    const headers = 'Content-Type: application/json\r\nx-request-id: r\r\nx-ratelimit-limit: 1\r\n';
    const answers = [httpAnswer(response, '200 OK', headers), httpAnswer(failed, '400 Bad', headers)];
    const { url } = await rawServer((socket) => socket.end(answers.shift() ?? ''));
    const env = { SVC_BASE_URL: url, SVC_TOKEN: 't' };
    expect((await svc([...args, '--no-check', '--concurrency', '1'], { cwd, env })).code).toBe(10);
    const entries = readFileSync(join(cwd, 'out.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const names = new Set(entries.flatMap((entry) => Object.keys(entry)));
    const advice = 'a new fact: let a response above have it, so that its line is compared with the documented names';
    expect([...names, 'revision', 'warnings'].sort(), advice).toEqual(documentedNames('Batch result lines').sort());
    const errorNames = entries.flatMap(({ error }) => Object.keys(error ?? {}));
    expect(documentedNames('Error objects')).toEqual(expect.arrayContaining(errorNames));
  });

  it('profiles', async () => {
    const cwd = temporaryDirectory();
    const set = ['profile', 'set', 'work', '--base-url', 'https://api.example.com', '-H', 'X-A: 1'];
    await svc([...set, '--credential-command', 'printenv TOKEN'], { cwd });
    const login = ['auth', 'login', '--profile', 'work', '--no-verify'];
    await svc([...login, '--username', 'api', '--password-stdin'], { cwd, stdin: 'password' });
    await svc([...login, '--token-stdin'], { cwd, stdin: 'a-token' });
    const { work } = JSON.parse(readFileSync(join(cwd, 'config/config.json'), 'utf8')).profiles;
    expect(Object.keys(work)).toHaveLength(11);
    expect(documentedNames('Profile file')).toEqual(expect.arrayContaining(Object.keys(work)));
  });
});

it.each(reportFiles)(
  'the file of --$flag says that the run is not finished, until it is',
  async ({ flag, example }) => {
    const cwd = temporaryDirectory();
    const file = join(cwd, example);
    let before = 'no file';
    const { url } = await rawServer((socket) => {
      if (existsSync(file)) before = readFileSync(file, 'utf8');
      socket.end(httpAnswer('{}', '400 Bad'));
    });
    await svc(['chat', '-m', 'm', 'hi', `--${flag}`, example], { cwd, env: { SVC_BASE_URL: url, SVC_TOKEN: 't' } });
    expect(before, 'write that when the file is opened, in src/reports/run-report.ts').toContain('not finished');
    expect(readFileSync(file, 'utf8')).not.toContain('not finished');
  },
);

it('each column of batch merge --join has a value', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'rows.csv'), 'n\n1\n2\n');
  const response =
    '{"id":"c","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"cost":0.1,"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":1}}}';
  const answers = [httpAnswer(response), httpAnswer('{"error":{"message":"no"}}', '400 Bad')];
  const { url } = await rawServer((socket) => socket.end(answers.shift() ?? ''));
  const env = { SVC_BASE_URL: url, SVC_TOKEN: 't' };
  await svc(['chat', '-m', 'm', '{{n}}', '--rows', 'rows.csv', '-o', 'o.jsonl', '--concurrency', '1'], { cwd, env });
  const columns = [...resultColumns.keys()];
  // The library of --columns is loaded by the built program alone.
  const merge = ['batch', 'merge', 'o.jsonl', '--join', 'rows.csv', '--columns', columns.join()];
  const { stdout, stderr } = await runBuilt(merge, { cwd });
  const rows = stdout.trim().split('\n').slice(1);
  const empty = columns.filter((_, at) => rows.every((row) => !row.split(',')[at + 1]));
  expect(empty, `${stderr}correct the filter, or let a response above have the value`).toEqual([]);
});
