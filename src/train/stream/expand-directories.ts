import { Buffer } from 'node:buffer';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Failure } from '../../errors.ts';
import { fileFailure } from '../../files/file-errors.ts';

/** Replaces each directory with its `*.json`, `*.jsonl` and `*.gz` files in bytewise order. Throws Failure `local`. */
export async function expandDirectories(paths: readonly string[], cwd: string): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const isDirectory = path !== '-' && (await stat(resolve(cwd, path)).catch(() => undefined))?.isDirectory() === true;
    files.push(...(isDirectory ? await listDataFiles(path, cwd) : [path]));
  }
  return files;
}

async function listDataFiles(path: string, cwd: string): Promise<string[]> {
  const entries = await readdir(resolve(cwd, path), { withFileTypes: true }).catch((error: unknown) => {
    throw fileFailure(`read ${path}`, error);
  });
  const names = entries
    .filter((one) => !one.isDirectory() && /\.(json|jsonl|gz)$/.test(one.name))
    .map(({ name }) => name);
  if (names.length === 0)
    throw new Failure('local', `there is nothing to send in ${path}`, {
      hint: 'svc sends the *.json, *.jsonl and *.gz files of a directory',
    });
  return names
    .sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
    .map((name) => join(path, name));
}
