import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { cleanEnv, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Step {
  readonly run: string;
  readonly env: { readonly [name: string]: string };
  readonly 'working-directory'?: string;
}

interface Action {
  readonly inputs: { readonly [name: string]: { readonly default?: string } };
  readonly outputs: { readonly [name: string]: { readonly value: string } };
  readonly runs: { readonly steps: readonly [Step, Step] };
}

const action: Action = parse(readFileSync(join(root, 'action.yml'), 'utf8'));
const [install, main] = action.runs.steps;
const cache = join(root, 'node_modules/.cache/svc/action');
let archive = '';
let installed = '';

type Texts = Readonly<Record<string, string>>;

async function runBlock(script: string, env: Texts, cwd: string) {
  const shell = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script];
  const child = spawn('bash', shell, { cwd, env: { ...cleanEnv(cwd), ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end();
  return waitForExit(child);
}

// The variables of a step, with the inputs in place of its expressions.
function variables({ env }: Step, given: Texts): Texts {
  for (const name of Object.keys(given)) if (!Object.hasOwn(action.inputs, name)) throw new Error(`no input ${name}`);
  const fill = (text: string): string =>
    text.replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, name) => given[name] ?? action.inputs[name]?.default ?? '');
  return Object.fromEntries(Object.entries(env).map(([name, text]) => [name, fill(text)]));
}

beforeAll(async () => {
  rmSync(cache, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', cache];
  archive = join(cache, execFileSync('npm', args, { cwd: root, encoding: 'utf8' }).trim());
  const env = { ...process.env, RUNNER_TEMP: cache, GITHUB_PATH: join(cache, 'path') };
  const script = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', install.run];
  const npm = { npm_config_cache: join(cache, '.npm'), npm_config_offline: 'true' };
  execFileSync('bash', script, { env: { ...env, ...npm, ...variables(install, { package: archive }) } });
  installed = readFileSync(join(cache, 'path'), 'utf8').trim();
}, 120_000);

// What the runner makes of the lines of a log: the commands that it executes, and the lines that people see.
function readLog(log: string) {
  const commands: string[] = [];
  let stop: string | undefined;
  for (const line of log.split(/\r\n|\n|\r/)) {
    const found = /^\s*::[^:]+::/.test(line) || line.includes('##[');
    if (stop !== undefined) stop = line.trim() === `::${stop}::` ? undefined : stop;
    else if (line.startsWith('::stop-commands::')) stop = line.slice('::stop-commands::'.length);
    else if (found) commands.push(line);
  }
  return { commands, isOpen: stop !== undefined };
}

// The file of outputs as the runner reads it.
function readOutputs(text: string): Texts {
  const outputs: Record<string, string> = {};
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const [, key, delimiter] = /^([^=<]+)<<(.+)$/.exec(lines[at] ?? '') ?? [];
    const [, name, value] = /^([^=<]+)=(.*)$/.exec(lines[at] ?? '') ?? [];
    if (key !== undefined) {
      const end = lines.indexOf(delimiter ?? '', at + 1);
      outputs[key] = lines.slice(at + 1, end).join('\n');
      at = end;
    } else if (name !== undefined) outputs[name] = value ?? '';
  }
  return outputs;
}

interface Sent {
  readonly path: string;
  readonly host: string;
  readonly token: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: { readonly messages?: readonly { readonly content: unknown }[] };
}

// Runs the second step as GitHub's runner does, in a workspace with the demo's files, against a service that records requests.
async function runAction(given: Texts, prepare = (_: string): void => {}, more: Texts = {}) {
  const cwd = temporaryDirectory();
  cpSync(join(root, 'test/demo'), cwd, { recursive: true });
  writeFileSync(join(cwd, 'secret.txt'), 'a secret of the workspace\n');
  prepare(cwd);
  const sent: Sent[] = [];
  const { url } = await countingServer(
    () => '',
    ({ text }, response, request) => {
      const { host = '', authorization = '' } = request.headers;
      sent.push({
        path: request.url ?? '',
        host,
        token: authorization,
        headers: request.headers,
        body: JSON.parse(text),
      });
      const content = `${JSON.parse(text).messages?.at(-1)?.content ?? ''}\n::error::posed\n##[error]posed`;
      const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
      answerJson(response, { id: 'c', model: 'm', usage: {}, choices });
    },
  );
  const file = (name: string): string => join(cwd, `.${name}`);
  for (const name of ['summary', 'output']) writeFileSync(file(name), '');
  const github = {
    GITHUB_ACTIONS: 'true',
    CI: 'true',
    GITHUB_WORKSPACE: cwd,
    GITHUB_STEP_SUMMARY: file('summary'),
    GITHUB_OUTPUT: file('output'),
    RUNNER_TEMP: cache,
    PATH: `${installed}:${process.env.PATH}`,
    SVC_BASE_URL: url,
    SVC_TOKEN: 'token-of-the-job',
  };
  const files = (): string[] => readdirSync(cwd, { recursive: true, encoding: 'utf8' });
  const before = files();
  const directory = join(cwd, given['working-directory'] ?? '.');
  const { code, stdout, stderr } = await runBlock(
    main.run,
    { ...github, ...variables(main, given), ...more },
    directory,
  );
  const { commands, isOpen } = readLog(stdout + stderr);
  expect(isOpen).toBe(false);
  const values = readOutputs(readFileSync(file('output'), 'utf8'));
  const outputs = Object.entries(action.outputs).map(([name, { value }]) => {
    const [, key = ''] = /^\$\{\{ steps\.run\.outputs\.([\w-]+) \}\}$/.exec(value) ?? [];
    return [name, values[key]];
  });
  expect(Object.keys(values).every((key) => Object.keys(action.outputs).includes(key))).toBe(true);
  const made = files().filter((name) => !before.includes(name) && !name.startsWith('data'));
  const summary = readFileSync(file('summary'), 'utf8');
  return { code, log: stdout + stderr, commands, outputs: Object.fromEntries(outputs), summary, sent, made, cwd };
}

const prompts = (sent: readonly Sent[]) => sent.map(({ body }) => body.messages?.at(-1)?.content);

describe('the GitHub action', () => {
  it('installs this version, and finds it on every runner', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(action.inputs.package?.default).toBe(`svc-cli@${version}`);
    const cwd = temporaryDirectory();
    // npm on Windows installs programs in the prefix itself.
    writeFileSync(join(cwd, 'npm'), '#!/bin/sh\n', { mode: 0o755 });
    const env = { PATH: `${cwd}:${process.env.PATH}`, GITHUB_PATH: join(cwd, 'path'), RUNNER_TEMP: 'D:\\a\\_temp' };
    const result = await runBlock(install.run, { ...env, INPUT_PACKAGE: 'x', RUNNER_OS: 'Windows' }, cwd);
    expect(result.code, result.stderr).toBe(0);
    expect(readFileSync(join(cwd, 'path'), 'utf8')).toBe('D:\\a\\_temp/svc\n');
  });

  it('runs a batch, with a summary, outputs, annotations and the exit code of svc', async () => {
    const command = "chat --expect-text 'Name a river' --concurrency 1";
    const { code, commands, log, outputs, summary } = await runAction({ command, batch: 'prompts.jsonl' });
    expect(code, log).toBe(10);
    expect(outputs).toEqual({ 'exit-code': '10', output: 'svc-results.jsonl', done: '1', failed: '2', unsent: '0' });
    expect(summary).toMatch(
      /^### svc chat: 1 of 3 succeeded\n[\s\S]*expectation failed[^\n]* \| 2 \| line 2, line 3 \|\n/,
    );
    expect(commands).toEqual([
      expect.stringMatching(/^::error file=prompts\.jsonl,line=2::2 × expectation failed: --expect-text [^\n]*$/),
    ]);
  });

  it('runs rows of a table as a batch', async () => {
    const prepare = (cwd: string): void => writeFileSync(join(cwd, 'a.csv'), 'text\nriver\n"la\nke"\n');
    const given = { command: "chat 'Name a {{text}}' --expect-text river", rows: 'a.csv' };
    const { code, commands, log, outputs, made } = await runAction(given, prepare);
    expect(code, log).toBe(10);
    expect(outputs).toEqual({
      ...{ 'exit-code': '10', output: 'svc-results.jsonl' },
      ...{ done: '1', failed: '1', unsent: '0' },
    });
    expect(made).toContain('svc-results.jsonl');
    expect(commands).toEqual([expect.stringMatching(/^::error file=a\.csv::row 2: 1 × expectation failed: [^\n]*$/)]);
    const both = await runAction({ ...given, batch: 'prompts.jsonl' }, prepare);
    expect([both.code, both.sent]).toEqual([2, []]);
  });

  it('says how many lines were not sent to a service that is down', async () => {
    const down = { SVC_BASE_URL: 'http://127.0.0.1:9' };
    const { code, outputs } = await runAction(
      { command: 'chat --max-outage 1s', batch: 'prompts.jsonl' },
      undefined,
      down,
    );
    expect(code).toBe(10);
    expect(outputs).toMatchObject({ done: '0', failed: '0', unsent: '3' });
  });

  it('names files by the workspace, also those of another working directory', async () => {
    const prepare = (cwd: string) => {
      mkdirSync(join(cwd, 'a, b/c'), { recursive: true });
      writeFileSync(join(cwd, 'a, b/c/bad.jsonl'), '{"messages":3}\n');
    };
    const given = { command: 'chat', batch: 'bad.jsonl', output: '-out.jsonl', 'working-directory': './a, b/c/' };
    const { code, commands, outputs, made, log } = await runAction(given, prepare);
    expect(code, log).toBe(10);
    expect(outputs).toMatchObject({ output: 'a, b/c/-out.jsonl', done: '0', failed: '1' });
    expect(made).toContain('a, b/c/-out.jsonl');
    expect(commands).toEqual([expect.stringMatching(/^::error file=a%2C b\/c\/bad\.jsonl,line=1::1 × the body is /)]);
  });

  it('shows the annotations of svc train lint', async () => {
    const prepare = (cwd: string) => {
      mkdirSync(join(cwd, 'data'));
      writeFileSync(join(cwd, 'data/groups.jsonl'), '[]\n{"a":\n');
    };
    const command = 'train lint groups.jsonl --annotations github';
    const { code, commands, summary } = await runAction({ command, 'working-directory': 'data' }, prepare);
    expect(code).toBe(3);
    expect(commands.length).toBeGreaterThan(0);
    for (const line of commands) expect(line).toMatch(/^::(error|warning) file=data\/groups\.jsonl,line=\d/);
    expect(summary).toBe('');
  });

  // The text of an issue that anyone can write.
  const texts = [
    '$(touch posed)',
    '`touch posed`',
    '"); touch posed; x=("',
    "'; touch posed; '",
    '${IFS}$HOME ~ * ?',
    "What's up?",
    'say "hi"',
    'a\\',
    '--base-url=http://127.0.0.1:1',
    '-H',
    '@secret.txt',
    '-',
    '--',
    ' leading and trailing ',
    'line one\nline two\n::error::posed',
    '::error::posed\n##[error]posed',
    '$INPUT_COMMAND && exit 0 # %0A%25',
    '日本語 🌍 "\'',
  ];

  it.each(texts)('sends the prompt %j as it is', async (prompt) => {
    const { code, log, commands, sent, made, outputs } = await runAction({ command: 'chat', prompt });
    expect(code, log).toBe(0);
    expect(prompts(sent)).toEqual([prompt]);
    expect({ commands, made, outputs }).toEqual({ commands: [], made: [], outputs: { 'exit-code': '0' } });
  });

  it.each(texts)('sends stdin %j beside the prompt as it is', async (stdin) => {
    const { code, log, commands, sent, made } = await runAction({ command: 'chat', prompt: 'Sum up:', stdin });
    expect(code, log).toBe(0);
    expect(prompts(sent)).toEqual([expect.stringContaining(stdin.trim())]);
    expect({ commands, made }).toEqual({ commands: [], made: [] });
  });

  // In a workflow, ${{ github.event.issue.title }} would stand in the middle of the quotes.
  it.each(texts)('runs no text of a command: chat "%s"', async (title) => {
    const { code, log, commands, sent, made } = await runAction({ command: `chat --no-stdin "${title}"` });
    expect(made).toEqual([]);
    expect(sent.every(({ token }) => token === 'Bearer token-of-the-job')).toBe(true);
    if (code === 0) expect(sent).toHaveLength(1);
    else {
      // The title - is stdin, which is empty.
      expect(code, log).toBe(title === '-' ? 3 : 2);
      expect(sent).toEqual([]);
    }
    for (const line of commands) expect(line).toMatch(/^::error title=svc::command: /);
  });

  it.each([
    ['chat "Name a river"', ['Name a river']],
    ["chat 'Name a river' --no-stdin \\\n  --temperature 0", ['Name a river']],
    ['chat $(id) `id` $HOME; touch x', ['$(id) `id` $HOME; touch x']],
    ['chat a"b c"\'d "e\'', ['ab cd "e']],
    ['chat -- --base-url http://127.0.0.1:1', ['--base-url http://127.0.0.1:1']],
    ['-q --error-format text chat hi', ['hi']],
    ['--timeout=5s chat "a@b.c = @home"', ['a@b.c = @home']],
    ['\n  chat\thi\r\n', ['hi']],
  ])('splits %j', async (command, expected) => {
    const { code, log, sent, made } = await runAction({ command });
    expect(code, log).toBe(0);
    expect(prompts(sent)).toEqual(expected);
    expect(made).toEqual([]);
  });

  it.each([
    ["chat What's up?", /quote \('\) is not closed/],
    ['chat "a \\"b\\""', /backslash does not escape/],
    ['chat hi --base-url http://127.0.0.1:1', /--base-url is an input/],
    ['chat "" --base-url=http://127.0.0.1:1 ""', /--base-url is an input/],
    ['chat hi --profile local', /--profile is an input/],
    ["chat hi -H 'X-A: b'", /-H is an input/],
    ['chat hi -qvHX-A:b', /-H is an input/],
    ['chat hi --header=X-A:b', /--header is an input/],
    ['chat hi --allow-http', /--allow-http is an input/],
    ['chat hi --cacert secret.txt', /--cacert is an input/],
    ['chat -f secret.txt', /-f is an input/],
    ['chat -qfsecret.txt', /-f is an input/],
    ['chat hi --file=secret.txt', /--file is an input/],
    ['chat hi --attach secret.txt', /--attach is an input/],
    ['chat hi --messages @secret.txt', /@ reads a file/],
    ['chat hi --tools=@secret.txt', /@ reads a file/],
    ['chat hi --set user=@secret.txt', /@ reads a file/],
    ['chat hi --set=a.b:=@secret.txt', /@ reads a file/],
    ['chat hi -s@secret.txt', /@ reads a file/],
    ['chat --rows secret.txt', /input of its own/],
    ['chat hi --summary x.md', /adds --summary itself/],
    ['chat hi --junit x.xml', /input arguments/],
    ['chat hi -o x', /-o is an input/],
    ['  ', /name a command/],
    ['-q', /name a command/],
  ])('refuses %j', async (command, message) => {
    const { code, commands, sent, made, outputs } = await runAction({ command, prompt: 'text' });
    expect([code, outputs['exit-code']]).toEqual([2, '2']);
    expect(commands).toEqual([expect.stringMatching(message)]);
    expect({ sent, made }).toEqual({ sent: [], made: [] });
  });

  it('refuses in a command every flag that names a file or a host, of all commands', async () => {
    const help = JSON.parse(execFileSync('node', [join(root, 'bin/svc.js'), 'help', '--json'], { encoding: 'utf8' }));
    interface Flag {
      readonly flag: string;
      readonly short?: string;
      readonly type: string;
      readonly value?: string;
    }
    const all: Flag[] = help.commands.flatMap(({ flags = [] }: { flags?: Flag[] }) => flags);
    const isForeign = ({ type, value = '' }: Flag): boolean => type === 'file' || /file|url|command/.test(value);
    // Without a file unless its value begins with @, which is refused.
    const named = all.filter((one) => isForeign(one) && one.flag !== '--cache-salt');
    const forms = new Set(named.flatMap(({ flag, short }) => (short ? [flag, short] : [flag])));
    expect(forms.size).toBeGreaterThan(25);
    const script = [...forms].map((form) => `(INPUT_COMMAND="chat ${form} x"; run) || echo "$? ${form}"`).join('\n');
    const env = { ...variables(main, { command: '' }), SCRIPT: main.run };
    const { stdout } = await runBlock(
      `run() { bash -eo pipefail -c "$SCRIPT"; }; export INPUT_COMMAND\n${script}`,
      env,
      root,
    );
    for (const form of forms) expect(stdout).toContain(`\n2 ${form}\n`);
    // A switch before the command is not taken for a flag with a value.
    const leading = [
      '-q',
      '-v',
      '-nq',
      '--quiet',
      '--verbose',
      '--local',
      '--json',
      '--dry-run',
      '--curl',
      '--no-input',
    ];
    for (const flag of leading)
      expect((await runAction({ command: `${flag} profile list` })).log).not.toContain('name a');
  });

  it('takes what a command may not hold from inputs of their own', async () => {
    const prepare = (cwd: string) => {
      writeFileSync(join(cwd, '-a.txt'), 'attached');
      writeFileSync(join(cwd, 'ca.pem'), readFileSync(join(root, 'test/demo/call.json')));
    };
    const headers = 'X-One: $(touch posed)\r\nX-Two: `a`\n';
    const given = { command: 'chat', prompt: 'hi', headers, attach: '-a.txt', 'allow-http': 'true' };
    const { code, log, sent } = await runAction({ ...given, arguments: '--user\na user\n' }, prepare);
    expect(code, log).toBe(0);
    expect(sent[0]?.headers).toMatchObject({ 'x-one': '$(touch posed)', 'x-two': '`a`' });
    expect(JSON.stringify(sent[0]?.body)).toContain('attached');
    expect(sent[0]?.body).toMatchObject({ user: 'a user' });
    expect(await runAction({ command: 'chat', prompt: 'a', 'base-url': 'http://127.0.0.1:1' })).toMatchObject({
      code: 7,
    });
    expect(await runAction({ command: 'chat', prompt: 'a', profile: 'local' })).toMatchObject({ code: 0, sent: [] });
    expect(await runAction({ command: 'chat', file: 'chat.json' })).toMatchObject({ code: 0 });
    expect(await runAction({ command: 'chat', prompt: 'a', cacert: 'ca.pem' }, prepare)).toMatchObject({
      code: 2,
      log: expect.stringContaining('ca.pem'),
    });
    expect(await runAction({ command: 'chat', prompt: 'a', 'allow-http': 'yes' })).toMatchObject({ code: 2, sent: [] });
    const stdin = '{"messages":[{"role":"user","content":"x"}]}\n';
    expect(await runAction({ command: 'chat', batch: '-', stdin })).toMatchObject({
      outputs: { done: '1', failed: '0' },
    });
  });

  it('parses no flag in a prompt behind a flag without its value', async () => {
    const { code, sent } = await runAction({ command: 'chat --model', prompt: '--base-url=http://127.0.0.1:1' });
    expect([code, sent]).toEqual([2, []]);
  });

  it('writes outputs only of this run, whatever their names', async () => {
    const stale = (cwd: string) =>
      writeFileSync(join(cwd, 'svc-results.jsonl'), '{"line":1,"exit_code":0,"status":200}\n'.repeat(2));
    const given = { command: 'chat', batch: 'prompts.jsonl' };
    expect((await runAction(given, stale)).outputs).toEqual({ 'exit-code': '2' });
    expect((await runAction({ ...given, command: 'chat --dry-run' }, stale)).outputs).toEqual({ 'exit-code': '0' });
    expect((await runAction({ ...given, batch: 'none.jsonl' }, stale)).outputs['exit-code']).not.toBe('0');
    expect((await runAction({ ...given, batch: 'none.jsonl' }, stale)).outputs.done).toBe(undefined);
    const output = 'a\ndone=99\nfailed<<x\n7\nx\nb';
    const named = await runAction({ ...given, output });
    expect(named.outputs).toEqual({ 'exit-code': '0', output, done: '3', failed: '0', unsent: '0' });
    for (const wrong of ['', '-'])
      expect(await runAction({ ...given, output: wrong })).toMatchObject({
        code: 2,
        sent: [],
        commands: [/name a file/],
      });
  });

  it.each([
    ['profile list', 0],
    ['train log', 0],
    ['train log --json', 0],
    ['chat hi --dry-run', 0],
    ['chat hi -qn', 0],
    ['chat hi --curl', 0],
    ['--version', 2],
    ['chat --help', 0],
    ['chat --no-such-flag', 2],
    ['call run -- sh -c "exit 7"', 7],
    ['call run -- env -u SVC_TOKEN printf "a\n::error::posed"', 0],
  ])('%j ends with %d, without a summary', async (command, expected) => {
    const { code, log, outputs, summary, sent } = await runAction({ command });
    expect(code, log).toBe(expected);
    expect(outputs['exit-code']).toBe(String(expected));
    expect(summary).toBe('');
    if (!command.startsWith('call')) expect(sent).toEqual([]);
  });

  it('runs without a file for the summary', async () => {
    const result = await runAction({ command: 'chat', prompt: 'hi' }, undefined, { GITHUB_STEP_SUMMARY: '' });
    expect(result).toMatchObject({ code: 0, outputs: { 'exit-code': '0' } });
    expect(existsSync(join(result.cwd, '--summary'))).toBe(false);
  });
});
