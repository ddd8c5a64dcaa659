import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
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
interface Workflow {
  readonly env: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly env?: Readonly<Record<string, string>>;
        readonly outputs?: Readonly<Record<string, string>>;
        readonly steps: readonly { readonly id?: string; readonly run?: string }[];
      }
    >
  >;
}

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
  // Where the recipes have the archive, before svc is published.
  mkdirSync(join(cwd, 'tools'));
  copyFileSync(archive, join(cwd, 'tools', basename(archive)));
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
    const text = system === 'GitLab' ? block('yaml', 'reports:') : block('groovy', 'pipeline');
    const script = system === 'GitLab' ? parse(text).answers.script.join('\n') : /sh '''([\s\S]*?)'''/.exec(text)?.[1];
    const [, SVC_PACKAGE = ''] = /SVC_PACKAGE(?::| =) '?([^\s']+)/.exec(text) ?? [];
    const more = { SVC_PACKAGE, npm_config_prefix: join(cwd, 'prefix'), PATH: join(cwd, 'prefix/bin') };
    const { code, stderr } = await runScript(script, more);
    expect(code, stderr).toBe(0);
    expect(readFileSync(join(cwd, 'junit.xml'), 'utf8')).toContain('tests="3" failures="0"');
    expect(readFileSync(join(cwd, 'summary.md'), 'utf8')).toMatch(/^### svc chat: 3 of 3 succeeded/);
    expect(readFileSync(join(cwd, 'results.jsonl'), 'utf8').trim().split('\n')).toHaveLength(3);
  });

  // Runs the steps as the runner does: GITHUB_ENV sets variables of later steps, GITHUB_OUTPUT outputs of a step.
  it('a traced build on GitHub makes one trace over steps and jobs', async () => {
    const { cwd, runScript } = await job();
    const rule = (target: string): string => `${target}:\n\t@echo "$$TRACEPARENT" >> traces.txt\n`;
    writeFileSync(join(cwd, 'Makefile'), ['all', 'test', 'deploy'].map(rule).join(''));
    const workflow: Workflow = parse(block('yaml', '--export=github'));
    const { SVC_PACKAGE = '', SVC_PROJECT_ID = '' } = workflow.env;
    const values: Record<string, string> = {};
    const fill = (text: string): string => text.replace(/\$\{\{ (.*?) \}\}/g, (_, name: string) => values[name] ?? '');
    for (const [name, { env = {}, steps, outputs = {} }] of Object.entries(workflow.jobs)) {
      const own = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, fill(value)]));
      const variables: Record<string, string> = { ...own, SVC_PACKAGE, SVC_PROJECT_ID };
      for (const { id, run: script } of steps) {
        if (script === undefined) continue;
        const files = { GITHUB_ENV: join(cwd, 'github-env'), GITHUB_OUTPUT: join(cwd, 'github-output') };
        const prefix = { npm_config_prefix: join(cwd, 'prefix'), PATH: join(cwd, 'prefix/bin') };
        const { code, stderr } = await runScript(script, { ...variables, ...files, ...prefix });
        expect([code, /not recorded/.test(stderr)], `${script}: ${stderr}`).toEqual([0, false]);
        Object.assign(variables, takeAssignments(files.GITHUB_ENV));
        for (const [key, value] of Object.entries(takeAssignments(files.GITHUB_OUTPUT)))
          values[`steps.${id}.outputs.${key}`] = value;
      }
      for (const [key, value] of Object.entries(outputs)) values[`needs.${name}.outputs.${key}`] = fill(value);
    }
    const parents = readFileSync(join(cwd, 'traces.txt'), 'utf8').trim().split('\n');
    expect(parents).toHaveLength(3);
    expect(new Set(parents).size).toBe(3);
    const traces = [...parents, values['needs.build.outputs.traceparent']].map((parent) => parent?.split('-')[1]);
    expect([...new Set(traces)]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
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

/** The lines NAME=VALUE of a file, which is removed. */
function takeAssignments(path: string): Record<string, string> {
  if (!existsSync(path)) return {};
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  rmSync(path);
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}
