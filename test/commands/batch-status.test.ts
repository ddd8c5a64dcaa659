import { readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const chat = (content: string) => `${JSON.stringify({ messages: [{ role: 'user', content }] })}\n`;

/** Three shards of 12 lines and an empty one: the first complete, the second with a failure, the third not begun. */
async function shards() {
  const cwd = temporaryDirectory();
  const { url } = await countingServer(String, ({ text }, response) => {
    if (text.includes('bad')) return answerJson(response, { detail: 'no' }, 400);
    if (text.includes('lost')) return answerJson(response, {}, 500);
    answerJson(response, { model: 'm', choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }] });
  });
  const lines = Array.from({ length: 12 }, (_, at) => chat(['bad1', 'los1', 'okay'][at === 5 ? 0 : 2] ?? ''));
  lines[6] = chat('lost');
  writeFileSync(join(cwd, 'in.jsonl'), `\n${lines.join('')}`);
  const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
  const run = (index: number, ...more: string[]) =>
    svc(['chat', '--batch', 'in.jsonl', '--shard', `${index}/3`, '-o', `${index}.jsonl`, '--retries', '0', ...more], {
      cwd,
      env,
    });
  expect((await run(1)).code).toBe(0);
  expect((await run(2, '--concurrency', '1')).code).toBe(10);
  const status = async (...args: string[]) => {
    const { code, stdout, stderr } = await svc(['batch', 'status', ...(args.length > 0 ? args : ['.']), '--json'], {
      cwd,
    });
    return { code, stderr, rows: stdout === '' ? [] : JSON.parse(stdout) };
  };
  return { cwd, run, status };
}

describe('svc batch status', () => {
  it('says how to name outputs without journals', async () => {
    const { status, cwd } = await shards();
    for (const name of ['1.jsonl.journal', '2.jsonl.journal']) rmSync(join(cwd, name));
    expect(await status()).toMatchObject({
      code: 12,
      stderr: 'svc: no file in . has a journal of a batch beside it\n  name the outputs themselves, such as *.jsonl\n',
    });
    expect(await status('1.jsonl', '2.jsonl')).toMatchObject({ code: 0, rows: [{ failed: 0 }, { failed: 1 }] });
  });

  it('has a row per shard of a directory, in the order of their names', async () => {
    const { status, cwd } = await shards();
    const { code, rows } = await status();
    expect({ code, rows }).toMatchObject({
      code: 0,
      rows: [
        { shard: '1/3', state: 'complete', failed: 0, unknown: 0, unsent: 0, pid: null, host: null, output: '1.jsonl' },
        { shard: '2/3', state: 'stopped', failed: 1, unknown: 1, unsent: 0, pid: null, output: '2.jsonl' },
      ],
    });
    expect(rows[0].done + rows[1].done).toBeGreaterThan(5);
    const text = await svc(['batch', 'status', '.'], { cwd, terminal: true, columns: 200 });
    expect(text.stdout).toMatch(/SHARD +STATE +DONE +FAILED +UNKNOWN +UNSENT +PROCESS.*1\/3 +complete/s);
    expect(await svc(['batch', 'report', '.', '--json'], { cwd })).toMatchObject({ code: 0 });
  });

  it.each<[string, (own: string) => string, number, object]>([
    ['a process of this machine', (own) => own, 0, { state: 'running', pid: process.pid }],
    ['a process that ended', () => `999999 ${hostname()} 00`, 0, { state: 'died', pid: 999999 }],
    ['a process elsewhere', () => '17 node-b 00 5 boot:other', 5, { state: 'running', pid: 17, host: 'node-b' }],
    ['a process elsewhere that is silent', () => '17 node-b 00 5 boot:other', 500, { state: 'died', host: 'node-b' }],
  ])('says who runs a shard: %s', async (_, lock, ageSeconds, expected) => {
    const { status, cwd } = await shards();
    const path = join(cwd, '2.jsonl.lock');
    writeFileSync(path, lock(`${process.pid} ${hostname()} 00`));
    const at = Date.now() / 1000 - ageSeconds;
    utimesSync(path, at, at);
    expect((await status('2.jsonl')).rows).toMatchObject([{ shard: '2/3', ...expected }]);
  });

  it('reads files that are being written', async () => {
    const { status, cwd } = await shards();
    const output = readFileSync(join(cwd, '2.jsonl'));
    truncateSync(join(cwd, '2.jsonl'), output.length - 30);
    expect((await status()).rows[1]).toMatchObject({ shard: '2/3', unsent: 0 });
    rmSync(join(cwd, '2.jsonl'));
    expect((await status()).rows[1]).toMatchObject({ shard: '2/3', done: 0, failed: 0 });
  });

  it('shows the other shards if the files of one cannot be read', async () => {
    const { status, cwd } = await shards();
    writeFileSync(join(cwd, '1.jsonl.journal'), 'my notes\n');
    const { code, rows, stderr } = await status();
    expect({ code, rows }).toMatchObject({ code: 13, rows: [{ shard: '2/3' }] });
    expect(stderr).toContain('1.jsonl.journal:1 is not a valid record');
  });

  describe('of a whole input', () => {
    const lines = [chat('ok'), '\n', chat('bad'), chat('ok')].join('');
    const journalRecord = /\{"empty":\d+,"lines":\d+\}\n/;
    const outputs = async (input: string, ...flags: string[]) => {
      const { cwd, status } = await shards();
      const { url } = await countingServer(String, ({ text }, response) => {
        if (text.includes('bad')) return answerJson(response, { detail: 'no' }, 400);
        if (text.includes('lost')) return answerJson(response, {}, 500);
        answerJson(response, { model: 'm', choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }] });
      });
      const send = (stdin: string | undefined, ...more: string[]) => {
        const source = flags[0] === '--rows' ? [] : ['--batch', stdin === undefined ? 'whole.jsonl' : '-'];
        const args = ['chat', ...source, '-o', 'out.jsonl', '--retries', '0'];
        const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
        return svc([...args, ...flags, ...more], { cwd, env, ...(stdin === undefined ? {} : { stdin }) });
      };
      writeFileSync(join(cwd, 'whole.jsonl'), input);
      return { cwd, send, row: async () => (await status('out.jsonl')).rows[0] };
    };

    it.each<[string, string, string[], object]>([
      ['successes alone', lines.replace('bad', 'ok'), [], { state: 'complete', done: 3, failed: 0, unsent: 0 }],
      ['a failure', lines, [], { state: 'complete', done: 2, failed: 1, unsent: 0 }],
      ['an outcome that is unknown', `${lines}${chat('lost')}`, [], { state: 'stopped', unknown: 1, unsent: 0 }],
      ['a limit', lines, ['--limit', '1'], { state: 'complete', done: 1, unsent: 0 }],
      ['a sample', lines, ['--sample', '2', '--sample-seed', '1'], { state: 'complete', unsent: 0 }],
      ['a reason to stop', lines.repeat(9), ['--max-failures', '1', '--concurrency', '1'], { state: 'stopped' }],
      ['a limit of a part', lines.repeat(9), ['--shard', '1/2', '--limit', '1'], { state: 'complete', unsent: 0 }],
      ['lines of rows', 'ok\nbad\nok\n', ['--rows', 'rows.txt', '{{line}}'], { state: 'complete', done: 2, failed: 1 }],
      [
        'a shard of rows',
        'ok\nok\nok\n',
        ['--rows', 'rows.txt', '{{line}}', '--shard', '1/2'],
        { state: 'complete', done: 2 },
      ],
    ])('knows whether each line has a result: %s', async (_, input, flags, expected) => {
      const { cwd, send, row } = await outputs(input, ...flags);
      writeFileSync(join(cwd, 'rows.txt'), input);
      for (const stdin of flags[0] === '--rows' ? [undefined] : [undefined, input]) {
        for (const suffix of ['', '.journal']) rmSync(join(cwd, `out.jsonl${suffix}`), { force: true });
        await send(stdin);
        expect(await row()).toMatchObject(expected);
      }
    });

    it('reads the record of an earlier version, which has empty lines alone', async () => {
      const { cwd, send, row } = await outputs(lines.replace('bad', 'ok'), '--shard', '1/2');
      await send(undefined);
      const journal = join(cwd, 'out.jsonl.journal');
      const text = readFileSync(journal, 'utf8');
      writeFileSync(journal, text.replace(journalRecord, '{"empty":1}\n'));
      expect(await row()).toMatchObject({ state: 'complete', unsent: 0 });
      expect(await send(undefined, '--resume')).toMatchObject({ code: 0 });
      expect(readFileSync(journal, 'utf8')).toMatch(/\{"empty":1\}\n\{"empty":1,"lines":\d\}\n$/);
    });

    it('counts failures of a complete shard at a terminal', async () => {
      const { cwd, send } = await outputs(lines);
      await send(undefined);
      const { stdout } = await svc(['batch', 'status', 'out.jsonl'], { cwd, terminal: true, columns: 200 });
      expect(stdout).toMatch(/1\/1 +complete, 1 failed +2 +1 +0 +0 /);
    });

    it('is not complete before a run has read it to its end', async () => {
      const { cwd, send, row } = await outputs(lines);
      await send(undefined);
      const journal = join(cwd, 'out.jsonl.journal');
      const text = readFileSync(journal, 'utf8');
      writeFileSync(journal, text.replace(journalRecord, ''));
      expect(await row()).toMatchObject({ state: 'stopped', unsent: null });
      writeFileSync(journal, text);
      writeFileSync(join(cwd, 'out.jsonl.lock'), `999999 ${hostname()} 00`);
      expect(await row()).toMatchObject({ state: 'died', unsent: null });
      rmSync(join(cwd, 'out.jsonl.lock'));
      writeFileSync(join(cwd, 'whole.jsonl'), lines + chat('ok') + chat('lost'));
      await send(undefined, '--resume');
      expect(await row()).toMatchObject({ state: 'stopped', done: 3, unknown: 1, unsent: 0 });
      expect(readFileSync(journal, 'utf8')).toContain('{"empty":1,"lines":5}');
    });
  });

  it('needs outputs', async () => {
    const { status } = await shards();
    expect(await status('config')).toMatchObject({ code: 12 });
    expect(await status('none.jsonl')).toMatchObject({ code: 12, stderr: expect.stringContaining('none.jsonl') });
    expect(await svc(['batch', 'status'])).toMatchObject({ code: 2 });
  });
});
