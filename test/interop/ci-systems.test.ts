import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { serve, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const guide = readFileSync(join(root, 'docs/ci.md'), 'utf8');

interface Action {
  readonly inputs: object;
  readonly outputs: object;
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
