import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { avoidedPhrases } from './avoided-phrases.ts';

const root = new URL('../../', import.meta.url).pathname;

// The programs of others in test/peers use other words.
const ownTestDirectories = readdirSync(join(root, 'test'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'peers')
  .map(({ name }) => join('test', name));

// Help is part of docs/reference.
const texts = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['src', 'docs', 'bin', 'completions', 'scripts', ...ownTestDirectories].flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|js|sh|bash|zsh|md|html|css)$|^_svc$|^svc\./.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length)),
  ),
].filter((path) => path !== 'test/laws/avoided-phrases.ts');

// The last commit whose subject was written before this list.
const firstCommit = 'e0fcb98';

describe('texts avoid phrases that a reader has to read twice', () => {
  it.each(texts)('%s', (name) => {
    const lines = readFileSync(join(root, name), 'utf8').split('\n');
    expect(lines.flatMap((line, at) => phrasesIn(line).map((found) => `${name}:${at + 1} ${found}`))).toEqual([]);
  });

  it('the subjects of commits', () => {
    const subjects = subjectsSince(firstCommit);
    expect(subjects.flatMap((subject) => phrasesIn(subject).map((found) => `${subject}: ${found}`))).toEqual([]);
  });
});

function phrasesIn(line: string): string[] {
  return avoidedPhrases.flatMap(([phrase, instead]) => {
    const [found] = phrase.exec(line) ?? [];
    return found === undefined ? [] : [`"${found}"; write: ${instead}`];
  });
}

// None in a package or a shallow clone, which have no history.
function subjectsSince(commit: string): string[] {
  try {
    const output = execFileSync('git', ['log', '--format=%s', `${commit}..HEAD`], { cwd: root, stdio: 'pipe' });
    return output.toString().split('\n');
  } catch {
    return [];
  }
}
