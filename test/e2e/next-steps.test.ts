import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { otherTools } from '../../src/cli/other-tools.ts';
import { openScene, readMistakes } from '../support/mistake-scene.ts';
import { commandsIn, isCommandName } from '../support/printed-commands.ts';
import { inShell, program } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

// Processes that run at the same time.
const CONCURRENCY = 4;

// What the placeholders of a command stand for.
const line = '{"messages":[{"role":"user","content":"hi"}],"text":"hi"}\n';
const files = { 'x.jsonl': line, 'y.jsonl': line, 'body.json': '{"messages":[{"role":"user","content":"hi"}]}' };

/** A printed command, and what is said about the place where it is printed. */
interface Step {
  readonly words: readonly string[];
  readonly setup: readonly string[];
}

// After these words a command is to be run; elsewhere a bare name of a command says which one is meant.
const told = /(?:\b(?:run|write|text|used|it|after --|profiles)|schema): (?=svc )/;

/** The commands of a text that are to be run as they stand. */
function stepsOf(text: string, setup: readonly string[]): Step[] {
  const [named = '', ...after] = text.split(told);
  return [...commandsIn(named).filter((words) => !isCommandName(words)), ...after.flatMap(commandsIn)].map((words) => ({
    words,
    setup,
  }));
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** What a step printed if it ended in a usage error. It runs at a terminal; what then asks or serves is ended. */
async function usageError({ words, setup }: Step, home: string): Promise<string[]> {
  const { cwd, env } = await openScene(setup.filter((text) => !/^no /.test(text)));
  for (const [name, text] of Object.entries(files))
    if (!existsSync(join(cwd, name))) writeFileSync(join(cwd, name), text);
  const child = words.indexOf('--');
  const argv = words.slice(0, 2).join(' ') === 'call run' ? [...words.slice(0, child), '--', 'true'] : words;
  const command = ['timeout', '--foreground', '5', process.execPath, program, ...argv].map(quoted).join(' ');
  const { code, stdout } = await inShell(`cp -rn '${home}'/. .; script -qec ${quoted(command)} /dev/null`, {
    cwd,
    env,
  });
  return code === 2 ? [`${setup.join('; ')}\nsvc ${argv.join(' ')}\n${stdout}`] : [];
}

async function usageErrors(steps: readonly Step[]): Promise<string[]> {
  // Someone who has profiles, and one request in the history.
  const home = temporaryDirectory();
  await inShell(
    'for name in x work; do svc profile set $name --base-url http://127.0.0.1:9; done; SVC_HISTORY=1 svc chat hi --local',
    { cwd: home },
  );
  const queue = [...new Map(steps.map((step) => [JSON.stringify(step), step])).values()];
  const errors: string[] = [];
  const work = async (): Promise<void> => {
    for (let step = queue.shift(); step; step = queue.shift()) errors.push(...(await usageError(step, home)));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return errors;
}

it('each command that a mistake says to run ends in no usage error', { timeout: 240_000 }, async () => {
  const steps = readMistakes().flatMap(({ block, setup }) =>
    [...block.matchAll(/^ {2}(.*)$/gm)].flatMap(([, hint = '']) => stepsOf(hint, setup)),
  );
  expect(steps.length).toBeGreaterThan(50);
  expect((await usageErrors(steps)).join('\n')).toBe('');
});

it('each command that stands for a word of another tool ends in no usage error', { timeout: 240_000 }, async () => {
  const steps = Object.keys(otherTools).flatMap((text) => stepsOf(text, []));
  expect(steps.length).toBeGreaterThan(20);
  expect((await usageErrors(steps)).join('\n')).toBe('');
});

it('a command that deletes is suggested only for a word that deletes', () => {
  const deletes = /\b(?:delete|rm|remove|prune|clear|clean|cleanup|reset|purge|revoke|signout|logout|uninstall|keep)\b/;
  const harmful = Object.entries(otherTools).filter(([meant]) =>
    /svc (?:log (?:clear|prune)|profile remove|auth logout)/.test(meant),
  );
  const words = harmful.flatMap(([meant, all]) => (/cannot/.test(meant) ? [] : all.split(', ')));
  expect(words.length).toBeGreaterThan(5);
  expect(words.filter((word) => !deletes.test(word))).toEqual([]);
});
