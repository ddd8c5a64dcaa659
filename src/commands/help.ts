import { allCommands } from '../cli/all-commands.ts';
import { helpTopics } from '../cli/docs/help-topics.ts';
import { commandHelpText } from '../cli/parse-command-line.ts';
import type { RunCommand } from '../command.ts';
import { usageFailure } from '../errors.ts';

/** Shows the help of a command, of a group of them, or of a topic. */
export const runHelp: RunCommand = async ({ args }, { stdout }) => {
  const [first = ''] = args;
  const topic = args.length === 1 && Object.hasOwn(helpTopics, first) ? helpTopics[first] : undefined;
  const isKnown = topic !== undefined || allCommands.some(({ words }) => args.every((word, at) => words[at] === word));
  if (!isKnown) {
    const others = Object.keys(helpTopics).join(' and ');
    throw usageFailure(
      `there is no help on ${JSON.stringify(args.join(' '))}`,
      `svc help lists the commands; other topics are ${others}`,
    );
  }
  const text = topic ? topic() : commandHelpText(args, Math.min(stdout.columns, 100));
  await stdout.write(text);
  await stdout.end();
};
