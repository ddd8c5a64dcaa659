import { read } from 'read';
import { Failure, Interrupted, usage } from '../errors.ts';
import type { Runtime } from '../runtime.ts';

/** Asks for a line on the terminal. Throws usage without one: then `flag` must say it. */
export async function ask(runtime: Runtime, question: string, flag: string): Promise<string> {
  if (!hasTerminal(runtime)) throw usage(`there is no terminal to ask on: ${question.trim()}`, `give ${flag}`);
  return prompted(runtime, question, false);
}

/** Asks for a secret, which is not shown as it is typed. Throws Failure `credentials` without a terminal. */
export async function askSecret(runtime: Runtime, question: string, hint: string): Promise<string> {
  if (!hasTerminal(runtime))
    throw new Failure('credentials', `there is no terminal to ask on: ${question.trim()}`, { hint, applied: 'no' });
  return prompted(runtime, question, true);
}

function hasTerminal({ stdin, stderr }: Runtime): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

async function prompted({ stdin, stderr, after }: Runtime, prompt: string, silent: boolean): Promise<string> {
  // The library waits forever when the user ends the input (Ctrl-D); then stdin pauses without a line.
  const ended = new Promise<never>((_, reject) => {
    stdin.once('pause', () => after(0, () => reject(new Interrupted('SIGINT'))));
  });
  const answered = read({ prompt, silent, input: stdin, output: stderr }).catch(() => {
    throw new Interrupted('SIGINT');
  });
  try {
    return await Promise.race([answered, ended]);
  } finally {
    ended.catch(() => {});
    if (silent) stderr.write('\n');
  }
}
