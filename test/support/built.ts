import { cleanEnv, type Finished, type ProcessSetting } from './process.ts';
import { runHere, temporaryDirectory } from './svc.ts';

const [{ main }, { complete }] = await Promise.all(
  ['main', 'complete'].map((name) => import(new URL(`../../dist/${name}.js`, import.meta.url).href)),
);

/**
 * Runs the built program to its end in this process, with the result of `run`, in a tenth of its time. For tests of what is
 * sent, printed and stored; those of descriptors, signals, children, terminals and locks start a process.
 */
export async function runBuilt(
  args: readonly string[],
  { stdin = '', env = {}, cwd = temporaryDirectory() }: ProcessSetting = {},
): Promise<Finished> {
  const { code, stdout, stderr } = await runHere({ main, complete }, args, { stdin, env: cleanEnv(cwd, env), cwd });
  return { code, signal: null, stdout, stderr };
}
