import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allCommands } from '../../src/cli/all-commands.ts';
import { completableFlags } from '../../src/cli/docs/completion-words.ts';
import { type Answers, shells } from '../support/shells.ts';
import { cases, derived, finished, folderFiles } from '../support/shells-cases.ts';

for (const { name, missing, finishes, ask } of shells) {
  describe.skipIf(missing !== undefined)(missing ? `${name}: not asked, ${missing}` : name, () => {
    const lines = [...new Set([...cases, ...derived, ...finished].map(([line]) => line))];
    let home: string;
    let answers: Answers;

    beforeAll(() => {
      home = mkdtempSync(join(tmpdir(), 'svc-test-'));
      const cwd = join(home, 'work');
      mkdirSync(join(cwd, 'sub'), { recursive: true });
      for (const file of folderFiles) writeFileSync(join(cwd, file), '');
      mkdirSync(join(home, 'bin'));
      for (const program of ['svc', 'node']) {
        writeFileSync(join(home, 'bin', program), `#!/bin/sh\n: >'${home}/started'\n`, { mode: 0o755 });
      }
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

    it('writes no errors and starts no program', () => {
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

describe('the script for PowerShell, which is not asked', () => {
  const text = scriptOf('svc.ps1');

  it('closes its strings and brackets', () => {
    const code = text.replace(/^#.*$/gm, '').replace(/'(?:[^'\n]|'')*'/g, '');
    expect(code).not.toMatch(/['"]/);
    let brackets = code.replace(/[^(){}[\]]/g, '');
    while (/\(\)|\{\}|\[\]/.test(brackets)) brackets = brackets.replace(/\(\)|\{\}|\[\]/g, '');
    expect(brackets).toBe('');
  });

  it.each(allCommands)('has every flag of $words', (command) => {
    const flags = completableFlags(command).map(({ word }) => `'${word}'`);
    expect(text).toContain(`    '${command.words.join(' ')}' = @{ Flags = @(${flags.join(', ')});`);
  });
});

function scriptOf(file: string): string {
  return readFileSync(new URL(`../../completions/${file}`, import.meta.url), 'utf8');
}
