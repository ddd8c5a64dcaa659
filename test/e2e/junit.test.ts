import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { inShell, run } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const line = (content: string, custom_id?: string | number): string =>
  `${JSON.stringify({ custom_id, messages: [{ role: 'user', content }] })}\n`;

function testCases(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/<testcase [^>]* name="([^"]*)"/g)].map(([, name = '']) => name);
}

describe('a JUnit report', () => {
  it('names the lines of a batch by custom_id, in input order, also with --resume', async () => {
    const cwd = temporaryDirectory();
    const answered: string[] = [];
    let answerFirst = (): void => {};
    const { url } = await countingServer(
      (body) => JSON.parse(body).messages[0].content,
      ({ key }, response) => {
        const answer = (): void => {
          answerJson(response, {
            model: 'm',
            choices: [{ index: 0, message: { content: key }, finish_reason: 'stop' }],
          });
          answered.push(key);
          if (answered.length === 3) answerFirst();
        };
        if (key === 'first' && answered.length < 3) answerFirst = answer;
        else answer();
      },
    );
    writeFileSync(
      join(cwd, 'in.jsonl'),
      [line('first', 'a<1'), line('second', 7), line('third'), line('4', 'd')].join(''),
    );
    const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '4', '--junit'];
    const { code, stderr } = await run([...args, 'first.xml'], { cwd, env });
    expect(code, stderr).toBe(0);
    expect(answered.at(-1)).toBe('first');
    const names = ['a&#60;1', '7', 'line 3', 'd'];
    expect(testCases(join(cwd, 'first.xml'))).toEqual(names);
    expect(await run([...args, 'second.xml', '--resume'], { cwd, env })).toMatchObject({ code: 0 });
    expect(testCases(join(cwd, 'second.xml'))).toEqual(names);
  });

  it.each([
    ['022', 0o644],
    ['077', 0o600],
    ['000', 0o666],
  ])('has the mode of a umask of %s', async (umask, mode) => {
    const cwd = temporaryDirectory();
    const shellLine = `umask ${umask}; svc chat hi --local --no-stdin --junit j.xml`;
    expect(await inShell(shellLine, { cwd })).toMatchObject({ code: 0 });
    expect(statSync(join(cwd, 'j.xml')).mode & 0o777).toBe(mode);
  });
});

describe('a Markdown summary', () => {
  const latency = (text: string): string => text.replaceAll(/\d+ ms/g, 'N ms');

  it('has counts, latency, and failures by cause with the first lines, and is appended', async () => {
    const cwd = temporaryDirectory();
    const inputs = [line('good'), line('bad', 'a|<b>*'), line('good'), ...Array.from({ length: 6 }, () => line('bad'))];
    writeFileSync(join(cwd, 'in.jsonl'), `${inputs.join('')}{"messages":3}\n`);
    writeFileSync(join(cwd, 's.md'), 'before\n');
    const args = [
      'chat',
      '--local',
      '--batch',
      'in.jsonl',
      '-o',
      'out.jsonl',
      '--expect-text',
      'good',
      '--summary',
      's.md',
    ];
    expect(await run(args, { cwd })).toMatchObject({ code: 10 });
    expect(await run(['chat', 'hi', '--local', '--no-stdin', '--summary', 's.md'], { cwd })).toMatchObject({ code: 0 });
    expect(latency(readFileSync(join(cwd, 's.md'), 'utf8'))).toBe(
      `before
### svc chat: 2 of 10 succeeded

| Succeeded | Failed expectations | Failed requests | Not sent | Latency p50 | p90 | max |
|---|---|---|---|---|---|---|
| 2 | 7 | 1 | 0 | N ms | N ms | N ms |

| Failure | Count | First |
|---|---|---|
| expectation failed: --expect-text good: no match in "…" | 7 | a&#124;&#60;b&#62;&#42;, line 4, line 5, line 6, line 7, … |
| the body is invalid; nothing was sent | 1 | line 10 |

### svc chat: 1 of 1 succeeded

| Succeeded | Failed expectations | Failed requests | Not sent | Latency p50 | p90 | max |
|---|---|---|---|---|---|---|
| 1 | 0 | 0 | 0 | N ms | N ms | N ms |

`,
    );
  });

  it('counts the lines that were not sent', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), ['{"messages":3}\n', line('b'), line('c')].join(''));
    const flags = ['--fail-fast', '--concurrency', '1', '--summary', 's.md', '-o', 'out.jsonl'];
    expect(await run(['chat', '--local', '--batch', 'in.jsonl', ...flags], { cwd })).toMatchObject({ code: 10 });
    expect(readFileSync(join(cwd, 's.md'), 'utf8')).toMatch(
      /^### svc chat: 0 of 3 succeeded\n[\s\S]*\n\| 0 \| 0 \| 1 \| 2 \| {2}\| {2}\| {2}\|\n/,
    );
  });

  it.each(['feedback schema --project-id a/b --since 1d', 'call start --project-id a/b --op-name x'])(
    'is written by svc %s',
    async (words) => {
      const cwd = temporaryDirectory();
      const { code, stderr } = await run([...words.split(' '), '--local', '--no-stdin', '--summary', 's.md'], { cwd });
      expect(code, stderr).toBe(0);
      expect(readFileSync(join(cwd, 's.md'), 'utf8')).toMatch(
        /^### svc (feedback schema|call start): 1 of 1 succeeded\n/,
      );
    },
  );

  it.each([
    [['--summary', '-'], 2, '--summary writes a file, not stdout'],
    [['--summary', 'f', '--junit', 'f'], 2, '--summary and --junit name the same file, f'],
    [['--summary', 'missing/s.md'], 12, 'cannot write missing/s.md'],
  ])('with %j sends nothing', async (flags, wanted, message) => {
    const server = await countingServer(
      () => '',
      (_, response) => answerJson(response, {}),
    );
    const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url };
    const { code, stderr } = await run(['chat', 'hi', '--no-stdin', ...flags], { env });
    expect([code, stderr]).toEqual([wanted, expect.stringContaining(message)]);
    expect(server.counts.size).toBe(0);
  });
});
