import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { allCommands } from '../../src/cli/all-commands.ts';
import { type OutputFormat, resultFilters, resultKinds } from '../../src/output/output-format.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

const formats = [...new Set(Object.values(resultKinds).flatMap((kind): readonly OutputFormat[] => kind.formats))];
const groups = '[{"trajectories":[{"messages":[{"role":"user","content":"x"}],"reward":1}]}]';
const entry =
  '{"line":1,"id":null,"status":200,"exit_code":0,"applied":"yes","response":{},"attempts":1,"ms":1,"checkpoint":{"input":"0123456789abcdef","run":"01a1fd65-c7c7-7d58-a39c-000000000000","operation":"/v1/chat/completions","shard":"1/1"}}\n';

// What runs each command that prints a result. `serve` is run in test/e2e, since it ends with a signal only.
const runs: { readonly [command: string]: readonly string[] } = {
  'feedback replace': [
    ...['feedback', 'replace', '--local', '--project-id', 'a/b', '--feedback-type', 'note', '--payload', '{}'],
    ...['--svc-ref', 'svc:///a/b/call/0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05', '--feedback-id', 'f', '--keep-id'],
  ],
  'feedback schema': ['feedback', 'schema', '--local', '--project-id', 'a/b', '--since', '1d'],
  chat: ['chat', '--local', '-m', 'svc-local', 'hi'],
  train: ['train', 'groups.json', '--local', '--model-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05', '--allow-duplicate'],
  'call start': ['call', 'start', '--local', '--project-id', 'a/b', '--op-name', 'x'],
  'auth status': ['auth', 'status', '--profile', 'local'],
  'profile list': ['profile', 'list'],
  'profile show': ['profile', 'show', 'local'],
  'train lint': ['train', 'lint', 'groups.json'],
  'train log': ['train', 'log'],
  log: ['log'],
  'log show': ['log', 'show', '1'],
  'log prune': ['log', 'prune', '--older-than', '30d'],
  'log clear': ['log', 'clear', '--yes'],
  'batch index': ['batch', 'index', 'results.jsonl'],
  'batch merge': ['batch', 'merge', 'results.jsonl'],
  'batch report': ['batch', 'report', 'results.jsonl'],
  spec: ['spec', 'chat'],
  doctor: ['doctor', '--local'],
  'call flush': ['call', 'flush', '--local'],
};
const silent = ['auth login', 'auth logout', 'profile set', 'profile use', 'profile remove'];
const texts = ['completion', 'help', 'call run', 'call import', 'mcp'];

function home(): string {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'groups.json'), groups);
  writeFileSync(join(cwd, 'results.jsonl'), entry);
  mkdirSync(join(cwd, 'data'));
  writeFileSync(join(cwd, 'data/requests.jsonl'), '{"time":"2026-01-01T00:00:00Z","command":"chat"}\n');
  return cwd;
}

function parseAs(format: OutputFormat, text: string): unknown {
  switch (format) {
    case 'json':
      return JSON.parse(text);
    case 'yaml':
      return parse(text);
    case 'jsonl':
      return text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
    default:
      return text;
  }
}

it('knows how to run every command that prints a result', () => {
  const names = allCommands.map(({ words }) => words.join(' '));
  expect(names.filter((name) => !(name in runs) && ![...silent, ...texts, 'serve'].includes(name))).toEqual([]);
});

it('the contract names every format', () => {
  const contract = readFileSync(new URL('../../docs/internals/contract.md', import.meta.url), 'utf8');
  const [, listed = ''] = /^- Formats are (.*?)\. /ms.exec(contract) ?? [];
  expect(Array.from(listed.matchAll(/`(\w+)`/g), ([, name]) => name).sort()).toEqual([...formats].sort());
});

it.each([...silent, ...texts])('svc %s has no formats: exit 2 and nothing is printed', async (name) => {
  // `help --jq` filters its JSON.
  const filter = name === 'help' ? [] : [['--jq', '.']];
  for (const flags of [...formats.map((format) => ['--format', format]), ...filter]) {
    const { code, stdout, stderr } = await svc([...name.split(' '), ...flags], { stdin: '' });
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(/--(format|jq)/) });
  }
});

it.each(['feedback replace', 'feedback schema', 'chat', 'train', 'call start'])(
  'svc %s shows a request in the format that is given, or is exit 2',
  async (name) => {
    const setting = { cwd: home(), env: { SVC_BASE_URL: 'https://svc.test' }, stdin: '' };
    const args = (runs[name] ?? []).filter((word) => word !== '--local');
    for (const format of formats)
      for (const show of ['--dry-run', '--curl']) {
        const { code, stdout } = await svc([...args, show, '--format', format], setting);
        const isShown = ['jsonl', 'text', ...(show === '--dry-run' ? ['json'] : [])].includes(format);
        expect({ format, show, code }).toEqual({ format, show, code: isShown ? 0 : 2 });
        if (format === 'json' && isShown) expect(JSON.parse(stdout)).toHaveProperty('body');
        expect(stdout !== '').toBe(isShown);
      }
  },
);

it.each(Object.keys(resultFilters))(
  '--%s is a flag of every result, and is refused where nothing is filtered',
  async (flag) => {
    const commands = allCommands.filter(({ name }) => name in runs);
    expect(commands.filter(({ flags }) => !flags.some(({ name }) => name === flag)).map(({ name }) => name)).toEqual(
      [],
    );
    for (const more of [['--dry-run'], ['--curl'], ['--format', 'text'], ['--extract', 'code']]) {
      const { code, stderr } = await svc(['chat', '--local', 'hi', `--${flag}`, '.', ...more], {
        cwd: home(),
        stdin: '',
      });
      expect({ more, code, stderr }).toEqual({ more, code: 2, stderr: expect.stringContaining(`--${flag}`) });
    }
  },
);

describe.each(Object.entries(runs))('svc %s', (_, args) => {
  const run = (...flags: string[]): Promise<Result> => svc([...args, ...flags], { cwd: home(), stdin: '' });

  it.each(formats)('--format %s prints something that parses, or is exit 2', async (format) => {
    const { code, stdout, stderr } = await run('--format', format);
    if (code === 2)
      return expect({ stdout, stderr }).toEqual({ stdout: '', stderr: expect.stringMatching(/--format/) });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
    const isEmptyListing = ['train log', 'feedback schema'].some((name) => args.join(' ').startsWith(name));
    if (!isEmptyListing || ['json', 'yaml', 'csv', 'tsv'].includes(format)) expect(stdout).not.toBe('');
    if (stdout !== '') expect(parseAs(format, stdout)).toBeDefined();
  });

  it('prints JSON when it is piped, except for the text of a chat', async () => {
    const { code, stdout } = await run();
    expect(code).toBe(0);
    if (args[0] !== 'chat')
      for (const line of args[0] === 'batch' ? stdout.trimEnd().split('\n') : [stdout]) JSON.parse(line);
  });

  it('--json is --format json, and contradicts any other', async () => {
    const [json, both] = [await run('--json'), await run('--json', '--format', 'jsonl')];
    expect(both.code).toBe(2);
    if (json.code === 0) JSON.parse(json.stdout);
    else expect(json).toMatchObject({ code: 2, stdout: '' });
  });
});
