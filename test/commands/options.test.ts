import { linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { answering, serviceEnv } from '../support/service.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

describe('a time limit', () => {
  const dryRun = (flags: readonly string[], env = {}, cwd = temporaryDirectory()): Promise<Result> =>
    svc(['chat', 'x', '--no-stdin', '--dry-run', ...flags], { env, cwd });

  it.each(['1', '0.5', '500ms', '90s', '2m', '596h', '2147483', '0', '0ms', '1d', '2m30s'])(
    'can be %s',
    async (text) => {
      expect((await dryRun(['--timeout', text])).code).toBe(0);
    },
  );

  it.each(['597h', '2147484', '35792m', '1e9', '25d', '-1'])('cannot be %s, from any source', async (text) => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'));
    writeFileSync(join(cwd, 'config', 'config.json'), JSON.stringify({ profiles: { default: { timeout: text } } }));
    for (const [source, result] of [
      ['--timeout', await dryRun([`--timeout=${text}`])],
      ['SVC_TIMEOUT', await dryRun([], { SVC_TIMEOUT: text })],
      ['timeout of profile "default"', await dryRun([], {}, cwd)],
      ['--timeout', await svc(['profile', 'set', 'p', `--timeout=${text}`])],
    ] as const) {
      expect(result).toMatchObject({
        code: 2,
        stderr: `svc: ${source} cannot be "${text}"\n  write a time like 500ms, 90s, 2m30s, 1h or 1d, at most 596h\n`,
      });
    }
  });
});

it.each([
  ['a prompt', ['chat'], ['Hel', 'lo']],
  [
    'a body',
    ['feedback', 'schema', '-f', '-', '--retries', '0'],
    ['{"project_id":"a/b",', '"start":"2026-01-01T00:00:00Z"}'],
  ],
  ['a schema', ['chat', 'x', '--expect-schema', '@-'], ['{', '}']],
])('--timeout includes reading %s', async (_, args, [first = '', last = '']) => {
  let elapsedMs = 0;
  const stdin = Readable.from(
    (async function* () {
      yield Buffer.from(first);
      elapsedMs += 2500;
      yield Buffer.from(last);
    })(),
  );
  const { code, stderr } = await svc([...args, '--timeout', '2s'], {
    env: serviceEnv,
    stdin,
    send: ({ signal }) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true })),
    runtime: {
      elapsed: () => elapsedMs,
      // Only a limit that has passed ends the request.
      after: (milliseconds, action) => {
        if (milliseconds === 0) setImmediate(action);
        return () => {};
      },
    },
  });
  expect({ code, stderr }).toEqual({ code: 7, stderr: expect.stringContaining('2 s') });
});

it('--local names the base URL that contradicts it', async () => {
  expect(await svc(['chat', 'x', '--no-stdin', '--local', '--base-url', 'https://svc.test'])).toMatchObject({
    code: 2,
    stderr: 'svc: --local cannot be combined with --base-url\n  remove one of them\n',
  });
});

it.each([
  [['chat', 'x', '--chat-base-url', 'u'], 'set SVC_CHAT_BASE_URL, or run: svc profile set <name> --chat-base-url ...'],
  [['doctor', '--train-base-url=u'], 'set SVC_TRAIN_BASE_URL, or run: svc profile set <name> --train-base-url ...'],
  [['chat', 'x', '--credential-command', 'c'], 'run: svc profile set <name> --credential-command ...'],
])('a flag of svc profile set is unknown elsewhere, and the hint names it: svc %j', async (args, hint) => {
  const { code, stderr } = await svc(args);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/^svc: unknown flag "--[a-z-]+" for svc \w+\n/),
  });
  expect(stderr).toContain(`\n  ${hint}\n`);
});

it.each<[string, string[], { readonly [name: string]: string }]>([
  ['--profile', ['--profile', 'local'], {}],
  ['SVC_PROFILE', [], { SVC_PROFILE: 'local' }],
])('the local profile of %s names the base URL that contradicts it', async (source, args, env) => {
  expect(await svc(['chat', 'x', '--no-stdin', ...args, '--base-url', 'https://svc.test'], { env })).toMatchObject({
    code: 2,
    stderr: `svc: --base-url cannot be combined with the profile "local" of ${source}\n  remove --base-url, or name another profile with --profile\n`,
  });
});

it('the local profile of svc profile use names the base URL that contradicts it', async () => {
  const cwd = temporaryDirectory();
  await svc(['profile', 'use', 'local'], { cwd });
  const { code, stderr } = await svc(['chat', 'x', '--no-stdin', '--base-url', 'https://svc.test'], { cwd });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('--base-url cannot be combined with the profile "local" of svc profile use\n'),
  });
});

describe('the local profile ignores a base URL of the environment', () => {
  const chat = ['chat', 'x', '--no-stdin'];
  const note = (variable: string, source: string): string =>
    `svc: ${variable} is ignored, because the profile "local" of ${source} uses the local service\n`;

  it.each([
    ['SVC_BASE_URL', { SVC_BASE_URL: 'https://svc.test' }],
    ['SVC_CHAT_BASE_URL', { SVC_BASE_URL: 'https://svc.test', SVC_CHAT_BASE_URL: 'https://chat.svc.test' }],
  ])('and prints a note with %s where svc profile use or SVC_PROFILE chose it', async (variable, env) => {
    const cwd = temporaryDirectory();
    await svc(['profile', 'use', 'local'], { cwd });
    const used = await svc(chat, { cwd, env });
    expect(used.code, used.stderr).toBe(0);
    expect(used.stderr).toContain(note(variable, 'svc profile use'));
    writeFileSync(join(cwd, 'in.jsonl'), '{"messages":[{"role":"user","content":"hi"}]}\n');
    const batch = await svc(['chat', '--batch', 'in.jsonl'], { env: { ...env, SVC_PROFILE: 'local' }, cwd });
    expect(batch.code, batch.stderr).toBe(0);
    expect(batch.stderr.split(note(variable, 'SVC_PROFILE'))).toHaveLength(2);
  });

  it.each([[['--local']], [['--profile', 'local']]])('silently if the command line names it: %j', async (flags) => {
    const { code, stderr } = await svc([...chat, ...flags], { env: { SVC_BASE_URL: 'https://svc.test' } });
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain('is ignored');
  });

  it('silently if there is none, or only one of other operations', async () => {
    const env = { SVC_PROFILE: 'local', SVC_TRACE_BASE_URL: 'https://svc.test' };
    expect((await svc(chat, { env })).stderr).not.toContain('is ignored');
  });
});

describe('-o receives the output of --dry-run and --curl', () => {
  it.each([['--dry-run'], ['--dry-run', '--json'], ['--curl']])('%s', async (...show) => {
    const cwd = temporaryDirectory();
    const args = ['chat', 'x', '--no-stdin', ...show];
    const env = { SVC_BASE_URL: 'https://svc.test' };
    const shown = await svc(args, { cwd, env });
    expect(await svc([...args, '-o', 'request'], { cwd, env })).toEqual({
      ...shown,
      stdout: '',
      bytes: Buffer.alloc(0),
    });
    expect(readFileSync(join(cwd, 'request'), 'utf8')).toBe(shown.stdout);
    expect(shown.stdout).toContain('"content":"x"');
    expect(await svc([...args, '-o', '-'], { cwd, env })).toEqual(shown);
    expect(await svc([...args, '-o', 'absent/request'], { cwd, env })).toMatchObject({ code: 12, stdout: '' });
    expect(readdirSync(cwd)).toEqual(['request']);
  });
});

describe('-o never replaces an input', () => {
  it.each([
    ['a body', 'chat -f in -o in'],
    ['a body by another path', 'feedback replace -f in -o ./in'],
    ['a body by a link', 'call start -f in -o link'],
    ['a field', 'chat hi --messages @in -o in'],
    ['a secret field', 'chat hi --cache-salt @in -o in'],
    ['a JSON Schema of the response', 'chat hi --json-schema @in -o in'],
    ['an expected JSON Schema', 'chat hi --expect-schema @in -o in'],
    ['an attached file', 'chat hi --attach other --attach in -o in'],
    ['an argument', 'train other in -o in'],
    ['the lines of a batch', 'chat --batch in -o link'],
    ['a field of all lines of a batch', 'chat --batch other --tools @in -o in'],
    ['a field of a preview', 'chat hi --tools @in --dry-run -o in'],
  ])('%s', async (_, line) => {
    const cwd = temporaryDirectory();
    for (const name of ['in', 'other']) writeFileSync(join(cwd, name), '{}');
    linkSync(join(cwd, 'in'), join(cwd, 'link'));
    const { send, recorded } = answering('{}');
    const { code, stderr } = await svc(line.split(' '), { cwd, env: serviceEnv, send });
    const output = line.slice(line.lastIndexOf(' ') + 1);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `svc: ${output} is an input, and -o would replace it\n  choose another file with -o\n`,
    });
    expect(recorded).toEqual([]);
    expect(readFileSync(join(cwd, 'in'), 'utf8')).toBe('{}');
  });

  it('except a device, which is not replaced', async () => {
    expect(await svc(['chat', '--batch', '/dev/null', '-o', '/dev/null'], { env: serviceEnv })).toMatchObject({
      code: 0,
    });
  });
});

it.each(['stop=yes or no?', 'solve x=5', 'x=5', 'help me', 'create a poem'])(
  'the prompt %j is sent as it is',
  async (prompt) => {
    const { code, stdout, stderr } = await svc(['chat', '--local', '--no-stdin', '-q', prompt]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(` ${JSON.stringify(prompt)}: `);
  },
);
