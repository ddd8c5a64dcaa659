import type { Run } from '../cli/command.ts';
import { helpText } from '../cli/program.ts';
import { topics } from '../cli/topics.ts';
import { usage } from '../errors.ts';

/** Shows the help of a command, of a group of them, or of a topic. */
export const runHelp: Run = async ({ args }, { stdout }) => {
  const topic = args.length === 1 && Object.hasOwn(topics, args[0] ?? '') ? topics[args[0] ?? ''] : undefined;
  const text = topic ? topic() : helpText(args, Math.min(stdout.columns, 100));
  if (text === '')
    throw usage(
      `there is no help on ${JSON.stringify(args.join(' '))}`,
      `svc help lists the commands; other topics: ${Object.keys(topics).join(', ')}`,
    );
  await stdout.write(text);
  await stdout.end();
};
