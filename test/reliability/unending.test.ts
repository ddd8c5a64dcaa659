import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const completion =
  '{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"slow"},"finish_reason":"stop"}]}';

it('99 interim responses at once are no flood', async () => {
  const { url } = await rawServer((socket) =>
    socket.end(`${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(99)}${httpAnswer(completion)}`),
  );
  const env = { SVC_BASE_URL: url, SVC_TOKEN: 'tok-en-1' };
  const { code, stdout, stderr } = await run(['chat', 'hi', '-m', 'm'], { env });
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'slow\n' });
});

describe('an expression that backtracks without end', () => {
  const endless = `${'a'.repeat(40)}!`;

  it.each(['text', 'not'])('--expect-%s fails after 3 s', async (name) => {
    const { code, stdout, stderr } = await run(['chat', '--local', endless, `--expect-${name}`, '(a+)+$x', '-q']);
    expect(code, stderr).toBe(13);
    expect(stdout).toContain(endless);
    expect(stderr).toContain(`--expect-${name} (a+)+$x: could not be checked: it took more than 3 s`);
  });

  it('--expect-schema fails after 3 s', async () => {
    const { url } = await rawServer((socket) => socket.end(httpAnswer(completion.replace('slow', `\\"${endless}\\"`))));
    const env = { SVC_BASE_URL: url, SVC_TOKEN: 'tok-en-1' };
    const { code, stderr } = await run(['chat', 'hi', '-m', 'm', '--expect-schema', '{"pattern":"^(a+)+$"}'], { env });
    expect(code, stderr).toBe(13);
    expect(stderr).toContain('could not be checked: it took more than 3 s');
  });
});

const trainingJob = ['train', '--local', '--model-id', '0190b5c0-0000-7000-8000-000000000001', 'groups.jsonl'];
const group =
  '{"trajectories":[{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"reward":1}]}';

describe('a FIFO in place of a file of svc is rejected', () => {
  it.each([
    ['the history', 'data/requests.jsonl', ['log']],
    ['the history', 'data/requests.jsonl', ['chat', '--local', 'hi', '--continue']],
    ['the history', 'data/requests.jsonl', ['chat', '--local', 'hi']],
    ['the job history', 'data/training-jobs.jsonl', ['train', 'log']],
    ['the job history', 'data/training-jobs.jsonl', trainingJob],
    ['the profiles', 'config/config.json', ['profile', 'list']],
    ['the profiles', 'config/config.json', ['chat', 'hi', '-m', 'm']],
  ])('%s in %s: svc %s', async (_, file, args) => {
    const cwd = temporaryDirectory();
    const path = join(cwd, file);
    mkdirSync(dirname(path), { mode: 0o700 });
    execFileSync('mkfifo', ['-m', '600', path]);
    writeFileSync(join(cwd, 'groups.jsonl'), `${group}\n`);
    const { code, stdout, stderr } = await run(args, { cwd, env: { SVC_HISTORY: 'on' } });
    expect({ code, stdout }, stderr).toEqual({ code: 12, stdout: '' });
    expect(stderr).toContain(`${path}`);
    expect(stderr).toContain('it is not a regular file');
  });
});
