import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program } from '../support/process.ts';
import { type Answers, shells } from '../support/shells.ts';
import { cases, finished, makeHome } from '../support/shells-cases.ts';

for (const { name, missing, finishes, ask } of shells) {
  describe.skipIf(missing !== undefined)(missing ? `${name}: not asked, ${missing}` : name, () => {
    const lines = [...new Set([...cases, ...finished].map(([line]) => line))];
    let home: string;
    let answers: Answers;

    beforeAll(() => {
      home = mkdtempSync(join(tmpdir(), 'svc-test-'));
      const { cwd, env } = makeHome(home);
      mkdirSync(join(home, 'bin'));
      const started = `: >'${home}/started'`;
      writeFileSync(join(home, 'bin', 'node'), `#!/bin/sh\n${started}\n`, { mode: 0o755 });
      const complete = `exec '${process.execPath}' '${program}' "$@"`;
      const script = `#!/bin/sh\nif [ "$1" = __complete ]; then ${complete}; else ${started}; fi\n`;
      writeFileSync(join(home, 'bin', 'svc'), script, { mode: 0o755 });
      answers = ask(lines, cwd, { HOME: home, PATH: `${join(home, 'bin')}:${process.env.PATH}`, ...env });
    });
    afterAll(() => rmSync(home, { recursive: true, force: true }));

    it.each(cases)('offers for %j: %j', (line, offers) => {
      expect(answers.offers.get(line)).toEqual([...offers].sort());
    });

    const known =
      finishes === 'nothing' ? [] : finishes === 'words' ? finished.filter(([line]) => !line.endsWith('su')) : finished;
    it.each(known)('finishes %j', (line, after) => {
      expect(answers.finished.get(line)).toMatch(after);
    });

    it('writes no errors and starts no program but svc __complete', () => {
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

function scriptOf(file: string): string {
  return readFileSync(new URL(`../../completions/${file}`, import.meta.url), 'utf8');
}
