import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inShell, type ProcessSetting, run } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const token = 'tok-en/1-canary';
const password = 'pass "wörd"/1';
const pair = Buffer.from(`ada:${password}`).toString('base64');
const env = { SVC_TOKEN: token, SVC_USERNAME: 'ada', SVC_PASSWORD: password, SVC_HISTORY: 'bodies' };
const requestHistory = (cwd: string): string => join(cwd, 'data', 'requests.jsonl');
const job =
  '{"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trajectory_groups":[{"trajectories":[{"reward":1,"logs":[]}]}]}';

const homeWith = (text: string): string => {
  const cwd = temporaryDirectory();
  mkdirSync(join(cwd, 'data'));
  writeFileSync(requestHistory(cwd), text, { mode: 0o600 });
  return cwd;
};

const chat = ['chat', 'hi', '--no-stdin', '--local'];

/** Runs a command in this process; those that run at the same time are processes. */
const runHere = (args: readonly string[], setting: ProcessSetting) => svc(args, { stdin: '', ...setting });

describe('the request history', () => {
  it.each([
    ['a token', token, ['chat', 'hi', '--no-stdin', '--json']],
    ['a token of a stream', token, ['chat', 'hi', '--no-stdin', '--stream']],
    ['a password', password, ['call', 'start', '--project-id', 'a/b', '--op-name', 'x']],
    ['a Basic pair', pair, ['call', 'start', '--project-id', 'a/b', '--op-name', 'x']],
    [
      'a Basic pair inside base64',
      Buffer.from(`>Basic ${pair}`).toString('base64'),
      ['feedback', 'schema', '--project-id', 'a/b', '--since', '7d'],
    ],
  ])('does not keep %s that the server echoes', async (_, secret, args) => {
    const cwd = temporaryDirectory();
    const content = `so: ${secret}.`;
    const choice = { index: 0, finish_reason: 'stop' };
    const whole = JSON.stringify({
      id: 'i',
      trace_id: 't',
      paths: [],
      x: content,
      choices: [{ ...choice, message: { content } }],
    });
    const parts = [content.slice(0, 9), content.slice(9)];
    const events = parts.map(
      (part) => `data: ${JSON.stringify({ choices: [{ ...choice, delta: { content: part } }] })}\n\n`,
    );
    const isStream = args.includes('--stream');
    const server = await rawServer((socket) =>
      socket.end(
        isStream
          ? httpAnswer(`${events.join('')}data: [DONE]\n\n`, '200 OK', 'Content-Type: text/event-stream\r\n')
          : httpAnswer(whole),
      ),
    );
    const { code, stderr } = await runHere(args, { cwd, env: { ...env, SVC_BASE_URL: server.url } });
    expect(code, stderr).toBe(0);
    const text = readFileSync(requestHistory(cwd), 'utf8');
    expect(JSON.stringify(JSON.parse(text).response)).toMatch(/so: .*\[redacted\]/);
    for (const form of [secret, token, password, pair, JSON.stringify(password).slice(1, -1)])
      expect(text).not.toContain(form);
  });

  it('does not keep a token that a body contains, and stays valid JSON', async () => {
    const cwd = temporaryDirectory();
    const prompt = `my token is ${token}, and ${password}`;
    expect(await runHere(['chat', prompt, '--no-stdin', '--local'], { cwd, env })).toMatchObject({ code: 0 });
    const record = JSON.parse(readFileSync(requestHistory(cwd), 'utf8'));
    expect(record.request.messages[0].content).toBe('my token is [redacted], and [redacted]');
    expect(JSON.stringify(record)).not.toContain(token);
  });

  it('says that it does not have the groups of a large training job', async () => {
    const cwd = temporaryDirectory();
    const trajectory = { messages_and_choices: [{ role: 'user', content: 'x'.repeat(300_000) }], reward: 1 };
    writeFileSync(join(cwd, 'g.jsonl'), JSON.stringify({ trajectories: [trajectory] }));
    const args = ['train', '--local', 'g.jsonl', '--model-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05'];
    expect(await runHere(args, { cwd, env })).toMatchObject({ code: 0 });
    const { request } = JSON.parse(readFileSync(requestHistory(cwd), 'utf8'));
    expect(request.trajectory_groups).toMatch(/^\[30\d{4} bytes sent in all, groups not recorded\]$/);
  });

  it('keeps words that are also short passwords', async () => {
    const cwd = temporaryDirectory();
    const { code } = await runHere(['chat', 'none of it', '--no-stdin', '--local'], {
      cwd,
      env: { ...env, SVC_TOKEN: 'none' },
    });
    expect(code).toBe(0);
    expect(readFileSync(requestHistory(cwd), 'utf8')).toContain('"none of it"');
  });
});

describe('the request history as a journal', () => {
  const record = '{"time":"2026-01-01T00:00:00Z","command":"chat"}\n';

  it('drops a last line that a crash cut off, also one that is longer than a read', async () => {
    const cwd = homeWith(`${record}{"time":"${'2'.repeat(200_000)}`);
    expect(await runHere(['log', '--format', 'jsonl'], { cwd, env })).toMatchObject({ code: 0 });
    expect(await runHere(chat, { cwd, env })).toMatchObject({ code: 0 });
    const lines = readFileSync(requestHistory(cwd), 'utf8').split('\n');
    expect([lines[0], lines.length]).toEqual([record.trimEnd(), 3]);
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ command: 'chat', exit_code: 0 });
  });

  it.each([
    ['not JSON', 'x\n'],
    ['of another format', '{"at":1}\n'],
  ])('with a line that is %s is rejected with its place, and keeps recording', async (_, line) => {
    const cwd = homeWith(`${record}${line}${record}`);
    for (const args of [['log'], ['log', 'show', '1'], ['chat', '--continue', 'x', '--no-stdin', '--local']]) {
      const { code, stderr } = await runHere(args, { cwd, env });
      expect({ code, stderr }).toEqual({
        code: 13,
        stderr: expect.stringContaining('requests.jsonl:2 is not a valid record'),
      });
    }
    expect(await runHere(chat, { cwd, env })).toMatchObject({ code: 0 });
    expect(readFileSync(requestHistory(cwd), 'utf8').split('\n')).toHaveLength(5);
  });

  it('has every record of commands that run at once', async () => {
    const cwd = temporaryDirectory();
    const runs = await Promise.all(Array.from({ length: 6 }, () => run(chat, { cwd, env })));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    const lines = readFileSync(requestHistory(cwd), 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).exit_code)).toEqual([0, 0, 0, 0, 0, 0]);
  });
});

describe('svc log prune', () => {
  const day = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
  const requests = [90, 45, 31, 1].map((days) => ({ time: day(days), command: 'chat', request: { messages: [] } }));
  const prompts = [60, 2].map((days) => ({ time: day(days), text: `${days} days old` }));
  const jsonl = (records: readonly object[]): string => records.map((record) => `${JSON.stringify(record)}\n`).join('');
  const promptHistory = (cwd: string): string => join(cwd, 'data', 'prompts.jsonl');
  const createHistories = (): string => {
    const cwd = homeWith(jsonl(requests));
    writeFileSync(promptHistory(cwd), jsonl(prompts));
    return cwd;
  };

  it('removes requests and prompts beyond an age, and says how many', async () => {
    const cwd = createHistories();
    const bytes = jsonl(requests.slice(0, 3)).length + jsonl(prompts.slice(0, 1)).length;
    const removed = { removed: 3, removed_prompts: 1, removed_bytes: bytes };
    const dryRun = await runHere(['log', 'prune', '--older-than', '30d', '-n'], { cwd });
    expect(dryRun.stderr).toMatch(/^svc: would remove 3 requests and 1 prompt \(\d+ B\)\n$/);
    expect(JSON.parse(dryRun.stdout)).toEqual(removed);
    expect(readFileSync(requestHistory(cwd), 'utf8')).toBe(jsonl(requests));
    const { code, stdout, stderr } = await runHere(['log', 'prune', '--older-than', '30d'], { cwd });
    expect({ code, removed: JSON.parse(stdout) }).toEqual({ code: 0, removed });
    expect(stderr).toMatch(/^svc: removed 3 requests and 1 prompt \(\d+ B\)\n$/);
    expect(readFileSync(requestHistory(cwd), 'utf8')).toBe(jsonl(requests.slice(3)));
    expect(readFileSync(promptHistory(cwd), 'utf8')).toBe(jsonl(prompts.slice(1)));
    expect(statSync(requestHistory(cwd)).mode & 0o777).toBe(0o600);
  });

  it('keeps the newest requests up to a size, and all prompts', async () => {
    const cwd = createHistories();
    const size = String(jsonl(requests.slice(2)).length + 3);
    const { stdout } = await runHere(['log', 'prune', '--max-size', size, '-q'], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ removed: 2, removed_prompts: 0 });
    expect(readFileSync(requestHistory(cwd), 'utf8')).toBe(jsonl(requests.slice(2)));
    expect(readFileSync(promptHistory(cwd), 'utf8')).toBe(jsonl(prompts));
  });

  it.each([
    ['without a limit', []],
    ['with another age', ['--older-than', '30']],
    ['with another size', ['--max-size', '10 MB']],
  ])('%s exits with 2', async (_, flags) => {
    const cwd = createHistories();
    expect((await runHere(['log', 'prune', ...flags], { cwd })).code).toBe(2);
    expect(readFileSync(requestHistory(cwd), 'utf8')).toBe(jsonl(requests));
  });

  it('loses no record of a command that runs at the same time', async () => {
    const cwd = createHistories();
    const prune = ['log', 'prune', '--older-than', '30d'];
    const runs = await Promise.all([chat, prune, chat, prune, chat, prune].map((args) => run(args, { cwd, env })));
    expect(runs.map(({ code }) => code)).toEqual(Array(6).fill(0));
    expect(readFileSync(requestHistory(cwd), 'utf8').trimEnd().split('\n')).toHaveLength(4);
  });
});

describe('histories and the spool', () => {
  const commands = [
    'svc chat hi --no-stdin --local',
    `svc train --local -f - <<< '${job}'`,
    'svc call run --spool=only -q --project-id a/b --base-url http://127.0.0.1:9 -- true',
  ];
  const filesOf = (cwd: string): string[] => {
    const spool = join(cwd, 'data', 'spool');
    const spooled = readdirSync(spool).map((name) => join(spool, name));
    return [requestHistory(cwd), join(cwd, 'data', 'training-jobs.jsonl'), ...spooled];
  };

  it.each(['000', '022', '277'])('have the mode 0600 with a umask of %s', async (umask) => {
    const cwd = temporaryDirectory();
    const { code, stderr } = await inShell(`umask ${umask}; ${commands.join(' && ')}`, { cwd, env });
    expect(code, stderr).toBe(0);
    const files = filesOf(cwd);
    expect(files).toHaveLength(3);
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
  });

  it.each([
    ['requests.jsonl', 0],
    ['training-jobs.jsonl', 1],
  ])('have the mode 0600 again after it was widened: %s', async (name, command) => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'data'));
    const file = join(cwd, 'data', name);
    writeFileSync(file, '', { mode: 0o644 });
    expect(await inShell(commands[command] ?? '', { cwd, env })).toMatchObject({ code: 0 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['requests.jsonl', 0, 0],
    ['training-jobs.jsonl', 1, 12],
  ])('do not follow a symlink: %s', async (name, command, expectedCode) => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, 'target'), '');
    symlinkSync(join(cwd, 'target'), join(cwd, 'data', name));
    const { code, stderr } = await inShell(commands[command] ?? '', { cwd, env });
    expect({ code, stderr }).toEqual({
      code: expectedCode,
      stderr: expect.stringContaining(`${name}: it is a symlink; replace it with a file`),
    });
    expect(readFileSync(join(cwd, 'target'), 'utf8')).toBe('');
  });

  it('may be in a directory that is a symlink', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'elsewhere'));
    symlinkSync(join(cwd, 'elsewhere'), join(cwd, 'data'));
    const { code, stderr } = await inShell(commands.join(' && '), { cwd, env });
    expect(code, stderr).toBe(0);
    expect(filesOf(cwd)).toHaveLength(3);
  });
});
