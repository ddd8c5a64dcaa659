import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure, usageFailure } from '../errors.ts';
import { withFileFailure } from '../files/file-errors.ts';
import type { CheckpointPath } from './compact-checkpoint.ts';

/**
 * The outputs of batches that a command reads, each once even if it is named twice. Throws usage for stdin and Failure
 * `local` for another one that is not a regular file: results are read twice, and a pipe only once.
 */
export async function resolveBatchOutputs(displayPaths: readonly string[], cwd: string): Promise<CheckpointPath[]> {
  const outputs = new Map<string, CheckpointPath>();
  for (const displayPath of displayPaths) {
    if (displayPath === '-')
      throw usageFailure('stdin cannot be the output of a batch', 'save that output to a file, and name the file');
    const path = resolve(cwd, displayPath);
    const found = await withFileFailure(`read ${displayPath}`, () => stat(path));
    if (!found.isFile())
      throw new Failure('local', `cannot read ${displayPath}: it is not a regular file`, {
        hint: 'save the output of the batch to a file first',
      });
    const file = `${found.dev}:${found.ino}`;
    if (!outputs.has(file)) outputs.set(file, { path, displayPath });
  }
  return [...outputs.values()];
}
