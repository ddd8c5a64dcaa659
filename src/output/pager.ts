import { spawn } from 'node:child_process';
import type { Runtime } from '../runtime.ts';

/** Shows text in the user's pager until it ends; false when the pager cannot start or fails. */
export async function pageText(
  text: string,
  pager: string,
  { env, cwd }: Pick<Runtime, 'env' | 'cwd'>,
): Promise<boolean> {
  const child = spawn(pager, { cwd, env: { LESS: 'FRX', ...env }, shell: true, stdio: ['pipe', 'inherit', 'inherit'] });
  child.stdin.on('error', () => {}).end(text);
  return new Promise((resolve) => {
    child.once('error', () => resolve(false)).once('close', (code) => resolve(code === 0));
  });
}
