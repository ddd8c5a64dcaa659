import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allCommands } from '../../src/cli/all-commands.ts';
import { type Answers, shells } from '../support/shells.ts';

import { cases, derived, directoryFiles, finished, knownNames } from '../support/shells-cases.ts';
import { type Setting, svc, temporaryDirectory } from '../support/svc.ts';

for (const { name, missing, finishes, ask } of shells) {
  describe.skipIf(missing !== undefined)(missing ? `${name}: not asked, ${missing}` : name, () => {
    const lines = [...new Set([...cases, ...derived, ...finished].map(([line]) => line))];
    let home: string;
    let answers: Answers;

    beforeAll(() => {
      home = mkdtempSync(join(tmpdir(), 'svc-test-'));
      const cwd = join(home, 'work');
      mkdirSync(join(cwd, 'sub'), { recursive: true });
      for (const file of directoryFiles) writeFileSync(join(cwd, file), '');
      mkdirSync(join(home, 'bin'));
      const started = `: >'${home}/started'`;
      writeFileSync(join(home, 'bin', 'node'), `#!/bin/sh\n${started}\n`, { mode: 0o755 });
      // Only names need svc, with these words alone.
      const asked = Object.entries(knownNames).map(
        ([kind, names]) => `"completion "*" --names ${kind}") printf '%s\\n' ${names.join(' ')} ;;`,
      );
      const program = ['#!/bin/sh', 'case "$*" in', ...asked, `*) ${started} ;;`, 'esac', ''].join('\n');
      writeFileSync(join(home, 'bin', 'svc'), program, { mode: 0o755 });
      answers = ask(lines, cwd, { HOME: home, PATH: `${join(home, 'bin')}:${process.env.PATH}` });
    });
    afterAll(() => rmSync(home, { recursive: true, force: true }));

    it.each(cases)('offers for %j: %j', (line, offers) => {
      expect(answers.offers.get(line)).toEqual([...offers].sort());
    });

    it.each(allCommands.map(({ words }) => words.join(' ')))('offers every flag, value and argument of %s', (words) => {
      const wanted = derived.filter(([line]) => line.startsWith(`svc ${words} `));
      expect(wanted.map(([line]) => [line, answers.offers.get(line)])).toEqual(
        wanted.map(([line, offers]) => [line, [...offers].sort()]),
      );
    });

    const known =
      finishes === 'nothing' ? [] : finishes === 'words' ? finished.filter(([line]) => !line.endsWith('su')) : finished;
    it.each(known)('finishes %j', (line, after) => {
      expect(answers.finished.get(line)).toMatch(after);
    });

    it('writes no errors and starts no program, except svc for names', () => {
      expect(answers.errors).toBe('');
      expect(existsSync(join(home, 'started'))).toBe(false);
    });
  });
}

describe('the script for bash', () => {
  const text = scriptOf('svc.bash');

  it('has nothing that bash 3.2 does not know', () => {
    expect(text).not.toMatch(/(declare|local|typeset) -[An]|mapfile|readarray|\|&|&>>|;;?&|\$\{\w+[,^]/);
    expect(text.match(/compopt.*/g)?.filter((use) => !use.includes('2>/dev/null'))).toEqual([]);
  });
});

describe('the names that svc knows', () => {
  const names = async (kind: string, setting: Setting = {}): Promise<string[]> => {
    const send = (): never => {
      throw new Error('completion opened the network');
    };
    const { code, stdout, stderr } = await svc(['completion', 'bash', '--names', kind], { send, ...setting });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout.split('\n').slice(0, -1);
  };

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
    expect(await names('profiles', { cwd, env })).toEqual(['other', 'work', 'local']);
    expect(await names('models', { cwd, env })).toEqual(['zero', 'two', 'org/one:8b', 'three']);
    expect(await names('projects', { cwd, env })).toEqual([
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
    expect(await names('models', { cwd })).toEqual([]);
    expect(await names('projects', { cwd })).toEqual([]);
    expect(await names('profiles', { cwd })).toEqual(['local']);
  });
});

function scriptOf(file: string): string {
  return readFileSync(new URL(`../../completions/${file}`, import.meta.url), 'utf8');
}
