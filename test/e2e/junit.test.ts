import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { closedPort } from '../support/faults.ts';
import { inShell, start, waitForExit } from '../support/process.ts';
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
    const { code, stderr } = await runBuilt([...args, 'first.xml'], { cwd, env });
    expect(code, stderr).toBe(0);
    expect(answered.at(-1)).toBe('first');
    const names = ['a&#60;1', '7', 'line 3', 'd'];
    expect(testCases(join(cwd, 'first.xml'))).toEqual(names);
    expect(await runBuilt([...args, 'second.xml', '--resume'], { cwd, env })).toMatchObject({ code: 0 });
    expect(testCases(join(cwd, 'second.xml'))).toEqual(names);
  });

  it.each<[string, string[], string]>([
    ['its prompt', ['Name  a\nriver'], 'Name a river'],
    ['the start of a long one', ['x'.repeat(200)], 'x'.repeat(80)],
    [
      'the last message of a user',
      ['--message', 'user:one', '--message', 'assistant:no', '--message', 'user:two'],
      'two',
    ],
    ['the prompt of a file', ['-f', 'body.json'], 'of a file'],
    ['the prompt without secrets', ['my key is tok-en-1'], 'my key is [redacted]'],
    ['the command, if nothing is asked', ['-f', 'empty.json'], 'svc chat'],
  ])('names a single chat by %s', async (_, args, name) => {
    const cwd = temporaryDirectory();
    const { url } = await countingServer(String, (_body, response) =>
      answerJson(response, { choices: [{ index: 0, message: { content: 'Rhine' }, finish_reason: 'stop' }] }),
    );
    writeFileSync(join(cwd, 'body.json'), line('of a file'));
    writeFileSync(join(cwd, 'empty.json'), JSON.stringify({ messages: [{ role: 'user', content: [] }] }));
    const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
    const { stderr } = await runBuilt(['chat', '--no-stdin', ...args, '--junit', 'j.xml', '-q'], { cwd, env });
    expect([testCases(join(cwd, 'j.xml')), stderr]).toEqual([[name], '']);
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

describe('reports of a batch that sent nothing', () => {
  it('are not green, and say why', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), line('a') + line('b') + line('c'));
    const reports = ['--junit', 'j.xml', '--summary', 's.md'];
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '-m', 'm', '--max-outage', '1s', ...reports];
    const env = { SVC_BASE_URL: await closedPort() };
    expect(await runBuilt(args, { cwd, env })).toMatchObject({ code: 10 });
    const junit = readFileSync(join(cwd, 'j.xml'), 'utf8');
    expect(junit).toMatch(/<testsuites tests="1" failures="0" errors="1"/);
    expect(junit).toMatch(/<error type="not_sent" message="3 lines were not sent: [^"]*could not connect/);
    expect(readFileSync(join(cwd, 's.md'), 'utf8')).toMatch(/^Not sent: .*could not connect/m);
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
    expect(await runBuilt(args, { cwd })).toMatchObject({ code: 10 });
    expect(await runBuilt(['chat', 'hi', '--local', '--no-stdin', '--summary', 's.md'], { cwd })).toMatchObject({
      code: 0,
    });
    expect(latency(readFileSync(join(cwd, 's.md'), 'utf8'))).toBe(
      `before
### svc chat: 2 of 10 succeeded

| Succeeded | Failed expectations | Failed requests | Not sent | Latency p50 | p90 | max |
|---|---|---|---|---|---|---|
| 2 | 7 | 1 | 0 | N ms | N ms | N ms |

finish reasons: stop 9

| Failed expectation | Count | First |
|---|---|---|
| expectation failed: --expect-text good: no match in "You said &#92;"bad&#92;": 1 word. This is svc's built-in model; it is for tests, not a real one." | 7 | a&#124;&#60;b&#62;&#42;, line 4, line 5, line 6, line 7, … |

| Failed request | Count | First |
|---|---|---|
| the body is invalid; nothing was sent; in.jsonl:10:13 messages: must be an array, not 3 | 1 | line 10 |

### svc chat: 1 of 1 succeeded

| Succeeded | Failed expectations | Failed requests | Not sent | Latency p50 | p90 | max |
|---|---|---|---|---|---|---|
| 1 | 0 | 0 | 0 | N ms | N ms | N ms |

finish reasons: stop 1

`,
    );
  });

  it('counts the lines that were not sent', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), ['{"messages":3}\n', line('b'), line('c')].join(''));
    const flags = ['--fail-fast', '--concurrency', '1', '--summary', 's.md', '-o', 'out.jsonl'];
    const args = ['chat', '--local', '--batch', 'in.jsonl', '--junit', 'r.xml', ...flags];
    expect(await runBuilt(args, { cwd })).toMatchObject({ code: 10 });
    // Beside the failure of a line, too.
    const junit = readFileSync(join(cwd, 'r.xml'), 'utf8');
    expect(junit).toContain('tests="2" failures="0" errors="2"');
    expect(junit).toContain('2 lines were not sent: ');
    expect(readFileSync(join(cwd, 's.md'), 'utf8')).toMatch(
      /^### svc chat: 0 of 3 succeeded\n[\s\S]*\n\| 0 \| 0 \| 1 \| 2 \| {2}\| {2}\| {2}\|\n/,
    );
  });

  it.each(['feedback schema --project-id a/b --since 1d', 'call start --project-id a/b --op-name x'])(
    'is written by svc %s',
    async (words) => {
      const cwd = temporaryDirectory();
      const { code, stderr } = await runBuilt([...words.split(' '), '--local', '--no-stdin', '--summary', 's.md'], {
        cwd,
      });
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
    const { code, stderr } = await runBuilt(['chat', 'hi', '--no-stdin', ...flags], { env });
    expect([code, stderr]).toEqual([wanted, expect.stringContaining(message)]);
    expect(server.counts.size).toBe(0);
  });
});

describe('reports of a run that fails before its first request', () => {
  const green = '<testsuites tests="1" failures="0" errors="0"/>';
  const env = { SVC_BASE_URL: 'http://127.0.0.1:1', SVC_TOKEN: 'tok-en-1', SVC_RETRIES: '0' };
  const scene = (): string => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'j.xml'), green);
    writeFileSync(join(cwd, 's.md'), 'before\n');
    writeFileSync(join(cwd, 'bad.json'), '{"messages":3}');
    writeFileSync(join(cwd, 'rows.csv'), 'a\nx\n');
    writeFileSync(join(cwd, 'in.jsonl'), line('x'));
    return cwd;
  };
  const reports = ['--junit', 'j.xml', '--summary', 's.md'];

  it.each<[string, string[], Record<string, string>, number, string[]]>([
    [
      'an invalid body',
      ['-f', 'bad.json'],
      {},
      3,
      ['<error type="body"', 'bad.json:1:13 messages: must be an array, not 3'],
    ],
    ['a missing file', ['-f', 'none.json'], {}, 12, ['<error type="local_file"', 'none.json']],
    ['a missing attachment', ['hi', '--attach', 'none.png'], {}, 12, ['<error type="local_file"', 'none.png']],
    [
      'no credentials',
      ['hi'],
      { SVC_TOKEN: '', SVC_BASE_URL: 'https://svc.invalid' },
      4,
      ['<error type="credentials"', 'svc auth login'],
    ],
    ['no service', ['hi'], {}, 7, ['<error type="unreachable"', 'connection refused', '--base-url']],
    [
      'a safety check',
      ['hi'],
      { SVC_BASE_URL: 'http://192.0.2.1' },
      13,
      ['<error type="safety_check"', '--allow-http'],
    ],
    ['a batch without its file', ['--batch', 'none.jsonl'], {}, 12, ['<error type="local_file"', 'none.jsonl']],
    [
      'a batch without credentials',
      ['--batch', 'in.jsonl'],
      { SVC_TOKEN: '', SVC_BASE_URL: 'https://svc.invalid' },
      4,
      ['<error type="credentials"'],
    ],
    [
      'rows with an invalid template',
      ['--rows', 'rows.csv', '--set', 'messages:={{a:json}}'],
      {},
      3,
      ['<error type="body"'],
    ],
  ])('say why: %s', async (_, args, more, wanted, texts) => {
    const cwd = scene();
    const stdin = /^--(batch|rows)/.test(args[0] ?? '') ? [] : ['--no-stdin'];
    const { code, stderr } = await runBuilt(['chat', ...stdin, ...args, ...reports], { cwd, env: { ...env, ...more } });
    expect(code, stderr).toBe(wanted);
    const xml = readFileSync(join(cwd, 'j.xml'), 'utf8');
    for (const text of texts) expect(xml).toContain(text);
    expect(xml).toContain('tests="1" failures="0" errors="1"');
    const summary = readFileSync(join(cwd, 's.md'), 'utf8');
    expect(summary).toMatch(/^before\n### svc chat: 0 of 1 succeeded\n[\s\S]*\n\| 0 \| 0 \| 1 \| 0 \|/);
    expect(summary).not.toContain('not finished');
  });

  it.each([
    ['a request', ['hi', '--no-stdin']],
    ['a batch', ['--batch', 'in.jsonl', '-o', 'out.jsonl']],
  ])('say that %s that was killed is not finished', async (_, args) => {
    const cwd = scene();
    let onRequest = (): void => {};
    const requested = new Promise<void>((resolve) => {
      onRequest = resolve;
    });
    const { url } = await countingServer(
      () => '',
      () => onRequest(),
    );
    const child = start(['chat', ...args, ...reports], { cwd, env: { ...env, SVC_BASE_URL: url } });
    const ended = waitForExit(child);
    await requested;
    child.kill('SIGKILL');
    await ended;
    const xml = readFileSync(join(cwd, 'j.xml'), 'utf8');
    expect(xml).toContain('errors="1"');
    expect(xml).toContain('<error type="not_finished" message="the run is not finished">');
    expect(readFileSync(join(cwd, 's.md'), 'utf8')).toBe('before\n### svc chat: not finished\n\n');
  });

  it('keep what another step appended to the summary', async () => {
    const cwd = scene();
    const { url } = await countingServer(
      () => '',
      (_, response) => {
        writeFileSync(join(cwd, 's.md'), 'of another step\n', { flag: 'a' });
        answerJson(response, { model: 'm', choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }] });
      },
    );
    const { code } = await runBuilt(['chat', 'hi', '--no-stdin', ...reports], {
      cwd,
      env: { ...env, SVC_BASE_URL: url },
    });
    expect(code).toBe(0);
    expect(readFileSync(join(cwd, 's.md'), 'utf8')).toMatch(
      /^before\n *\n\nof another step\n### svc chat: 1 of 1 succeeded\n/,
    );
  });

  it('stay as they are for a wrong command line', async () => {
    const cwd = scene();
    expect(await runBuilt(['chat', 'hi', '--no-such-flag', ...reports], { cwd })).toMatchObject({ code: 2 });
    expect(await runBuilt(['chat', 'hi', '--junit', 'j.xml', '--summary', 'j.xml'], { cwd })).toMatchObject({
      code: 2,
    });
    expect(readFileSync(join(cwd, 'j.xml'), 'utf8')).toBe(green);
    expect(readFileSync(join(cwd, 's.md'), 'utf8')).toBe('before\n');
    expect(existsSync(join(cwd, 'out.jsonl'))).toBe(false);
  });

  it('tell an expectation that failed from a request', async () => {
    const cwd = scene();
    const flags = ['--local', '--no-stdin', '--expect-text', 'no such text', ...reports];
    expect(await runBuilt(['chat', 'hi', ...flags], { cwd })).toMatchObject({ code: 13 });
    expect(readFileSync(join(cwd, 'j.xml'), 'utf8')).toMatch(
      /failures="1" errors="0"[\s\S]*<failure type="safety_check"/,
    );
    expect(readFileSync(join(cwd, 's.md'), 'utf8')).toContain('\n| 0 | 1 | 0 | 0 |');
  });
});
