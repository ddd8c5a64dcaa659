import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allCommands } from '../../src/cli/all-commands.ts';
import { runCommandLine } from '../../src/cli/command-tree.ts';
import { helpTopics } from '../../src/cli/docs/help-topics.ts';
import { otherTools } from '../../src/cli/other-tools.ts';
import { prepareCommandLine } from '../../src/cli/prepare-command-line.ts';
import { Failure } from '../../src/errors.ts';
import { flagForms } from '../../src/flag.ts';
import { commandsIn } from '../support/printed-commands.ts';

const root = new URL('../../', import.meta.url).pathname;

/** Why a command line cannot be read; undefined if it can. Nothing is run. */
async function usageProblem(argv: readonly string[]): Promise<string | undefined> {
  const line = prepareCommandLine(argv);
  if (line.asksFor || argv.length === 0) return undefined;
  try {
    await runCommandLine(line, '/', async () => {});
    return undefined;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return `svc ${argv.join(' ')}: ${error.message}`;
  }
}

async function problemsOf(commands: readonly (readonly string[])[]): Promise<string[]> {
  const problems = await Promise.all(commands.map(usageProblem));
  return [...new Set(problems.flatMap((problem) => problem ?? []))];
}

const mistakes = readFileSync(join(root, 'test/e2e/mistakes.md'), 'utf8');

describe('each printed next step', () => {
  it('of the mistakes is a command line that svc reads', async () => {
    const hints = [...mistakes.matchAll(/^ {2}(.*)$/gm)].map(([, hint = '']) => hint);
    const commands = hints.flatMap(commandsIn);
    expect(commands.length).toBeGreaterThan(50);
    expect(await problemsOf(commands)).toEqual([]);
  });

  it('of the mistakes names no flag that does not exist', () => {
    const forms = new Set(allCommands.flatMap(({ flags }) => flags.flatMap(flagForms)));
    for (const form of ['--help', '--version', '--jitless', '--disable-wasm-trap-handler', '--include', '--global'])
      forms.add(form);
    const hints = [...mistakes.matchAll(/^ {2}(.*)$/gm)].map(([, hint = '']) => hint);
    const named = hints.flatMap((hint) => hint.match(/(?<![\w"'-])--[a-z][a-z-]*/g) ?? []);
    expect([...new Set(named)].filter((form) => !forms.has(form))).toEqual([]);
  });

  it('does not repeat what was typed', () => {
    const blocks = [...mistakes.matchAll(/^\$ svc (.*)\n(?:svc: .*\n)+ {2}(?:did you mean|write:?) (.*?)\??$/gm)];
    const same = blocks.filter(([, typed = '', hint = '']) => hint.replace(/^:? ?svc /, '').trim() === typed.trim());
    expect(same.map(([block]) => block)).toEqual([]);
  });

  it('for a word of another tool is the only one', () => {
    const words = Object.values(otherTools).flatMap((all) => all.split(', '));
    expect(words.length).toBeGreaterThan(1000);
    expect(words.filter((word, at) => words.indexOf(word) !== at)).toEqual([]);
  });

  it.each(Object.entries(otherTools))('%s is one', async (text, words) => {
    const problems = await problemsOf(commandsIn(text).filter((one) => !one.includes('--trace-auth')));
    const [form = ''] = text.split(' ');
    const isFlag = form.startsWith('--');
    const owners = allCommands.filter(({ listedFlags }) => listedFlags.some((flag) => flagForms(flag).includes(form)));
    if (isFlag && owners.length === 0) problems.push(`no command has ${form}`);
    for (const word of words.split(', ')) {
      if (word === form) problems.push(`${word} suggests itself`);
      if (word.startsWith('-') && !word.includes('=')) {
        const known = owners.find(({ listedFlags }) => listedFlags.some((flag) => flagForms(flag).includes(word)));
        if (known && owners.length === 1) problems.push(`${word}: ${known.name} has it`);
      }
    }
    expect(problems).toEqual([]);
  });

  it('of help is a command line that svc reads', async () => {
    const textsIn = (value: unknown): string[] =>
      typeof value === 'string'
        ? value.split('\n')
        : typeof value === 'object' && value
          ? Object.values(value).flatMap(textsIn)
          : [];
    const lines = Object.values(helpTopics).flatMap((topic) => textsIn(topic()));
    const commands = lines.filter((text) => /^svc /.test(text) && !text.endsWith('.'));
    expect(commands.length).toBeGreaterThan(20);
    expect(await problemsOf(commands.flatMap(commandsIn))).toEqual([]);
  });

  it('of README and the guides is a command line that svc reads', async () => {
    const guides = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
    const texts = ['README.md', ...guides.map((name) => `docs/${name}`)].map((name) =>
      readFileSync(join(root, name), 'utf8'),
    );
    const blocks = texts
      .flatMap((text) => [...text.matchAll(/^```(?:console|sh|bash)\n([\s\S]*?)^```$/gm)])
      .map(([, block = '']) => block);
    const lines = blocks.flatMap(
      (block) => block.replace(/\\\n\s*/g, ' ').match(/^(?:\$ )?(?:[A-Z_]+=\S+ )*svc .*/gm) ?? [],
    );
    const spans = texts.flatMap((text) => text.match(/`svc [^`\n]*`/g) ?? []).map((span) => span.slice(1, -1));
    expect(lines.length).toBeGreaterThan(50);
    expect(await problemsOf(lines.flatMap(commandsIn))).toEqual([]);
    // A span may name a flag without its value.
    const ofSpans = await problemsOf(spans.flatMap(commandsIn));
    expect(ofSpans.filter((problem) => !/ needs (?:a value|<)/.test(problem))).toEqual([]);
  });
});
