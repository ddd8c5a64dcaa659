import { read } from 'read';
import { Failure, InterruptedError, usageFailure } from '../../errors.ts';
import { awaitClosedTerminal } from '../../output/closed-terminal.ts';
import type { Runtime } from '../../runtime.ts';

/** Asks for a line on the terminal. Throws usage, which suggests `flag`, without a terminal. */
export async function promptLine(runtime: Runtime, question: string, flag: string): Promise<string> {
  if (!hasTerminal(runtime))
    throw usageFailure(`cannot prompt without a terminal: ${question.replace(/:? $/, '')}`, `add ${flag}`);
  return readFromTerminal(runtime, question, false);
}

/** Asks for a secret, hidden while it is typed. Throws Failure `credentials` without a terminal. */
export async function promptSecret(runtime: Runtime, question: string, hint: string): Promise<string> {
  if (!hasTerminal(runtime))
    throw new Failure('credentials', `cannot prompt without a terminal: ${question.replace(/:? $/, '')}`, {
      hint,
      applied: 'no',
    });
  return readFromTerminal(runtime, question, true);
}

function hasTerminal({ stdin, stderr }: Runtime): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

async function readFromTerminal({ stdin, stderr, after }: Runtime, prompt: string, isHidden: boolean): Promise<string> {
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
