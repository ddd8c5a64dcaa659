import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allCommands, topLevelWords } from '../../src/cli/all-commands.ts';
import type { Command } from '../../src/command.ts';
import { type Flag, flagForms, takesValue } from '../../src/flag.ts';
import { knownNames, makeHome, subcommandWords } from '../support/shells-cases.ts';
import { type Setting, svc, temporaryDirectory } from '../support/svc.ts';

// What svc prints for a shell: what files fit, the start of the word, and the offers with their descriptions.
async function complete(words: readonly string[], setting: Setting = {}) {
  const send = (): never => {
    throw new Error('completion opened the network');
  };
  const { code, stdout, stderr } = await svc(['__complete', ...words], { send, ...setting });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [head = [], ...offers] = stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t'));
  return { files: head[0], start: head[1], offers: new Map(offers.map(([word = '', text = '']) => [word, text])) };
}

async function offersFor(words: readonly string[], setting: Setting = {}): Promise<string[]> {
  return [...(await complete(words, setting)).offers.keys()];
}

describe('completion offers every flag, value and argument of', () => {
  let home: string;
  let setting: Setting;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'svc-test-'));
    setting = makeHome(home);
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  it.each(allCommands)('svc $name', async ({ words, argument, listedFlags, flags }) => {
    const forms = listedFlags.flatMap((flag) => [...flagForms(flag), ...(flag.short ? [`-${flag.short}`] : [])]);
    expect((await offersFor([...words, '-'], setting)).sort()).toEqual([...forms, '--help', '-h'].sort());
    const first = await complete([...words, ''], setting);
    expect([...first.offers.keys()].sort()).toEqual(argumentWords({ words, argument }).sort());
    expect(first.files).toBe(argument?.isFile ? 'paths' : 'words');
    for (const flag of flags.filter(takesValue)) {
      const wanted = { files: fileKind(flag), offers: flag.completes ? knownNames[flag.completes] : choicesOf(flag) };
      const values = async (...typed: string[]): Promise<unknown> => {
        const { files, start = '', offers } = await complete([...words, ...typed], setting);
        return { files, offers: Array.from(offers.keys(), (offer) => offer.slice(start.length)) };
      };
      expect(await values(`--${flag.name}`, '')).toEqual(wanted);
      expect(await values(`--${flag.name}=`)).toEqual(wanted);
      if (flag.short) expect(await values(`-v${flag.short}`, '')).toEqual(wanted);
    }
  });
});

function argumentWords({ words, argument }: { words: readonly string[]; argument: Command['argument'] }): string[] {
  const known = argument?.completes ? knownNames[argument.completes] : [];
  const commands = words[0] === 'help' ? topLevelWords().map(([word]) => word) : [];
  const inner = words.length === 1 ? subcommandWords(words[0] ?? '') : [];
  return [...new Set([...inner, ...commands, ...known, ...(argument?.choices ?? argument?.offers ?? [])])];
}

function choicesOf({ choices, offers = [] }: Flag): readonly string[] {
  return choices ?? offers;
}

function fileKind({ value = '' }: Flag): string {
  return value === '<file>' ? 'paths' : value === '<json>' || value.includes('@') ? 'references' : 'words';
}

describe('completion describes', () => {
  it.each(allCommands)('the flags of svc $name, and --no-x as what it does', async ({ words, listedFlags }) => {
    const { offers } = await complete([...words, '--']);
    expect([...offers].filter(([, text]) => text === '')).toEqual([]);
    for (const flag of listedFlags) {
      const [on = '', off] = flagForms(flag);
      if (off) expect(offers.get(off), off).not.toBe(offers.get(on));
    }
  });

  it('--no-echo', async () => {
    const { offers } = await complete(['chat', '--no']);
    expect(offers.get('--no-echo')).toBe('Set echo to false');
    expect(offers.get('--no-stdin')).toBe('Never read stdin');
    expect(offers.get('--no-check')).toBe('Treat errors in the body as warnings');
  });
});

describe('the names that completion offers', () => {
  const names = (words: string, setting: Setting): Promise<string[]> => offersFor([...words.split(' '), ''], setting);

  it('are profiles, and the projects and models of environment, project file, profiles and history', async () => {
    const cwd = temporaryDirectory();
    const profiles = {
      work: {
        base_url: 'http://127.0.0.1:1',
        model: 'org/one:8b',
        project_id: 'acme/one',
        credential_command: ['false'],
      },
      other: { model: '$(touch evil)', project_id: 'a b' },
    };
    mkdirSync(join(cwd, 'config'));
    writeFileSync(join(cwd, 'config', 'config.json'), JSON.stringify({ profiles }), { mode: 0o600 });
    writeFileSync(join(cwd, '.svc.json'), '{"model": "two", "project_id": "acme/two"}');
    mkdirSync(join(cwd, 'data'));
    const records = ['{"model":"three"}', '{"project_id":"acme/three"}', '{"start":{"project_id":"acme/four"}}'];
    const lines = records.map((request) => `{"time":"2026-01-01T00:00:00Z","request":${request}}\n`);
    writeFileSync(join(cwd, 'data', 'requests.jsonl'), `${lines.join('')}{"cut`);
    const env = { SVC_MODEL: 'zero', SVC_PROJECT_ID: 'acme/zero' };
    expect(await names('profile use', { cwd, env })).toEqual(['other', 'work', 'local']);
    expect(await names('chat --model', { cwd, env })).toEqual(['zero', 'two', 'org/one:8b', 'three']);
    expect(await names('call run --project-id', { cwd, env })).toEqual([
      'acme/zero',
      'acme/two',
      'acme/one',
      'acme/four',
      'acme/three',
    ]);
  });

  it('are none where nothing can be read', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'));
    writeFileSync(join(cwd, 'config', 'config.json'), '{', { mode: 0o600 });
    writeFileSync(join(cwd, '.svc.json'), '{"token": "x"}');
    expect(await names('chat --model', { cwd })).toEqual([]);
    expect(await names('call run --project-id', { cwd })).toEqual([]);
    expect(await names('profile use', { cwd })).toEqual(['local']);
  });
});
