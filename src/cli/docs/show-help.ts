import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { type Command, type RunCommand, runsChild } from '../../command.ts';
import type { Context } from '../../context.ts';
import { childExitCodes, exitCodes, usageFailure } from '../../errors.ts';
import { closestMatch, joinWithOr } from '../../fields/closest-match.ts';
import { type Flag, flagForms } from '../../flag.ts';
import { requestedFilter } from '../../output/output-format.ts';
import type { Writer } from '../../output/writer.ts';
import type { Runtime } from '../../runtime.ts';
import { version } from '../../version.ts';
import { allCommands, commandGroups, commandsIn } from '../all-commands.ts';
import { type HelpOptions, helpTopicNames } from '../help-command.ts';
import { renderHelp } from './help-page.ts';
import { exampleLine, type HelpRequest, helpText, introduction, programOf, sharedGroups } from './help-text.ts';
import { environmentVariables, helpTopics } from './help-topics.ts';

const MIN_COLUMNS = 40;
const MAX_COLUMNS = 100;

type HelpContext = Pick<Context, 'runtime' | 'stdout' | 'noInput'>;

export const runHelp: RunCommand<HelpOptions> = async ({ args, options }, context) => {
  const { runtime, stdout } = context;
  if (options.skill) {
    if (args.length > 0) throw usageFailure('--skill covers all commands and takes no topic', 'run: svc help --skill');
    // From dist/, where the bundle is.
    return stdout.write(await readFile(new URL('../skills/svc/SKILL.md', import.meta.url)));
  }
  const [name = ''] = args;
  const topic = args.length === 1 ? helpTopicNames.find((one) => one === name) : undefined;
  const commands = commandsIn(args);
  if (commands.length === 0 && !topic) throw unknownTopic(args);
  if (options.json || requestedFilter(options)) {
    if (commands.length === 0)
      throw usageFailure(`the topic ${name} is not available as JSON`, `run: svc help ${name}`);
    return printJson(commands, options, context);
  }
  if (topic) return showPage(renderHelp(helpTopics[topic](), helpColumns(runtime, stdout)), context);
  return showHelp({ words: args, isFull: true }, context);
};

/** Prints the help that a command line requested; long help on a terminal through `PAGER`, if that is set. */
export async function showHelp(request: HelpRequest, context: HelpContext): Promise<void> {
  const { runtime, stdout } = context;
  const text = helpText(request, helpColumns(runtime, stdout), runtime.docs);
  if (request.isFull) return showPage(text, context);
  await writeStyled(text, stdout);
}

async function printJson(commands: readonly Command[], options: HelpOptions, context: Context): Promise<void> {
  const { write, isTerminal } = context.stdout;
  const json = `${JSON.stringify(helpAsJson(commands), null, 2)}\n`;
  if (!requestedFilter(options)) return write(json, isTerminal ? 'json' : undefined);
  const { openResultFilter, printFiltered } = await import('../../results/print-result.ts');
  const filter = await openResultFilter(options, context);
  if (filter) await printFiltered(json, filter, write);
}

async function showPage(text: string, { runtime: { env, cwd }, stdout, noInput }: HelpContext): Promise<void> {
  if (stdout.isTerminal && !noInput && env.PAGER && (await pageText(text, env.PAGER, { env, cwd }))) return;
  await writeStyled(text, stdout);
}

// In the user's pager, until it ends; false when the pager cannot start or fails.
async function pageText(text: string, pager: string, { env, cwd }: Pick<Runtime, 'env' | 'cwd'>): Promise<boolean> {
  const child = spawn(pager, { cwd, env: { LESS: 'FRX', ...env }, shell: true, stdio: ['pipe', 'inherit', 'inherit'] });
  child.stdin.on('error', () => {}).end(text);
  return new Promise((resolve) => {
    child.once('error', () => resolve(false)).once('close', (code) => resolve(code === 0));
  });
}

// The width of the terminal, else COLUMNS, else 80.
function helpColumns({ env }: Runtime, stdout: Writer): number {
  const columns = stdout.isTerminal ? stdout.columns : Number(env.COLUMNS) || stdout.columns;
  return Math.min(Math.max(columns, MIN_COLUMNS), MAX_COLUMNS);
}

// Headings and flags stand out on a terminal with color.
async function writeStyled(text: string, stdout: Writer): Promise<void> {
  for (const line of text.split(/(?<=\n)/)) {
    const [, indent = '', flag = '', rest = ''] = /^( {2})(-\S.*?)( {2,}.*|\n)$/s.exec(line) ?? [];
    if (flag !== '') {
      await stdout.write(indent);
      await stdout.write(flag, 'cyan');
      await stdout.write(rest);
    } else await stdout.write(line, /^[A-Z][\w, ]*:\n$/.test(line) ? 'bold' : undefined);
  }
}

function unknownTopic(args: readonly string[]): Error {
  const name = args.join(' ');
  const names = [...helpTopicNames, ...Object.keys(commandGroups), ...allCommands.map((command) => command.name)];
  // In a group, its commands like the last word, else all of them.
  const group = args.length > 1 ? commandsIn(args.slice(0, -1)).map((command) => command.name) : [];
  const close = group.filter((one) => closestMatch(args.at(-1) ?? '', one.split(' ').slice(-1)));
  // `svc help env`, and of a flag the topic or command that describes it.
  const begun = names.find((one) => name.length > 1 && one.startsWith(name.replace(/(?<=...)y$/, 'ie')));
  const suggestion =
    group.length > 0
      ? joinWithOr(close.length > 0 ? close : group)
      : (begun ?? closestMatch(name, names) ?? describedIn(name.replace(/^--?/, '')));
  return usageFailure(
    `no help on ${JSON.stringify(name)}`,
    suggestion ? `did you mean: svc help ${suggestion}` : `run svc --help; the topics are ${helpTopicNames.join(', ')}`,
  );
}

function describedIn(name: string): string | undefined {
  const owners = allCommands.flatMap((one) =>
    one.listedFlags.flatMap((flag) => (flag.name === name ? [{ one, flag }] : [])),
  );
  const [first] = owners;
  return first && (sharedGroups.get(first.flag.group) ?? first.one.name);
}

// For programs and agents. JSON leaves out what is undefined.
function helpAsJson(commands: readonly Command[]) {
  return {
    schema_version: 1,
    name: 'svc',
    version,
    summary: introduction,
    commands: commands.map(commandAsJson),
    exit_codes: exitCodesAsJson(exitCodes),
    environment: environmentVariables.map(([name, summary]) => ({ name, summary })),
  };
}

function commandAsJson(command: Command) {
  const { words, name, summary, about, argument, listedFlags, examples, operation } = command;
  const program = programOf(words);
  return {
    command: `svc ${name}`,
    summary,
    description: about,
    usage: program.createHelp().commandUsage(program),
    request: operation && `POST ${operation.path}`,
    argument: argument && {
      name: argument.name,
      summary: argument.summary,
      required: argument.isRequired === true,
      repeatable: argument.isRepeatable === true,
      choices: argument.choices,
    },
    flags: listedFlags.map(flagAsJson),
    examples: examples.map((example) => ({ summary: example.why, command: exampleLine(example) })),
    exit_codes: runsChild(command) ? exitCodesAsJson(childExitCodes) : undefined,
  };
}

function flagAsJson(flag: Flag) {
  const { short, takes, value, summary, group, choices, conflicts, or } = flag;
  const [form, negation] = flagForms(flag);
  return {
    flag: form,
    short: short && `-${short}`,
    negation,
    type: valueType(flag),
    value,
    // It is given only after `=`.
    value_optional: takes === 'optional' ? true : undefined,
    repeatable: takes === 'values' ? true : undefined,
    required: group === 'Required' && !or ? true : undefined,
    or,
    choices,
    default: flag.default,
    conflicts: conflicts?.map((other) => `--${other}`),
    summary,
  };
}

function valueType({ takes, value = '' }: Flag): string {
  if (takes === 'switch' || takes === 'boolean' || takes === 'off') return 'boolean';
  const types = new Map(Object.entries({ '<n>': 'integer', '<x>': 'number', '<json>': 'json', '<file>': 'file' }));
  return types.get(value) ?? 'string';
}

function exitCodesAsJson(codes: typeof exitCodes | typeof childExitCodes) {
  return Object.values(codes).map(({ code, meaning, retry }) => ({ code, meaning, run_again: retry }));
}
