import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { cleanEnv, inShell, program, serve, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const root = new URL('../../', import.meta.url).pathname;
const pages = [
  'README.md',
  'docs/reference/local-service.md',
  ...['docs', 'docs/internals'].flatMap((directory) =>
    readdirSync(join(root, directory))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(directory, name)),
  ),
];

// The URL of the service in the documents; the tests replace it by a real one.
const EXAMPLE_URL = 'https://api.example.com';

const jq = spawnSync('sh', ['-c', 'command -v jq'], { encoding: 'utf8' }).stdout.trim();
if (jq === '') process.stderr.write('skipped: the examples of the documents need jq\n');

interface Block {
  /** The language, and the file in which a reader saves the text. */
  readonly language: string;
  readonly file: string | undefined;
  readonly line: number;
  readonly text: string;
}

interface Step {
  readonly command: string;
  readonly expected: string;
}

// Each page is a session of its own: its commands run in order, in one directory that holds the files of test/demo.
describe
  .skipIf(jq === '')
  .each(pages.map((page) => ({ page, blocks: blocksOf(page) })).filter(({ blocks }) => blocks.length > 0))(
  '$page',
  ({ page, blocks }) => {
    it('prints what its examples show', { timeout: 240_000 }, async () => {
      const { url, env } = await serve();
      const cwd = temporaryDirectory();
      cpSync(join(root, 'test/demo'), cwd, { recursive: true });
      mkdirSync(join(cwd, 'bin'));
      const command = (name: string, line: string): void =>
        writeFileSync(join(cwd, 'bin', name), `#!/bin/sh\nexec ${line} "$@"\n`, { mode: 0o755 });
      command('svc', `"${process.execPath}" "${program}"`);
      command('jq', `${jq} --monochrome-output`);
      const session = { url, cwd, env: { ...secretsOf(env), TERM: 'dumb', NO_COLOR: '1' } };
      for (const block of blocks) {
        const place = `${page}:${block.line}`;
        if (block.file !== undefined) {
          writeFileSync(join(cwd, block.file), block.text);
        } else if (block.language === 'sh') {
          const { code, output } = await runIn(session, `set -e\n${block.text}`);
          expect(code, `${place} ended with ${code}:\n${output}`).toBe(0);
        } else {
          for (const { command, expected } of stepsOf(block.text)) {
            const { output } = await runIn(session, command);
            if (!matcherOf(expected).test(output)) expect(output, `${place}: ${command}`).toBe(expected);
          }
        }
      }
    });
  },
);

const scripts = pages.flatMap((page) =>
  blocksOf(page, ['sh', 'bash'])
    .filter(({ file, text }) => file === undefined && /\bsvc\b/.test(text))
    .map(({ line, text }) => ({ place: `${page}:${line}`, text })),
);

// A job that is green while svc fails: neither options of the shell nor later commands may hide the exit code. The codes are
// those of a wrong response, a batch with failed lines, an unknown outcome, and a service that is down.
it.each(scripts)('the script of $place fails if svc fails', async ({ text }) => {
  const cwd = temporaryDirectory();
  cpSync(join(root, 'test/demo'), cwd, { recursive: true });
  mkdirSync(join(cwd, 'bin'));
  const programs = {
    svc: 'exit $SVC_FAILS_WITH',
    srun: 'shift; exec "$@"',
    mpirun: 'shift 2; exec "$@"',
    npm: '',
    sleep: '',
  };
  for (const [name, line] of Object.entries({ ...programs, parallel: 'exit 8', vllm: 'exit 1', curl: '' }))
    writeFileSync(join(cwd, 'bin', name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  const env = cleanEnv(cwd, {
    EXAMPLE_USERNAME: 'u',
    EXAMPLE_PASSWORD: 'p',
    EXAMPLE_TOKEN: 't',
    SIZE: '8',
    SHARD: '1',
  });
  // One that looks at the code passes it on, in any shell.
  const passesOn = /^case /m.test(text);
  for (const code of [13, 10, 8, 7]) {
    const own = { ...env, SHARDS: '1', INPUT: 'in', OUTPUT: 'out', PATH: `${join(cwd, 'bin')}:${env.PATH}` };
    const options = passesOn ? ['-c', text] : ['-eo', 'pipefail', '-c', text];
    const child = spawn('bash', options, { cwd, env: { ...own, SVC_FAILS_WITH: `${code}` } });
    child.stdin.end();
    const ended = await waitForExit(child);
    expect(passesOn ? ended.code : Number(ended.code !== 0) * code, `svc exits with ${code}`).toBe(code);
  }
});

it('the check of README.md ends with the exit code of svc, in a shell without options', async () => {
  const { text = '' } = blocksOf('README.md').find(({ text: body }) => body.includes('--expect-schema')) ?? {};
  const message = (content: string) => ({ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' });
  for (const [label, code] of Object.entries({ good: 0, lake: 13 })) {
    const choices = [message(JSON.stringify({ label }))];
    const { url } = await countingServer(
      () => '',
      (_, response) => answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices }),
    );
    const cwd = temporaryDirectory();
    cpSync(join(root, 'test/demo'), cwd, { recursive: true });
    const env = { SVC_BASE_URL: url, SVC_TOKEN: 'none', SVC_RETRIES: '0' };
    const check = text.replace('--local', '-m m');
    expect(await inShell(check, { cwd, env })).toMatchObject({ code });
    expect(readFileSync(join(cwd, 'r.xml'), 'utf8')).toContain(`failures="${code === 0 ? 0 : 1}"`);
    expect(await inShell(check, { cwd, env: { ...env, SVC_BASE_URL: 'http://127.0.0.1:9' } })).toMatchObject({
      code: 7,
    });
  }
});

describe('the gate of docs/ci.md', () => {
  const { text = '' } = blocksOf('docs/ci.md').find(({ text: body }) => body.includes('no verdict')) ?? {};
  const chat = (content: string) => ({
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  });
  it.each([
    ['passes', 'passed', 0, () => [chat('Name a'), 200]],
    ['passes with 1 of 20 that fails', 'passed', 0, (line: number) => [chat(line === 1 ? 'lake' : 'Name a'), 200]],
    ['fails with 3 of 20 that fail', 'below 90 %', 13, (line: number) => [chat(line < 4 ? 'lake' : 'Name a'), 200]],
    [
      'has no verdict if a request failed',
      'no verdict',
      10,
      (line: number) => [chat('Name a'), line === 9 ? 400 : 200],
    ],
    ['has no verdict if all requests failed', 'no verdict', 10, () => [{}, 400]],
    ['has no verdict if the service is down', 'no verdict', 10, undefined],
  ] as const)('%s', async (_, verdict, code, answer) => {
    const cwd = temporaryDirectory();
    const lines = Array.from({ length: 20 }, (_, at) => ({ messages: [{ role: 'user', content: `${at + 1}` }] }));
    writeFileSync(join(cwd, 'prompts.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const { url } = await countingServer(
      (body) => JSON.parse(body).messages[0].content,
      ({ key }, response) => {
        const [value = {}, status] = answer?.(Number(key)) ?? [];
        answerJson(response, value, Number(status));
      },
    );
    const env = { SVC_BASE_URL: answer ? url : 'http://127.0.0.1:9', SVC_TOKEN: 'none', SVC_MODEL: 'm' };
    const script = text.replace('--local ', '').replace('--max-outage 1m', '--max-outage 1s');
    expect(await inShell(`set -e\n${script}`, { cwd, env })).toMatchObject({ code, stdout: `${verdict}\n` });
  });
});

// Only what a user would have: no base URL, so that pages have to say where the service is.
function secretsOf({ SVC_USERNAME = '', SVC_PASSWORD = '', SVC_TOKEN = '' }: Readonly<Record<string, string>>) {
  return { EXAMPLE_USERNAME: SVC_USERNAME, EXAMPLE_PASSWORD: SVC_PASSWORD, EXAMPLE_TOKEN: SVC_TOKEN };
}

/** The examples of a page: terminal sessions (`console`), scripts (`sh`), and files (`json trajectory.json`). */
function blocksOf(page: string, languages: readonly string[] = ['console', 'sh']): Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^( *)```(\w+)(?: (\S+))?\n([\s\S]*?)^\1```$/gm)]
    .map(({ 1: indent = '', 2: language = '', 3: file, 4: body = '', index }) => ({
      language,
      file,
      line: text.slice(0, index).split('\n').length,
      text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }))
    .filter(({ language, file }) => languages.includes(language) || file !== undefined)
    .filter(({ text: body }) => !installs(body));
}

// Run by test/interop/installation.test.ts.
function installs(text: string): boolean {
  return /^npm (ci|install)/m.test(text);
}

function stepsOf(text: string): Step[] {
  const steps: { command: string; expected: string }[] = [];
  let isContinued = false;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const last = steps.at(-1);
    if (isContinued && last) last.command += `\n${line}`;
    else if (line.startsWith('$ ')) steps.push({ command: line.slice(2), expected: '' });
    else if (last) last.expected += `${line}\n`;
    const isCommand: boolean = isContinued || line.startsWith('$ ');
    isContinued = isCommand && line.endsWith('\\');
  }
  return steps;
}

/** Runs bash in a pseudo-terminal; a test service replaces the one of the examples. */
async function runIn(
  { url, cwd, env }: { url: string; cwd: string; env: Readonly<Record<string, string>> },
  text: string,
): Promise<{ code: number | null; output: string }> {
  writeFileSync(join(cwd, '.example.sh'), `stty cols 120\n${text.replaceAll(EXAMPLE_URL, url)}\n`);
  const child = spawn('script', ['-qec', 'bash .example.sh', '/dev/null'], {
    cwd,
    env: { ...cleanEnv(cwd, env), PATH: `${join(cwd, 'bin')}:${process.env.PATH ?? ''}`, SHELL: '/bin/bash' },
  });
  child.stdin.end();
  const { code, stdout } = await waitForExit(child);
  return { code, output: stdout.replaceAll('\r\n', '\n').replaceAll(url, EXAMPLE_URL).replaceAll('^D\b\b', '') };
}

/** `...` stands for any text in its line, and for any lines where it is the whole line. */
function matcherOf(expected: string): RegExp {
  const lines = expected.split('\n').slice(0, -1);
  const patterns = lines.map((line) =>
    line === '...' ? '(?:.*\n)*' : `${line.split('...').map(escapeRegExp).join('.*')}\n`,
  );
  // A body that is printed byte for byte ends as it does.
  return new RegExp(`^${patterns.join('').replace(/\n$/, '\n?')}$`);
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
