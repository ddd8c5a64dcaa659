import type { Run } from '../cli/command.ts';
import { commands } from '../cli/commands.ts';
import { helpText } from '../cli/program.ts';
import { topics } from '../cli/topics.ts';
import { usage } from '../errors.ts';

/** Shows the help of a command, of a group of them, or of a topic. */
export const runHelp: Run = async ({ args }, { stdout }) => {
  const [first = ''] = args;
  const topic = args.length === 1 && Object.hasOwn(topics, first) ? topics[first] : undefined;
  const isKnown = topic !== undefined || commands.some(({ words }) => args.every((word, at) => words[at] === word));
  if (!isKnown) {
    const others = Object.keys(topics).join(' and ');
    throw usage(
      `there is no help on ${JSON.stringify(args.join(' '))}`,
      `svc help lists the commands; other topics are ${others}`,
    );
  }
  const text = topic ? topic() : helpText(args, Math.min(stdout.columns, 100));
  await stdout.write(text);
  await stdout.end();
};
