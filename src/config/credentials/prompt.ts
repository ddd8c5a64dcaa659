import type { Context } from '../../context.ts';
import { Failure, InterruptedError, usageFailure } from '../../errors.ts';
import type { InputStream, Runtime } from '../../runtime.ts';

type PromptContext = Pick<Context, 'runtime' | 'noInput'>;

export async function promptLine(context: PromptContext, question: string, flag: string): Promise<string> {
  const obstacle = promptObstacle(context);
  if (obstacle) throw usageFailure(`cannot prompt ${obstacle}: ${question.replace(/:? $/, '')}`, `add ${flag}`);
  return readFromTerminal(context.runtime, question, false);
}

/** True with `--yes`, or if the user agrees. Throws as promptLine. */
export async function confirm(context: PromptContext, question: string, isConfirmed = false): Promise<boolean> {
  if (isConfirmed) return true;
  return /^y(es)?$/i.test((await promptLine(context, `${question} [y/N] `, '--yes')).trim());
}

/** Asks for a secret, hidden while it is typed. Throws Failure `credentials` where svc may not prompt. */
export async function promptSecret(context: PromptContext, question: string, hint: string): Promise<string> {
  const obstacle = promptObstacle(context);
  const message = `cannot prompt ${obstacle}: ${question.replace(/:? $/, '')}`;
  if (obstacle) throw new Failure('credentials', message, { hint });
  return readFromTerminal(context.runtime, question, true);
}

/** Why svc cannot prompt, as the end of a sentence; undefined if it can. */
export function promptObstacle({ runtime: { stdin, stderr }, noInput }: PromptContext): string | undefined {
  return noInput ?? (stdin.isTTY && stderr.isTTY ? undefined : 'without a terminal');
}

async function readFromTerminal({ stdin, stderr, after }: Runtime, prompt: string, isHidden: boolean): Promise<string> {
  const { read } = await import('read');
  const closed = awaitClosedTerminal(stdin);
  // The library waits forever when the user ends the input (Ctrl-D); then stdin pauses without a line.
  const inputEnd = new Promise<never>((_, reject) => {
    stdin.once('pause', () => after(0, () => reject(new InterruptedError('SIGINT'))));
  });
  const line = read({ prompt, silent: isHidden, input: stdin, output: stderr }).catch(() => {
    throw new InterruptedError('SIGINT');
  });
  // The line break that ends the input shows up only if the input does.
  let isLineBroken = false;
  try {
    const text = await Promise.race([closed, line, inputEnd]);
    isLineBroken = !isHidden;
    return text;
  } finally {
    inputEnd.catch(() => {});
    line.catch(() => {});
    if (!isLineBroken) stderr.write('\n');
  }
}

/** Rejects with SIGHUP when the terminal on stdin is closed, even without the signal; in raw mode nothing else ends it. */
export function awaitClosedTerminal(stdin: InputStream): Promise<never> {
  const closed = new Promise<never>((_, reject) => {
    const onClosed = (): void => {
      // Readline sets the modes of a terminal whenever it closes its input, and does so again after each error of that.
      Object.assign(stdin, { setRawMode: () => stdin });
      reject(new InterruptedError('SIGHUP'));
    };
    stdin.prependListener('end', onClosed).prependListener('error', onClosed);
  });
  closed.catch(() => {});
  return closed;
}
