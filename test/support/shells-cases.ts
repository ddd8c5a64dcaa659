import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allCommands, sharedFlags, topLevelWords } from '../../src/cli/all-commands.ts';
import { helpTopicNames } from '../../src/cli/help-command.ts';
import { flagForms } from '../../src/flag.ts';

/** The files of the directory in which lines are typed. */
const directoryFiles = ['a file.json', 'groups.jsonl', 'sub/inner.json'];

/** What svc knows in the tests of completion. */
export const knownNames = {
  profiles: ['staging', 'work', 'local'],
  projects: ['acme/bot', 'acme/other'],
  models: ['org/large:70b', 'small'],
} as const;

/** Makes the directory in which lines are typed, and the profiles that name what svc knows. */
export function makeHome(home: string): { cwd: string; env: { SVC_CONFIG_DIR: string; SVC_DATA_DIR: string } } {
  const cwd = join(home, 'work');
  mkdirSync(join(cwd, 'sub'), { recursive: true });
  for (const file of directoryFiles) writeFileSync(join(cwd, file), '');
  const env = { SVC_CONFIG_DIR: join(home, 'config'), SVC_DATA_DIR: join(home, 'data') };
  mkdirSync(env.SVC_CONFIG_DIR);
  const [staging, work] = knownNames.models.map((model, at) => ({ model, project_id: knownNames.projects[at] }));
  writeFileSync(join(env.SVC_CONFIG_DIR, 'config.json'), JSON.stringify({ profiles: { staging, work } }), {
    mode: 0o600,
  });
  return { cwd, env };
}

const files = ['a file.json', 'groups.jsonl', 'sub'];
const references = files.map((file) => `@${file}`);
const first = topLevelWords().map(([word]) => word);
const formats = ['json', 'jsonl', 'yaml', 'text'];
const leadingFlags = sharedFlags().filter(({ isHidden }) => !isHidden);
const topLevelFlags = ['--help', '--version', ...leadingFlags.flatMap(flagForms)];

/** The second words of a group of commands. */
export function subcommandWords(group: string): string[] {
  return allCommands.flatMap(({ words: [word, second] }) => (word === group && second ? [second] : []));
}

/** A line, and the words it may end with. */
export type Case = readonly [line: string, offers: readonly string[]];

/** Lines a user types, the same for every shell. The directory in which they are typed has `directoryFiles`. */
export const cases: readonly Case[] = [
  ['svc ', first],
  ['svc --', topLevelFlags],
  ['svc --pro', ['--profile']],
  ['svc --profile ', knownNames.profiles],
  ['svc --profile=w', ['work']],
  ['svc --format js', ['json', 'jsonl']],
  ['svc --local --cacert g', ['groups.jsonl']],
  ['svc --local ', first],
  ['svc --local --qu', ['--quiet']],
  ['svc --profile work fe', ['feedback']],
  ['svc --profile=work feedback ', subcommandWords('feedback')],
  ['svc -q --base-url http://127.0.0.1:80 chat --ec', ['--echo']],
  ['svc --local train lo', ['log']],
  ['svc --local train log --js', ['--json']],
  ['svc --local help exit', ['exit-codes']],
  ['svc --seed 1 ch', []],
  ['svc fe', ['feedback']],
  ['svc nothing ', []],
  ...['feedback', 'call', 'auth', 'profile'].map((group) => [`svc ${group} `, subcommandWords(group)] as const),
  ['svc feedback --', ['--help']],
  ['svc feedback nothing --', []],
  ['svc chat --reas', ['--reasoning-effort']],
  ['svc chat --reasoning-effort ', ['low', 'medium', 'high']],
  ['svc chat --format ', formats],
  ['svc chat --format=', formats],
  ['svc chat --format=js', ['json', 'jsonl']],
  ['svc chat --ec', ['--echo']],
  ['svc chat --no-ec', ['--no-echo']],
  ['svc chat --model ', knownNames.models],
  ['svc chat --model=', knownNames.models],
  ['svc chat -m s', ['small']],
  ['svc chat --model org/large:', ['org/large:70b']],
  ['svc chat --model "org', ['org/large:70b']],
  ['svc chat --profile w', ['work']],
  ['svc call run --project-id acme/b', ['acme/bot']],
  ['svc feedback schema --project-id=acme/o', ['acme/other']],
  ['svc profile use ', knownNames.profiles],
  ['svc profile use st', ['staging']],
  ['svc profile remove --yes ', knownNames.profiles],
  ['svc profile show work ', []],
  ['svc chat --model gpt --ec', ['--echo']],
  ['svc chat --set=a=b --base-url http://127.0.0.1:80 --message user:hi --ec', ['--echo']],
  ['svc chat hello --ec', ['--echo']],
  ['svc chat hello ', []],
  ['svc chat -- --ec', []],
  ['svc call start --op', ['--op-name']],
  ['svc profile set work --chat', ['--chat-base-url']],
  ['svc train ', [...files, ...subcommandWords('train')]],
  ['svc train lo', ['log']],
  ['svc train log --js', ['--json']],
  ['svc train log --model-', []],
  ['svc train a --model-', ['--model-id']],
  ['svc train -q lo', ['log']],
  ['svc train a', ['a file.json']],
  ['svc train a\\ f', ['a file.json']],
  ['svc train sub/', ['sub/inner.json']],
  ['svc train groups.jsonl ', files],
  ['svc train groups.jsonl --form', ['--format']],
  ['svc chat -f ', files],
  ['svc chat -vf g', ['groups.jsonl']],
  ['svc chat --file=g', ['groups.jsonl']],
  ['svc chat --tools ', references],
  ['svc chat --tools @', references],
  ['svc chat --tools=@', references],
  ['svc chat --tools @a\\ f', ['@a file.json']],
  ['svc chat --tools "@g', ['@groups.jsonl']],
  ['svc chat --tools @sub/', ['@sub/inner.json']],
  ['svc chat --tools @nothing', []],
  ['svc chat --tools [] ', []],
  ['svc completion ', ['bash', 'zsh', 'fish']],
  ['svc completion bash ', []],
  ['svc completion --error-format text ', ['bash', 'zsh', 'fish']],
  ['svc help ', [...new Set([...first, ...helpTopicNames])]],
  ['svc help feedback ', ['replace', 'schema']],
  ['svc help exit-codes ', []],
  ['svc spec ', ['feedback', 'chat', 'train', 'call']],
  ['svc spec --reply feedback ', ['replace', 'schema']],
  ['svc spec --repl', []],
  ['svc auth status -v --js', ['--json']],
];

/** A line, and how TAB leaves it. */
export const finished: readonly (readonly [line: string, after: RegExp])[] = [
  ['svc ch', /^svc chat $/],
  ['svc chat --ec', /^svc chat --echo $/],
  ['svc chat hello --ec', /^svc chat hello --echo $/],
  ['svc chat --system "be nice" --ec', /^svc chat --system "be nice" --echo $/],
  ['svc chat --reas', /^svc chat --reasoning-effort[ =]$/],
  ['svc chat --format=te', /^svc chat --format=text $/],
  ['svc train a', /^svc train a\\ file\.json $/],
  ['svc train "a', /^svc train "a file\.json" $/],
  ['svc train su', /^svc train sub\/$/],
  ['svc chat --tools @a', /^svc chat --tools @a\\ file\.json $/],
  ['svc chat --tools "@a', /^svc chat --tools "@a file\.json" $/],
  ['svc chat --tools=@gr', /^svc chat --tools=@groups\.jsonl $/],
  ['svc chat --tools @su', /^svc chat --tools @sub\/$/],
];
