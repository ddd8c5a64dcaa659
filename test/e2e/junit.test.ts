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
