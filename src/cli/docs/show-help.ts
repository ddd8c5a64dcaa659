import type { Command, RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { closestMatch } from '../../fields/closest-match.ts';
import { joinWithOr } from '../../fields/join-with-or.ts';
import { type FlagValues, isFlagOn } from '../../flag.ts';
import { pageText } from '../../output/pager.ts';
import type { Writer } from '../../output/writer.ts';
import type { Runtime } from '../../runtime.ts';
import { allCommands, commandGroups, commandsIn } from '../all-commands.ts';
import type { HelpRequest } from '../parse-command-line.ts';
import { helpTopicNames } from '../tool-commands.ts';
import { helpAsJson, helpAsSkill } from './help-json.ts';
import { renderHelp } from './help-page.ts';
import { createHelp, helpText, programOf } from './help-text.ts';
import { helpTopics } from './help-topics.ts';

const MIN_COLUMNS = 40;
const MAX_COLUMNS = 100;

type HelpContext = Pick<Context, 'runtime' | 'stdout' | 'noInput'>;

/** Shows the help of a command, of a group of commands, or of a topic. */
export const runHelp: RunCommand = async ({ args, flags }, context) => {
  const { runtime, stdout } = context;
  if (isFlagOn(flags, 'skill')) return printSkill(args, stdout);
  const [name = ''] = args;
  const topic = args.length === 1 ? helpTopicNames.find((one) => one === name) : undefined;
  const commands = commandsIn(args);
  if (commands.length === 0 && !topic) throw unknownTopic(args);
  if (flags.has('json') || flags.has('jq')) {
    if (commands.length === 0)
      throw usageFailure(`the topic ${name} is not available as JSON`, `run: svc help ${name}`);
    return printJson(commands, flags, context);
  }
  if (topic)
    return showPage(renderHelp(helpTopics[topic](), createHelp(programOf([]), helpColumns(runtime, stdout))), context);
  return showHelp({ words: args, isFull: true }, context);
};

/** Prints the help that a command line requested; long help on a terminal through `PAGER`, if that is set. */
export async function showHelp(request: HelpRequest, context: HelpContext): Promise<void> {
  const { runtime, stdout } = context;
  const text = helpText(request, helpColumns(runtime, stdout));
  if (request.isFull) return showPage(text, context);
  await writeStyled(text, stdout);
}

async function printSkill(words: readonly string[], stdout: Writer): Promise<void> {
  if (words.length > 0) throw usageFailure('--skill covers all commands and takes no topic', 'run: svc help --skill');
  await printWhole(helpAsSkill(), stdout);
}

async function printJson(commands: readonly Command[], flags: FlagValues, context: Context): Promise<void> {
  const { stdout } = context;
  const json = `${JSON.stringify(helpAsJson(commands), null, 2)}\n`;
  if (!flags.has('jq')) return printWhole(json, stdout);
  const { openResultFilter, printFiltered } = await import('../../results/print-result.ts');
  const filter = await openResultFilter(flags, context);
  if (filter) await printFiltered(json, filter, stdout.write);
  await stdout.end();
}

async function printWhole(text: string, stdout: Writer): Promise<void> {
  await stdout.write(text, stdout.isTerminal && text.startsWith('{') ? 'json' : undefined);
  await stdout.end();
}

async function showPage(text: string, { runtime: { env, cwd }, stdout, noInput }: HelpContext): Promise<void> {
  if (stdout.isTerminal && !noInput && env.PAGER && (await pageText(text, env.PAGER, { env, cwd }))) return;
  await writeStyled(text, stdout);
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
    } else await stdout.write(line, /^[A-Z][\w ]*:\n$/.test(line) ? 'bold' : undefined);
  }
  await stdout.end();
}

function unknownTopic(args: readonly string[]): Error {
  const name = args.join(' ');
  const suggestion = suggestTopic(args);
  return usageFailure(
    `no help on ${JSON.stringify(name)}`,
    suggestion ? `did you mean: svc help ${suggestion}` : `run svc --help; the topics are ${helpTopicNames.join(', ')}`,
  );
}

// In a group, its commands like the last word, else all of them.
function suggestTopic(args: readonly string[]): string | undefined {
  const group = args.length > 1 ? commandsIn(args.slice(0, -1)).map((command) => command.name) : [];
  if (group.length === 0)
    return closestMatch(args.join(' '), [
      ...helpTopicNames,
      ...Object.keys(commandGroups),
      ...allCommands.map((command) => command.name),
    ]);
  const [last = ''] = args.slice(-1);
  const close = group.filter((name) => closestMatch(last, name.split(' ').slice(-1)) !== undefined);
  return joinWithOr(close.length > 0 ? close : group);
}
