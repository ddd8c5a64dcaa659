import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';

const env = { SVC_BASE_URL: 'http://127.0.0.1:9' };
const dryRun = ['--dry-run', '--no-stdin', '--json'];

async function request(...words: readonly string[]) {
  const { code, stdout, stderr } = await runBuilt([...words, ...dryRun], { env });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

describe('a value in the word of its flag', () => {
  it.each([
    [['-mgpt']],
    [['-m=gpt']],
    [['-qm=gpt']],
    [['-vqmgpt']],
    [['-m', 'gpt']],
    [['--model=gpt']],
    [['--model', 'gpt']],
  ])('%j is the model gpt', async (words) => {
    expect((await request('chat', ...words, 'hi')).body).toMatchObject({ model: 'gpt' });
  });

  it.each([
    ['-m==x', '=x'],
    ['-m=', ''],
    ['--model=', ''],
    ['--model==', '='],
  ])('%s is %j', async (word, model) => {
    expect((await request('chat', word, 'hi')).body).toMatchObject({ model });
  });

  it.each([
    ['--echo=false', false],
    ['--echo=true', true],
    ['--no-echo', false],
  ])('%s is %s', async (word, echo) => {
    expect((await request('chat', 'hi', word)).body).toMatchObject({ echo });
  });
});

describe('flags before and after the command', () => {
  it('are collected if they are repeatable, in order', async () => {
    const { headers } = await request('-H', 'X-A: 1', 'chat', '-H', 'X-B: 2', 'hi', '-H=X-C: 3');
    expect(Object.entries(headers).filter(([name]) => /^x-[abc]$/i.test(name))).toEqual([
      ['X-A', '1'],
      ['X-B', '2'],
      ['X-C', '3'],
    ]);
  });

  it.each([
    [['--base-url', 'http://127.0.0.1:1', 'chat', '--base-url', 'http://127.0.0.1:2', 'hi'], 'http://127.0.0.1:2'],
    [
      ['feedback', '--base-url', 'http://127.0.0.1:1', 'schema', '--since', '1d', '--project-id=a/b'],
      'http://127.0.0.1:1',
    ],
    [
      [
        '--base-url=http://127.0.0.1:1',
        'feedback',
        '--base-url=http://127.0.0.1:2',
        'schema',
        '--since=1d',
        '--project-id=a/b',
      ],
      'http://127.0.0.1:2',
    ],
  ])('of a scalar the last one counts: %j', async (words, url) => {
    expect((await request(...words)).url).toContain(url);
  });

  it.each([
    [['--json', 'chat', 'hi', '--extract', 'code'], '--extract cannot be combined with --json'],
    [['--dry-run', 'chat', '--curl', 'hi'], '--curl cannot be combined with --dry-run'],
    [['--format', 'tabel', 'chat', 'hi'], '--format cannot be "tabel"'],
    [['--color', 'blue', 'profile', 'list'], '--color cannot be "blue"'],
    [['--base-url', '', 'chat', 'hi'], '--base-url is empty'],
  ])('contradict and are checked alike: %j', async (words, message) => {
    const { code, stdout, stderr } = await runBuilt(words, { env });
    expect({ code, stdout, message: stderr.split('\n')[0] }).toEqual({
      code: 2,
      stdout: '',
      message: `svc: ${message}`,
    });
  });
});

describe('of two forms of a boolean flag the last one counts', () => {
  it.each([
    [['--echo', '--no-echo'], false],
    [['--no-echo', '--echo'], true],
    [['--no-echo=x', '--echo'], undefined],
    [['--echo=false', '--echo'], true],
  ])('%j', async (words, echo) => {
    if (echo === undefined) {
      expect((await runBuilt(['chat', 'hi', ...words], { env })).stderr).toContain('svc: --no-echo takes no value\n');
      return;
    }
    expect((await request('chat', 'hi', ...words)).body).toMatchObject({ echo });
  });
});

describe('a mistake is reported as the line asks, wherever it asks', () => {
  const mistakes = [
    ['chta', 'hi'],
    ['chat', '--model', '--seed', '1'],
    ['chat', '--token', 'x', 'hi'],
    ['chat', '--nothing', 'hi'],
    ['chat', '--echo=maybe', 'hi'],
    ['--model', 'x', 'chat', 'hi'],
    ['profile', 'use'],
    ['completion', 'csh'],
    ['feedback', '--bad'],
    ['chat', 'hi', '--strict', '--no-check'],
  ];

  it.each(mistakes.map((words) => [words] as const))('%j', async (words) => {
    const after = await runBuilt([...words, '--error-format', 'json'], { env });
    const before = await runBuilt(['--error-format=json', ...words], { env });
    for (const { code, stderr } of [after, before]) {
      expect(code).toBe(2);
      expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'usage', exit_code: 2 } });
    }
    const colored = await runBuilt([...words, '--color=always'], { env });
    expect(colored.stderr).toContain('\u001b[');
  });

  it('but not as the command of another program asks', async () => {
    const { code, stderr } = await runBuilt(['call', 'run', 'make', '--error-format', 'json'], { env });
    expect([code, stderr.startsWith('svc: svc call run takes its command only after --\n')]).toEqual([2, true]);
  });
});
