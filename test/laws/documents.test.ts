import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { generatedFiles } from '../../scripts/generated-files.ts';
import { taskVariables } from '../../src/batch/read/shard.ts';
import { resultColumns } from '../../src/batch/store/result-export.ts';
import { bodyFormats } from '../../src/body/body-flags.ts';
import { allCommands } from '../../src/cli/all-commands.ts';
import { flagForms } from '../../src/flag.ts';
import { reportFiles } from '../../src/reports/run-report.ts';

const root = new URL('../../', import.meta.url).pathname;
const documents = ['.', 'docs', 'docs/internals', 'docs/reference', 'docs/internals/decisions'].flatMap((directory) =>
  readdirSync(join(root, directory))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(directory, name)),
);
// Decisions and the changelog also name what no longer exists.
const present = documents.filter((path) => !path.startsWith('docs/internals/decisions/') && path !== 'CHANGELOG.md');

const generated = generatedFiles.map(({ path }) => path);

const { scripts }: { scripts: Readonly<Record<string, string>> } = JSON.parse(textOf('package.json'));

describe.each(documents)('%s', (path) => {
  it('has links that lead to files and headings', () => {
    const broken = linksOf(path).filter((link) => {
      const [file = '', heading] = link.split('#');
      const target = file === '' ? path : join(dirname(path), file);
      return !existsSync(join(root, target)) || (heading !== undefined && !anchorsOf(target).includes(heading));
    });
    expect(broken).toEqual([]);
  });

  it('has blocks of YAML, JSON and shell that parse', () => {
    const text = textOf(path);
    for (const body of blocksOf(text, 'json')) expect(() => JSON.parse(body), body).not.toThrow();
    for (const body of blocksOf(text, 'yaml'))
      expect(parseAllDocuments(body).flatMap((document) => [...document.errors, ...document.warnings])).toEqual([]);
    for (const body of [...blocksOf(text, 'sh'), ...blocksOf(text, 'bash')])
      expect(spawnSync('bash', ['-n'], { input: body, encoding: 'utf8' }).stderr).toBe('');
  });
});

it('README.md has at most 120 lines, with code of at most 80 columns', () => {
  const text = textOf('README.md');
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(120);
  const commands = ['sh', 'console']
    .flatMap((language) => blocksOf(text, language))
    .join('')
    .split('\n');
  expect(commands.filter((line) => line.length > 80)).toEqual([]);
});

it('CHANGELOG.md has at most 60 lines per release', () => {
  const sections = textOf('CHANGELOG.md').split(/^## /m).slice(1);
  const titles = sections.map((section) => section.split('\n', 1)[0] ?? '');
  expect(titles.slice(1)).toContain('0.2.0 (2026-11-24)');
  expect(titles.filter((_, at) => (sections[at] ?? '').trimEnd().split('\n').length > 60)).toEqual([]);
});

it.each(documents.filter((path) => !generated.includes(path)))('%s has lines of at most 120 columns', (path) => {
  const lines = textOf(path).split('\n');
  const long = lines.filter(
    (line) => [...line].length > 120 && !line.startsWith('|') && !/https?:\/\/\S{60}/.test(line),
  );
  expect(long, 'run npm run format').toEqual([]);
});

describe('docs/internals/contract.md', () => {
  const text = textOf('docs/internals/contract.md');
  const prose = text.replace(/^ *```[\s\S]*?^ *```$/gm, '\n').replace(/^(?:\||#).*$/gm, '\n');

  it('has sentences of at most 25 words', () => {
    const blocks = prose.replace(/^ *- /gm, '\n\n').split(/\n\s*\n/);
    // What quotes or lists in a span of code counts as one word.
    const sentences = blocks.flatMap((block) => block.replace(/`[^`]*`/g, 'code').split(/(?<=[.?])\s+/));
    expect(sentences.filter((sentence) => sentence.trim().split(/\s+/).length > 25)).toEqual([]);
  });

  it.each(text.split(/^## /m).slice(1))('has an example in section %.24s', (section) => {
    expect(section).toMatch(/^```/m);
  });
});

describe.each(present)('%s', (path) => {
  it('says that svc exits with a code', () => {
    expect(textOf(path).match(/.*\bis\s+exit\s+code\s+\d.*/g), 'write: exits with').toBe(null);
  });

  it('names files and scripts that exist', () => {
    const text = textOf(path);
    const files = matches(text, /(?<![\w/])((?:src|test|bin)\/[\w./-]+\.(?:ts|js|md))\b/g);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    expect(matches(text, /npm run (?:--silent )?([\w:]+)/g).filter((name) => !(name in scripts))).toEqual([]);
  });

  it('names flags that exist', () => {
    const ours = new Set(allCommands.flatMap(({ flags }) => flags.flatMap(flagForms)));
    // CONTRIBUTING.md adds a field named verbosity.
    for (const word of ['--help', '--version', '--verbosity']) ours.add(word);
    const lines = matches(textOf(path), /\bsvc\b((?:[^`|\n]|(?<=<)\|)*)/g);
    const named = lines.flatMap((line) => matches(line.split(' -- ')[0] ?? '', /(?<=[\s"])(--[a-z][\w-]*)/g));
    expect([...new Set(named)].filter((flag) => !ours.has(flag))).toEqual([]);
  });
});

// A block that no reader can run is not an example: each language of a guide has the test that runs it.
const testsOfBlocks: Readonly<Record<string, string>> = {
  'console in *': 'test/e2e/documentation.test.ts',
  'sh in *': 'test/e2e/documentation.test.ts',
  'file in *': 'test/e2e/documentation.test.ts',
  'yaml in docs/ci.md': 'test/interop/ci-systems.test.ts',
  'groovy in docs/ci.md': 'test/interop/ci-systems.test.ts',
  'yaml in docs/scale.md': 'test/laws/deployment.test.ts',
  'bash in docs/scale.md': 'test/scale/recipes.ts',
  'json in docs/scale.md': 'test/laws/documents.test.ts',
  'python in docs/scale.md': 'test/scale/workflows.scale.ts',
};

const guides = present.filter((path) => path === 'README.md' || /^docs\/[^/]*\.md$/.test(path));

it.each(guides)('%s has only examples that a test runs', (path) => {
  const blocks = Array.from(
    textOf(path).matchAll(/^( *)```(\w*)( \S+)?\n[\s\S]*?^\1```$/gm),
    ([, , language = '', file]) => (file === undefined ? language : 'file'),
  );
  const untested = blocks.filter((kind) => {
    const test = testsOfBlocks[`${kind} in *`] ?? testsOfBlocks[`${kind} in ${path}`];
    return test === undefined || !existsSync(join(root, test));
  });
  expect(untested, 'write console for a session, sh for a script, or a language and the name of a file').toEqual([]);
});

it.each(taskVariables)('docs/scale.md names $scheduler', ({ scheduler }) => {
  expect(textOf('docs/scale.md')).toContain(scheduler.replace(' array', ''));
});

it.each([...resultColumns.keys()])('docs/evaluate-prompts.md names the column %s', (name) => {
  expect(textOf('docs/evaluate-prompts.md')).toContain(`\`${name}\``);
});

it.each(bodyFormats)('docs/bodies.md and the contract name $format', ({ format, suffixes }) => {
  for (const name of format === 'JSON' ? [format] : [format, ...suffixes.map((suffix) => `\`${suffix}\``)])
    expect(textOf('docs/bodies.md'), 'name the format and its suffixes').toContain(name);
  expect(textOf('docs/internals/contract.md'), 'name it in section 2').toContain(format);
});

it.each(reportFiles)('the contract and docs/scale.md name --$flag', ({ flag }) => {
  expect(textOf('docs/internals/contract.md'), 'name it in section 10').toContain(`--${flag}`);
  expect(textOf('docs/scale.md'), 'name it where {shard} is').toContain(`--${flag}`);
});

// Tables that are generated are part of the reference.
it('the guides have at most 12,000 words', () => {
  const texts = guides.filter((path) => path !== 'README.md').map(textOf);
  const words = texts.flatMap((text) => text.replace(/<!-- generated[\s\S]*?<!-- end -->/g, '').split(/\s+/));
  expect(words.length).toBeLessThanOrEqual(12_000);
});

function linksOf(path: string): string[] {
  return matches(textOf(path), /\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g).filter((link) => !link.includes('://'));
}

function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

// The text of the first group that matched, for each match.
function matches(text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), ([, ...groups]) => groups.find((group) => group !== undefined) ?? '');
}

// Anchors as GitHub derives them from headings.
function anchorsOf(path: string): string[] {
  return matches(textOf(path).replace(/^```[\s\S]*?^```$/gm, ''), /^#+ (.*)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

function blocksOf(text: string, language: string): string[] {
  return matches(text, new RegExp(`^\`\`\`${language}(?: \\S+)?\\n([\\s\\S]*?)^\`\`\`$`, 'gm'));
}
