import { hash } from 'node:crypto';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { inShell } from '../support/process.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const chat = (content: string) => `${JSON.stringify({ messages: [{ role: 'user', content }] })}\n`;
const prompts = (count: number) => Array.from({ length: count }, (_, at) => chat(`p${at + 1}`)).join('');

/** A result of a batch that no journal knows, as one of stdout. */
const entry = (line: number) =>
  `{"line":${line},"id":null,"status":200,"exit_code":0,"applied":"yes","response":{},"attempts":1,"ms":1,"checkpoint":{"input":"0123456789abcde${line}","run":"01a1fd65-c7c7-7d58-a39c-000000000000","operation":"/v1/chat/completions","shard":"1/1"}}\n`;

describe('an output that is an input', () => {
  it.each([
    [
      'the input',
      ['batch', 'merge', 's1', 's2', '--input', 'in.jsonl', '-o', 'in.jsonl'],
      /^svc: in\.jsonl is an input/,
    ],
    ['a shard', ['batch', 'merge', 's1', 's2', '-o', './s2'], /^svc: \.\/s2 is an input, and -o would replace it\n/],
    ['a link to a shard', ['batch', 'merge', 's1', 's2', '-o', 'link'], /^svc: link is an input/],
    ['a reported file', ['batch', 'report', 's1', '--html', 'link'], /^svc: link is an input, and --html would/],
  ])('%s stays unchanged', async (_, args, message) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), prompts(2));
    writeFileSync(join(cwd, 's1'), entry(1));
    writeFileSync(join(cwd, 's2'), entry(2));
    linkSync(join(cwd, 's1'), join(cwd, 'link'));
    const { code, stdout, stderr } = await svc(args, { cwd });
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
    expect(['in.jsonl', 's1', 's2'].map((name) => readFileSync(join(cwd, name), 'utf8'))).toEqual([
      prompts(2),
      entry(1),
      entry(2),
    ]);
  });
});

it.each([
  ['no', 'run that batch again with --resume, for missing lines'],
  ['yes', 'the failed lines were applied; to send them again, remove'],
])('the next step of failed lines with applied %s', async (applied, hint) => {
  const cwd = temporaryDirectory();
  writeFileSync(
    join(cwd, 's1'),
    entry(1) + entry(2).replace('"exit_code":0,"applied":"yes"', `"exit_code":13,"applied":"${applied}"`),
  );
  const { code, stderr } = await svc(['batch', 'merge', 's1', '-o', 'all.jsonl'], { cwd });
  expect([code, stderr]).toEqual([10, expect.stringContaining(hint)]);
});

describe('outputs that do not belong together', () => {
  const shards = async () => {
    const cwd = temporaryDirectory();
    const { url } = await countingServer(String, (_, response) =>
      answerJson(response, {
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
      }),
    );
    const send = async (output: string, input: string, ...args: string[]) => {
      writeFileSync(join(cwd, 'in.jsonl'), input);
      const { code, stderr } = await svc([...args, '--batch', 'in.jsonl', '-o', output, '-q'], {
        cwd,
        env: { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url },
      });
      expect(code, stderr).toBe(0);
    };
    const merge = (...args: string[]) => svc(['batch', 'merge', ...args, '-o', 'all.jsonl'], { cwd });
    return { cwd, send, merge };
  };

  it('are exit 13 with both names, and nothing is written', async () => {
    const { cwd, send, merge } = await shards();
    await send('1.jsonl', prompts(6), 'chat', '--shard', '1/2');
    await send('2.jsonl', prompts(6), 'chat', '--shard', '2/2');
    await send('3.jsonl', prompts(6), 'chat', '--shard', '3/3');
    await send(
      'calls.jsonl',
      '{"start":{"op_name":"x","project_id":"a/b"}}\n'.repeat(6),
      'call',
      'start',
      '--local',
      '--shard',
      '1/2',
    );
    for (const [other, text] of [
      ['3.jsonl', '/v1/chat/completions in 3 shards'],
      ['calls.jsonl', '/call/start in 2 shards'],
    ]) {
      const { code, stderr } = await merge('1.jsonl', `${other}`);
      expect({ code, stderr }).toMatchObject({
        code: 13,
        stderr: expect.stringContaining(
          `svc: 1.jsonl and ${other} do not belong to the same batch: they hold results of /v1/chat/completions in 2 shards and of ${text}\n`,
        ),
      });
    }
    expect(existsSync(join(cwd, 'all.jsonl'))).toBe(false);
    expect((await merge('1.jsonl', '2.jsonl')).code).toBe(0);
    // A merged output can be merged again.
    expect((await svc(['batch', 'merge', '2.jsonl', 'all.jsonl'], { cwd })).code).toBe(0);
  });

  it('are results of stdout, and need no journal', async () => {
    const { cwd, send, merge } = await shards();
    writeFileSync(join(cwd, 'in.jsonl'), prompts(6));
    for (const index of [1, 2]) {
      await send(`${index}.jsonl`, prompts(6), 'chat', '--shard', `${index}/2`);
      rmSync(join(cwd, `${index}.jsonl.journal`));
    }
    const whole = readFileSync(join(cwd, '1.jsonl'), 'utf8').split('\n');
    writeFileSync(join(cwd, '1.jsonl'), whole.toReversed().filter(Boolean).join('\n'));
    const { code, stderr } = await merge('1.jsonl', '2.jsonl', '--input', 'in.jsonl');
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'svc: 6 lines: 6 done, 0 failed, 0 unknown; 0 missing\n' });
    const lines = readFileSync(join(cwd, 'all.jsonl'), 'utf8').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).line)).toEqual([1, 2, 3, 4, 5, 6]);
    const { stdout } = await svc(['batch', 'merge', '1.jsonl', '2.jsonl'], { cwd });
    expect(stdout).toBe(readFileSync(join(cwd, 'all.jsonl'), 'utf8'));
  });

  it('are not of an earlier version, which no result is read from', async () => {
    const { cwd, send, merge } = await shards();
    await send('1.jsonl', prompts(6), 'chat');
    writeFileSync(join(cwd, 'old.jsonl'), entry(7).replace(/,"checkpoint":.*/, '}'));
    for (const output of ['old.jsonl', '1.jsonl'])
      expect(await merge(output, 'old.jsonl')).toMatchObject({
        code: 13,
        stderr: expect.stringContaining('old.jsonl:1 was written by an earlier version of svc'),
      });
    expect(existsSync(join(cwd, 'all.jsonl'))).toBe(false);
  });

  it.each([
    ['whole batches', []],
    ['the same shard', ['--shard', '2/2']],
  ])('of different inputs are exit 13 where they share a line: %s', async (_, shard) => {
    const { cwd, send, merge } = await shards();
    await send('1.jsonl', prompts(6), 'chat', ...shard);
    await send('2.jsonl', prompts(6).replace('p4', 'x'), 'chat', ...shard);
    await send('again.jsonl', prompts(6), 'chat', ...shard);
    const { code, stderr } = await merge('1.jsonl', '2.jsonl');
    expect({ code, stderr }).toMatchObject({
      code: 13,
      stderr: expect.stringContaining(
        'svc: 1.jsonl and 2.jsonl do not belong to the same batch: line 4 of their inputs differs\n',
      ),
    });
    expect(existsSync(join(cwd, 'all.jsonl'))).toBe(false);
    expect((await merge('1.jsonl', 'again.jsonl')).code).toBe(shard.length === 0 ? 0 : 10);
  });

  it('of an interrupted shard have no last lines, which only the input knows', async () => {
    const { cwd, merge } = await shards();
    const { url } = await countingServer(String, ({ text }, response) => {
      if (text.includes('p4')) return answerJson(response, { detail: 'no' }, 400);
      answerJson(response, { model: 'm', choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }] });
    });
    writeFileSync(join(cwd, 'in.jsonl'), prompts(9));
    const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--fail-fast', '--concurrency', '1'];
    expect((await svc(args, { cwd, env })).code).toBe(10);
    // Without its failed line, each line that the output has is done.
    const results = readFileSync(join(cwd, 'out.jsonl'), 'utf8').split('\n');
    writeFileSync(join(cwd, 'out.jsonl'), results.filter((line) => !line.startsWith('{"line":4,')).join('\n'));
    for (const [more, exitCode, message] of [
      [[], 0, '3 lines: 3 done, 0 failed, 0 unknown; 0 missing up to line 3\n'],
      [['--input', 'in.jsonl'], 10, '3 lines: 3 done, 0 failed, 0 unknown; 6 missing: lines 4-9\n'],
    ] as const) {
      const { code, stderr } = await merge('out.jsonl', ...more);
      expect({ code, stderr }).toMatchObject({ code: exitCode, stderr: expect.stringContaining(message) });
      expect(readFileSync(join(cwd, 'all.jsonl'), 'utf8').trim().split('\n')).toHaveLength(3);
    }
  });

  it('count no empty line of the input as missing', async () => {
    const { send, merge } = await shards();
    const input = `${chat('p1')}${chat('p2')}\n${chat('p4')}`;
    for (const index of [1, 2]) await send(`${index}.jsonl`, input, 'chat', '--shard', `${index}/2`);
    const whole = await merge('1.jsonl', '2.jsonl', '--input', 'in.jsonl');
    expect(whole).toMatchObject({ code: 0, stderr: 'svc: 3 lines: 3 done, 0 failed, 0 unknown; 0 missing\n' });
    const unknown = await merge('1.jsonl', '2.jsonl');
    expect(unknown).toMatchObject({ code: 10, stderr: expect.stringContaining('1 missing up to line 4: line 3\n') });
    for (const [name, missing] of [
      ['1.jsonl', '0 missing up to line 2; missing: shard 2/2'],
      ['2.jsonl', '3 missing up to line 4: lines 1-3; missing: shard 1/2'],
    ] as const) {
      const hint = `or if there is none, run that batch with --shard ${missing.slice(-3)} -o <file>`;
      const part = await merge(name);
      expect(part).toMatchObject({ code: 10, stderr: expect.stringContaining(`${missing}\n`) });
      expect(part.stderr).toContain(hint);
    }
  });

  it.each([
    ['changed', prompts(6).replace('p2', 'x').replace('p5', 'y'), 13, 'changed lines: 2, 5'],
    ['shorter', prompts(4), 13, 'removed lines: 5-6'],
    ['empty in a line', prompts(6).replace(chat('p3'), '\n'), 13, 'removed lines: 3'],
    ['longer', `${prompts(7)}\n${chat('p9')}`, 10, '2 missing: lines 7, 9'],
    ['the same', prompts(6).replaceAll('\n', '\r\n'), 0, '0 missing'],
  ])('are compared with --input: one that is %s', async (_, input, exitCode, message) => {
    const { cwd, send, merge } = await shards();
    for (const index of [1, 2]) await send(`${index}.jsonl`, prompts(6), 'chat', '--shard', `${index}/2`);
    writeFileSync(join(cwd, 'in.jsonl'), input);
    const { code, stderr } = await merge('1.jsonl', '2.jsonl', '--input', 'in.jsonl');
    expect({ code, stderr }).toMatchObject({ code: exitCode, stderr: expect.stringContaining(message) });
    expect(existsSync(join(cwd, 'all.jsonl'))).toBe(exitCode !== 13);
  });
});

describe('the output of a running batch', () => {
  it('is not replaced by a merge, also through a link', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 's1'), entry(1));
    writeFileSync(join(cwd, 'out.jsonl'), entry(2));
    writeFileSync(join(cwd, 'out.jsonl.lock'), `${process.pid} elsewhere 00`);
    symlinkSync('out.jsonl', join(cwd, 'link'));
    for (const output of ['out.jsonl', 'link']) {
      const { code, stderr } = await svc(['batch', 'merge', 's1', '-o', output], { cwd });
      expect({ code, stderr }).toMatchObject({ code: 13, stderr: expect.stringContaining('is in use by process') });
    }
    expect(readFileSync(join(cwd, 'out.jsonl'), 'utf8')).toBe(entry(2));
    rmSync(join(cwd, 'out.jsonl.lock'));
    const merged = await svc(['batch', 'merge', 's1', '-o', 'link'], { cwd });
    expect(merged).toMatchObject({ code: 0, stderr: expect.stringContaining('1 line: 1 done') });
    expect(readFileSync(join(cwd, 'out.jsonl'), 'utf8')).toBe(entry(1));
    expect(existsSync(join(cwd, 'out.jsonl.lock'))).toBe(false);
  });

  it.each([
    ['removed', (path: string) => rmSync(path)],
    [
      'replaced',
      (path: string) => {
        writeFileSync(`${path}.new`, entry(9));
        renameSync(`${path}.new`, path);
      },
    ],
  ])('that is %s stops the batch, which counts the lost results', async (_, replace) => {
    const cwd = temporaryDirectory();
    const output = join(cwd, 'out.jsonl');
    const { url, counts } = await countingServer(String, (_, response) => {
      replace(output);
      answerJson(response, {
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
      });
    });
    writeFileSync(join(cwd, 'in.jsonl'), prompts(3));
    const { code, stderr } = await svc(['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '1'], {
      cwd,
      env: { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url },
    });
    expect({ code, stderr }).toMatchObject({
      code: 12,
      stderr: expect.stringMatching(
        /^svc: 3 lines: 0 done, 0 failed, 1 unknown, 2 not sent \(.*\nsvc: out\.jsonl was removed or replaced while the batch was running; 1 line was sent, and 1 result was lost\n/m,
      ),
    });
    expect(counts.size).toBe(1);
    expect(existsSync(output) && readFileSync(output, 'utf8')).toBe(existsSync(output) && entry(9));
    expect(readFileSync(`${output}.journal`, 'utf8')).toContain('{"sending":1,');
  });
});

describe('results that follow each other', () => {
  const result = (line: number, input: string, shard: string) =>
    entry(line)
      .replace(/"input":"[^"]*"/, `"input":"${hash('sha256', input.trimEnd(), 'hex').slice(0, 16)}"`)
      .replace('"1/1"', `"${shard}"`);
  const all = Array.from({ length: 9 }, (_, at) => chat(`p${at + 1}`));
  const part = (from: number, to: number, shard: string) =>
    all.map((line, at) => (at + 1 >= from && at + 1 <= to ? result(at + 1, line, shard) : '')).join('');

  it.each<[string, Record<string, string>, number, string]>([
    ['in whatever order of files', { b: part(4, 6, '2/3'), c: part(1, 3, '1/3'), a: part(7, 9, '3/3') }, 0, '9 done'],
    ['with an empty output', { a: part(1, 9, '1/2'), b: '' }, 0, '9 done'],
    [
      'with a missing part',
      { a: part(1, 3, '1/3'), c: part(7, 9, '3/3') },
      10,
      '3 missing: lines 4-6; missing: shard 2/3\n',
    ],
    [
      'with a gap and no end',
      { a: part(1, 3, '1/3'), b: part(5, 6, '2/3') },
      10,
      '4 missing: lines 4, 7-9; missing: shard 3/3\n',
    ],
    ['that overlap', { a: part(1, 6, '1/3'), b: part(4, 9, '2/3') }, 0, '9 done'],
    ['of another number of shards', { a: part(1, 6, '1/3'), b: part(7, 9, '4/4') }, 13, 'in 3 shards and of'],
    ['of another input', { a: part(1, 9, '1/1').replace(/"input":"./g, '"input":"0') }, 13, 'changed lines: '],
    ['of a line that the input lacks', { a: part(1, 9, '1/1') + result(12, 'x', '1/1') }, 13, 'removed lines: 12\n'],
    ['with a torn end', { a: part(1, 5, '1/1'), b: part(6, 9, '1/1').slice(0, -40) }, 10, '1 missing: line 9\n'],
    ['with a line that is no result', { a: part(1, 5, '1/1'), b: `${part(6, 9, '1/1')}{"x":1}\n` }, 12, 'b:5 is not'],
  ])('are merged and checked: %s', async (_, files, exitCode, message) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), all.join(''));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
    const args = ['batch', 'merge', ...Object.keys(files), '--input', 'in.jsonl', '-o', 'all.jsonl'];
    const { code, stderr } = await svc(args, { cwd });
    expect({ code, stderr }).toMatchObject({ code: exitCode, stderr: expect.stringContaining(message) });
    const lines = existsSync(join(cwd, 'all.jsonl')) ? readFileSync(join(cwd, 'all.jsonl'), 'utf8').split('\n') : [];
    const numbers = lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line).line]));
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(numbers.length > 0).toBe(exitCode === 0 || exitCode === 10);
  });
});

describe('an input that can be read only once', () => {
  it.each([
    ['stdin', 'cat in.jsonl | svc batch merge s2 s1 --input - -o all.jsonl'],
    ['a pipe of the shell', 'svc batch merge s2 s1 --input <(cat in.jsonl) -o all.jsonl'],
    ['a FIFO', 'mkfifo f; cat in.jsonl > f & svc batch merge s2 s1 --input f -o all.jsonl'],
  ])('is compared with results in any order: %s', async (_, line) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), prompts(6).replaceAll('{"messages"', '{"model":"svc-local","messages"'));
    for (const shard of [1, 2])
      await svc(['chat', '--local', '--batch', 'in.jsonl', '--shard', `${shard}/2`, '-o', `s${shard}`], { cwd });
    const lines = readFileSync(join(cwd, 's1'), 'utf8').trimEnd().split('\n');
    writeFileSync(join(cwd, 's1'), `${lines.reverse().join('\n')}\n`);
    const { code, stderr } = await inShell(line, { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'svc: 6 lines: 6 done, 0 failed, 0 unknown; 0 missing\n' });
    const merged = readFileSync(join(cwd, 'all.jsonl'), 'utf8').trimEnd().split('\n');
    expect(merged.map((one) => JSON.parse(one).line)).toEqual([1, 2, 3, 4, 5, 6]);
  });
});
