import type { Stats } from 'node:fs';
import { access, constants, readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promptHistoryFile, requestHistoryFile } from '../../client/history/request-history.ts';
import { caCertificateFiles } from '../../config/connect-options.ts';
import { configDirectory, dataDirectory } from '../../config/directories.ts';
import { profileStorePath } from '../../config/profile-store.ts';
import { describeFileError, isNotFoundError } from '../../files/file-errors.ts';
import { formatMode } from '../../files/trusted-file.ts';
import { databaseFileIn } from '../../local-service/open-local-service.ts';
import { spoolDirectory } from '../../trace/spool.ts';
import { jobHistoryFile } from '../../train/job-history.ts';
import type { DoctorFinding, Examination, FileState } from './doctor-report.ts';

/** The files and directories svc uses. What others may read, what is left over and what cannot be used become findings. */
export async function inspectFiles({
  certificateFiles,
  selected: { isLocal, profile },
  context: { runtime },
  findings,
}: Examination): Promise<FileState[]> {
  const [config, data] = [configDirectory(runtime), dataDirectory(runtime)];
  const profilesFile = profileStorePath(runtime);
  const certificatePaths = [
    ...caCertificateFiles(certificateFiles.cacert, profile, runtime.env),
    ...(certificateFiles.cert ? [{ source: '--cert', path: certificateFiles.cert }] : []),
    ...(certificateFiles.key ? [{ source: '--key', path: certificateFiles.key }] : []),
  ];
  const paths: readonly (readonly [what: string, path: string])[] = [
    ['profiles', profilesFile],
    ['profiles directory', config],
    ['data', databaseFileIn(data)],
    ['data directory', data],
    ['request history', requestHistoryFile(runtime)],
    ['prompt history', promptHistoryFile(runtime)],
    ['job history', jobHistoryFile(data)],
    ['spool', spoolDirectory(data)],
    ...certificatePaths.map(({ source, path }) => [source, resolve(runtime.cwd, path)] as const),
  ];
  const states = await Promise.all(
    paths.map(async ([what, path]) => ({ what, path, stats: await statOrUndefined(path) })),
  );
  if (runtime.platform !== 'win32')
    findings.push(...permissionFindings(profilesFile, states[0]?.stats, config, states[1]?.stats));
  findings.push(...(await staleFileFindings(config)));
  if (isLocal) findings.push(...(await dataDirectoryFindings(data)));
  return Promise.all(
    states.map(async ({ what, path, stats }) => ({
      what,
      path,
      exists: stats !== undefined,
      mode: stats ? formatMode(stats.mode) : null,
      bytes: stats && (stats.isFile() || what === 'spool') ? await totalBytes(path) : null,
    })),
  );
}

// Of a file with the write-ahead log of a database, or of the files in a directory.
async function totalBytes(path: string): Promise<number> {
  const names = await readdir(path).catch(() => undefined);
  const parts = names?.map((name) => join(path, name)) ?? [path, `${path}-wal`];
  const found = await Promise.all(parts.map(statOrUndefined));
  return found.reduce((sum, stats) => sum + (stats?.size ?? 0), 0);
}

async function statOrUndefined(path: string): Promise<Stats | undefined> {
  // The code that reads a file reports why it cannot be read.
  return stat(path).catch(() => undefined);
}

function permissionFindings(
  path: string,
  file: Stats | undefined,
  directory: string,
  parent: Stats | undefined,
): DoctorFinding[] {
  const findings: DoctorFinding[] = [];
  const isOpenToOthers = ({ mode }: Stats): boolean => (mode & 0o077) !== 0;
  if (file && isOpenToOthers(file)) {
    const message = `other users can read the profiles in ${path} (${formatMode(file.mode)})`;
    findings.push({ message, hint: `chmod 600 ${path}`, code: 'safety_check' });
  }
  if (file && parent && isOpenToOthers(parent))
    findings.push({
      message: `other users can list ${directory} (${formatMode(parent.mode)})`,
      hint: `chmod 700 ${directory}`,
    });
  return findings;
}

// Locks, and what saves that were killed leave beside the store.
async function staleFileFindings(config: string): Promise<DoctorFinding[]> {
  const names = await readdir(config).catch(() => []);
  const staleNames = names.filter((name) => name.startsWith('config.json.'));
  return staleNames.map((name) => ({
    message: `${join(config, name)} exists: another svc is saving now, or was killed while saving`,
    hint: 'if no svc is running, remove it',
  }));
}

async function dataDirectoryFindings(data: string): Promise<DoctorFinding[]> {
  try {
    await ensureWritable(data);
    return [];
  } catch (error) {
    const message = `the data directory ${data} cannot be used: ${describeFileError(error)}`;
    return [{ message, hint: 'set SVC_DATA_DIR to another directory', code: 'local_file' }];
  }
}

// A directory that does not exist yet can be created if the nearest one above it is writable.
async function ensureWritable(directory: string): Promise<void> {
  try {
    await access(`${directory}/.`, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (!isNotFoundError(error) || dirname(directory) === directory || (await statOrUndefined(directory))) throw error;
    await ensureWritable(dirname(directory));
  }
}
