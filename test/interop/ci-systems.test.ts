import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { serve, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const guide = readFileSync(join(root, 'docs/ci.md'), 'utf8');

interface Step {
  readonly id?: string;
  readonly run: string;
  readonly env: { readonly [name: string]: string };
  readonly 'working-directory'?: string;
}

interface Action {
  readonly inputs: { readonly [name: string]: { readonly default?: string; readonly required?: boolean } };
  readonly outputs: { readonly [name: string]: { readonly value: string } };
  readonly runs: { readonly steps: readonly Step[] };
}

const action: Action = parse(readFileSync(join(root, 'action.yml'), 'utf8'));
let archive = '';

beforeAll(() => {
  const directory = join(root, 'node_modules/.cache/svc/ci');
  mkdirSync(directory, { recursive: true });
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', directory];
  archive = join(directory, execFileSync('npm', args, { cwd: root, encoding: 'utf8' }).trim());
});

// A job on a machine without svc: a directory with the demo's files, and a service.
async function job() {
  const cwd = temporaryDirectory();
  cpSync(join(root, 'test/demo'), cwd, { recursive: true });
  const { env } = await serve();
  const own = { ...env, HOME: cwd, CI: 'true', npm_config_cache: join(cwd, '.npm'), npm_config_offline: 'true' };
  const runScript = async (script: string, more: Readonly<Record<string, string>>, directory = cwd) => {
    const shell = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script];
    const PATH = [...(more.PATH ? [more.PATH] : []), process.env.PATH].join(delimiter);
    const child = spawn('bash', shell, { cwd: directory, env: { ...own, ...more, PATH } });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdin.end();
    return waitForExit(child);
  };
  return { cwd, runScript };
}

// Runs the steps as GitHub's runner does, until one fails.
async function runAction(given: Readonly<Record<string, string>>, prepare = (_: string): void => {}) {
  const { cwd, runScript } = await job();
  prepare(cwd);
  const inputs: Record<string, string> = { package: archive };
  for (const [name, input] of Object.entries(action.inputs)) inputs[name] ??= given[name] ?? input.default ?? '';
  const fill = (text: string): string => text.replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, name) => inputs[name] ?? '');
  const file = (name: string): string => join(cwd, `.${name}`);
  for (const name of ['path', 'summary', 'output']) writeFileSync(file(name), '');
  let result = { code: 0 as number | null, stdout: '', stderr: '' };
  for (const step of action.runs.steps) {
    const env = Object.entries(step.env).map(([name, text]) => [name, fill(text)]);
    const github = {
      GITHUB_ACTIONS: 'true',
      GITHUB_PATH: file('path'),
      GITHUB_STEP_SUMMARY: file('summary'),
      GITHUB_OUTPUT: file('output'),
      RUNNER_TEMP: join(cwd, 'runner temp'),
    };
    const PATH = readFileSync(file('path'), 'utf8').trim();
    const directory = join(cwd, fill(step['working-directory'] ?? '.'));
    result = await runScript(step.run, { ...github, ...Object.fromEntries(env), PATH }, directory);
    if (result.code !== 0) break;
  }
  const values = new Map(
    readFileSync(file('output'), 'utf8')
      .split('\n')
      .map((line): [string, string] => [line.replace(/=.*/, ''), line.replace(/^[^=]*=/, '')]),
  );
  const outputs = Object.entries(action.outputs).map(([name, { value }]) => {
    const [, key = ''] = /^\$\{\{ steps\.run\.outputs\.([\w-]+) \}\}$/.exec(value) ?? [];
    return [name, values.get(key)];
  });
  return { ...result, cwd, outputs: Object.fromEntries(outputs), summary: readFileSync(file('summary'), 'utf8') };
}

describe('the GitHub action', () => {
  it('installs this version', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(action.inputs.package?.default).toBe(`svc-cli@${version}`);
  });

  it('runs a batch, with a summary, outputs, annotations and the exit code of svc', async () => {
    const command = "chat --expect-text 'Name a river' --concurrency 1";
    const { code, stdout, stderr, outputs, summary } = await runAction({ command, batch: 'prompts.jsonl' });
    expect(code, stderr).toBe(10);
    expect(outputs).toEqual({ 'exit-code': '10', output: 'svc-results.jsonl', done: '1', failed: '2' });
    expect(summary).toMatch(
      /^### svc chat: 1 of 3 succeeded\n[\s\S]*expectation failed[^\n]* \| 2 \| line 2, line 3 \|\n/,
    );
    expect(stdout.trim()).toMatch(
      /^::error file=prompts\.jsonl,line=2::2 × HTTP 200: expectation failed: --expect-text [^\n]*$/,
    );
  });

  it('runs a command, whose words are those of a shell', async () => {
    const command = 'chat "Name a river" --no-stdin \\\n  --expect-text "Name a river"';
    const { code, stdout, stderr, outputs, summary } = await runAction({ command });
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('Name a river');
    expect(outputs).toEqual({ 'exit-code': '0', output: undefined, done: undefined, failed: undefined });
    expect(summary).toMatch(/^### svc chat: 1 of 1 succeeded\n/);
  });

  it('fails like a command that is wrong, and runs one that sends nothing', async () => {
    const wrong = await runAction({ command: 'chat --no-such-flag' });
    expect([wrong.code, wrong.outputs['exit-code'], wrong.summary]).toEqual([2, '2', '']);
    expect(await runAction({ command: 'profile list' })).toMatchObject({ code: 0, summary: '' });
  });

  it('annotates a file with any name', async () => {
    const batch = 'a,b: 100%|&\\.jsonl';
    const prepare = (cwd: string) => writeFileSync(join(cwd, batch), '{"messages":3}\n');
    const { code, stdout, stderr } = await runAction({ command: 'chat', batch }, prepare);
    expect(code, stderr).toBe(10);
    expect(stdout).toMatch(/^::error file=a%2Cb%3A 100%25\|&\\\.jsonl,line=1::1 × the body is invalid/);
  });
});

describe('the recipe for', () => {
  const block = (language: string, containing: string): string =>
    [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))]
      .map(([, text = '']) => text)
      .find((text) => text.includes(containing)) ?? '';

  it.each(['GitLab', 'Jenkins'])('%s runs', async (system) => {
    const { cwd, runScript } = await job();
    const script =
      system === 'GitLab'
        ? parse(block('yaml', 'reports:')).answers.script.join('\n')
        : /sh '''([\s\S]*?)'''/.exec(block('groovy', 'pipeline'))?.[1];
    const more = { SVC_PACKAGE: archive, npm_config_prefix: join(cwd, 'prefix'), PATH: join(cwd, 'prefix/bin') };
    const { code, stderr } = await runScript(script, more);
    expect(code, stderr).toBe(0);
    expect(readFileSync(join(cwd, 'junit.xml'), 'utf8')).toContain('tests="3" failures="0"');
    expect(readFileSync(join(cwd, 'summary.md'), 'utf8')).toMatch(/^### svc chat: 3 of 3 succeeded/);
    expect(readFileSync(join(cwd, 'results.jsonl'), 'utf8').trim().split('\n')).toHaveLength(3);
  });

  it('GitHub names an input, an output and a version that exist', () => {
    const { steps } = parse(block('yaml', 'OWNER/svc@')).jobs.answers;
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const [, step, echo] = steps;
    expect(step.uses).toBe(`OWNER/svc@v${version}`);
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(step.with)));
    expect(Object.keys(action.outputs)).toContain(/outputs\.([\w-]+)/.exec(echo.run)?.[1]);
  });
});
