import type { Stats } from 'node:fs';
import { access, constants, readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileReason, isMissing } from '../../files/reason.ts';
import { configFolder, dataFolder } from '../../profiles/folders.ts';
import { storeFile } from '../../profiles/read.ts';
import type { Chosen } from '../../profiles/resolve.ts';
import { authorityFiles } from '../../profiles/way.ts';
import type { Runtime } from '../../runtime.ts';
import { dataFile } from '../../service/open.ts';
import type { FileState, Question } from './examination.ts';
import type { Finding } from './finding.ts';

/** The files and folders svc uses. What others may read, what is left over and what cannot be used become findings. */
export async function filesOf(
  { files }: Question,
  { isLocal, profile }: Chosen,
  runtime: Runtime,
  findings: Finding[],
): Promise<FileState[]> {
  const [config, data] = [configFolder(runtime), dataFolder(runtime)];
  const store = storeFile(config);
  const named = [
    ...authorityFiles(files.cacert, profile, runtime.env),
    ...(files.cert ? [{ source: '--cert', path: files.cert }] : []),
    ...(files.key ? [{ source: '--key', path: files.key }] : []),
  ];
  const paths: readonly (readonly [what: string, path: string])[] = [
    ['profiles', store],
    ['folder of profiles', config],
    ['data', dataFile(data)],
    ['folder of data', data],
    ...named.map(({ source, path }) => [source, resolve(runtime.cwd, path)] as const),
  ];
  const states = await Promise.all(paths.map(async ([what, path]) => ({ what, path, stats: await statsOf(path) })));
  if (runtime.platform !== 'win32') findings.push(...openness(states[0]?.stats, store, states[1]?.stats, config));
  findings.push(...(await leftovers(config)));
  if (isLocal) findings.push(...(await unusable(data)));
  return states.map(({ what, path, stats }) => ({
    what,
    path,
    exists: stats !== undefined,
    mode: stats ? modeOf(stats) : null,
  }));
}

async function statsOf(path: string): Promise<Stats | undefined> {
  // What keeps a file from being looked at is told by whatever reads it.
  return stat(path).catch(() => undefined);
}

function modeOf({ mode }: Stats): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

function openness(store: Stats | undefined, path: string, folder: Stats | undefined, folderPath: string): Finding[] {
  if (!store) return [];
  const isRead = (store.mode & 0o077) !== 0;
  const isEntered = folder !== undefined && (folder.mode & 0o077) !== 0;
  return [
    ...(isRead
      ? [
          {
            message: `others may use the profiles in ${path} (${modeOf(store)})`,
            hint: `chmod 600 ${path}`,
            code: 'guard' as const,
          },
        ]
      : []),
    ...(isEntered
      ? [{ message: `others may look into ${folderPath} (${modeOf(folder)})`, hint: `chmod 700 ${folderPath}` }]
      : []),
  ];
}

// Locks, and what saves that were killed leave beside the store.
async function leftovers(config: string): Promise<Finding[]> {
  const names = await readdir(config).catch(() => []);
  const left = names.filter((name) => name.startsWith('config.json.'));
  return left.map((name) => ({
    message: `${join(config, name)} is there, because another svc is saving now or was ended as it did`,
    hint: 'if none is running, remove it',
  }));
}

async function unusable(data: string): Promise<Finding[]> {
  try {
    await usable(data);
    return [];
  } catch (error) {
    return [{ message: `the data folder ${data} cannot be used: ${fileReason(error)}`, code: 'local' }];
  }
}

// A folder that is not there yet can be made where the nearest one above can be written to.
async function usable(folder: string): Promise<void> {
  try {
    await access(join(folder, '.'), constants.W_OK | constants.X_OK);
  } catch (error) {
    if (!isMissing(error) || dirname(folder) === folder || (await statsOf(folder))) throw error;
    await usable(dirname(folder));
  }
}
