import { readFile } from 'node:fs/promises';
import type { RunCommand } from '../command.ts';

export const runCompletion: RunCommand = async ({ args: [shell] }, { stdout }) => {
  const name = shell === 'zsh' ? '_svc' : `svc.${shell}`;
  // From dist/, where the bundle is.
  await stdout.write(await readFile(new URL(`../completions/${name}`, import.meta.url)));
};
