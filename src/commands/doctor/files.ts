import { access, constants, readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promptHistoryFile, requestHistoryFile } from '../../client/request-history.ts';
import { caCertificateFiles } from '../../config/connect-options.ts';
import { configDirectory, dataDirectory } from '../../config/environment.ts';
import { profileStorePath } from '../../config/profile-store.ts';
import { describeFileError, isNotFoundError } from '../../files/file-errors.ts';
import { formatMode } from '../../files/trusted-file.ts';
import { databaseFileIn } from '../../local-service/open-local-service.ts';
import { spoolDirectory } from '../../trace/spool.ts';
import { jobHistoryFile } from '../../train/job-history.ts';
import type { Examination } from './examination.ts';

/** The files and directories svc uses, with modes as in `chmod`, and the sizes of files and of the spool. */
export async function inspectFiles({ options, selected, context: { runtime }, findings }: Examination) {
  const [config, data] = [configDirectory(runtime), dataDirectory(runtime)];
  const { cacert, cert, key } = options;
  const clientFiles = { cert, key };
  const paths: readonly (readonly [what: string, path: string])[] = [
    ['profiles', profileStorePath(runtime)],
    ['profiles directory', config],
    ['data', databaseFileIn(data)],
    ['data directory', data],
    ['request history', requestHistoryFile(runtime)],
    ['prompt history', promptHistoryFile(runtime)],
    ['job history', jobHistoryFile(data)],
    ['spool', spoolDirectory(data)],
    ...caCertificateFiles(cacert, selected.profile, runtime.env).map(
      ({ source, path }) => [source, resolve(runtime.cwd, path)] as const,
    ),
    ...Object.entries(clientFiles).flatMap(([flag, path]) =>
      path ? [[`--${flag}`, resolve(runtime.cwd, path)] as const] : [],
    ),
  ];
  const files = await Promise.all(
    paths.map(async ([what, path]) => {
      const stats = await statOrUndefined(path);
      const bytes = stats && (stats.isFile() || what === 'spool') ? await totalBytes(path) : null;
      return { what, path, exists: stats !== undefined, mode: stats ? formatMode(stats.mode) : null, bytes };
    }),
  );
  const [profiles, directory] = files;
  const isOpenToOthers = (mode: string): boolean => runtime.platform !== 'win32' && !mode.endsWith('00');
  if (profiles?.mode && isOpenToOthers(profiles.mode))
    findings.push({
      message: `other users can read the profiles in ${profiles.path} (${profiles.mode})`,
      hint: `chmod 600 ${profiles.path}`,
      code: 'safety_check',
    });
  if (profiles?.mode && directory?.mode && isOpenToOthers(directory.mode))
    findings.push({ message: `other users can list ${config} (${directory.mode})`, hint: `chmod 700 ${config}` });
  // Locks, and what saves that were killed leave beside the store.
  for (const name of await readdir(config).catch(() => []))
    if (name.startsWith('config.json.'))
      findings.push({
        message: `${join(config, name)} exists: another svc is saving now, or was killed while saving`,
        hint: 'if no svc is running, remove it',
      });
  if (selected.isLocal)
    await requireWritable(data).catch((error: unknown) => {
      const message = `the data directory ${data} cannot be used: ${describeFileError(error)}`;
      findings.push({ message, hint: 'set SVC_DATA_DIR to another directory', code: 'local_file' });
    });
  return files;
}

// Of a file with the write-ahead log of a database, or of the files in a directory.
async function totalBytes(path: string): Promise<number> {
  const names = await readdir(path).catch(() => undefined);
  const parts = names?.map((name) => join(path, name)) ?? [path, `${path}-wal`];
  const found = await Promise.all(parts.map(statOrUndefined));
  return found.reduce((sum, stats) => sum + (stats?.size ?? 0), 0);
}

async function statOrUndefined(path: string) {
  // The code that reads a file reports why it cannot be read.
  return stat(path).catch(() => undefined);
}

// A directory that does not exist yet can be created if the nearest one above it is writable.
async function requireWritable(directory: string): Promise<void> {
  try {
    await access(`${directory}/.`, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (!isNotFoundError(error) || dirname(directory) === directory || (await statOrUndefined(directory))) throw error;
    await requireWritable(dirname(directory));
  }
}
