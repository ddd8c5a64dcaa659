import { Buffer } from 'node:buffer';
import type { Stats } from 'node:fs';
import { lstat, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Failure, usageFailure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { fileFailure } from '../files/file-errors.ts';
import { JsonError } from '../json/json-error.ts';
import { parseJson } from '../json/parse-json.ts';
import { decodeUtf8, positionAt } from '../json/utf8.ts';
import { isRecord } from '../json/write-json.ts';
import { formatPlace } from '../output/failure-text.ts';
import type { Reporter } from '../output/reporter.ts';
import { shellWord } from '../output/shell-quote.ts';
import type { Runtime } from '../runtime.ts';
import { environmentSetting, settings } from './settings.ts';

export interface ProjectSettings {
  readonly path: string;
  readonly values: ReadonlyMap<string, string>;
}

const PROJECT_FILE_NAME = '.svc.json';
const MAX_PROJECT_FILE_BYTES = 64 * 1024;
const OTHERS_MAY_WRITE = 0o002;
const ROOT_USER_ID = 0;

/** The nearest trusted `.svc.json`. It sets only project and model, so that a cloned repository cannot choose where secrets go. */
export async function readProjectFile(
  runtime: Pick<Runtime, 'env' | 'cwd' | 'userId'>,
  warn: Reporter['warn'],
): Promise<ProjectSettings | undefined> {
  if (environmentSetting('no_project_file', runtime.env)) return undefined;
  for (let directory = runtime.cwd; ; directory = dirname(directory)) {
    const path = join(directory, PROJECT_FILE_NAME);
    const link = await lstat(path).catch(() => undefined);
    const reason = link && (await distrustReason(path, link, runtime));
    if (reason !== undefined) await warn(`${path} is ignored: ${reason}`);
    else if (link) return { path, values: await readValues(path) };
    if (dirname(directory) === directory) return undefined;
  }
}

// Another user could choose where data goes, from a directory such as /tmp or above the working directory.
async function distrustReason(
  path: string,
  link: Stats,
  { cwd, userId }: Pick<Runtime, 'cwd' | 'userId'>,
): Promise<string | undefined> {
  if (userId === undefined) return undefined;
  const directory = dirname(path);
  // Reading a link without a target reports it.
  const target = await stat(path).catch(() => link);
  const found = [[path, target] as const, [directory, await stat(directory)] as const];
  const [writable] = found.find(([, stats]) => !stats.isSymbolicLink() && (stats.mode & OTHERS_MAY_WRITE) !== 0) ?? [];
  if (writable) return `everybody may write ${writable}; run: chmod o-w ${shellWord(writable)}`;
  const owners = [userId, ROOT_USER_ID, (await stat(cwd)).uid];
  const stranger = [link, target].find(({ uid }) => !owners.includes(uid));
  if (directory === cwd || !stranger) return undefined;
  return `it belongs to another user (id ${stranger.uid}); copy it to ${cwd} if you trust it`;
}

async function readValues(path: string): Promise<ReadonlyMap<string, string>> {
  const text = await readProjectText(path);
  try {
    parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const at = formatPlace({ label: path, ...positionAt(Buffer.from(text), error.offset) });
    throw projectFailure(`${at} is not valid JSON: ${error.message}`);
  }
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) throw projectFailure(`${path} is not a JSON object`);
  return new Map(
    Object.entries(value).map(([key, setting]) => {
      if (!projectKeys.includes(key)) throw projectFailure(`${path} cannot set ${JSON.stringify(key)}`);
      if (typeof setting !== 'string') throw projectFailure(`${key} in ${path} must be a string`);
      return [key, setting] as const;
    }),
  );
}

const projectKeys: readonly string[] = settings.flatMap((setting) => ('isProject' in setting ? [setting.name] : []));
const HINT = 'fix the file, or set SVC_NO_PROJECT_FILE=1 to ignore it';

function projectFailure(message: string): Failure {
  return usageFailure(message, `only ${projectKeys.join(' and ')} are allowed, as strings; ${HINT}`);
}

async function readProjectText(path: string): Promise<string> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) throw new Error('it is not a regular file');
    if (stats.size > MAX_PROJECT_FILE_BYTES)
      throw new Error(`it is larger than ${formatByteSize(MAX_PROJECT_FILE_BYTES)}`);
    return decodeUtf8(await readFile(path)).toString();
  } catch (error) {
    throw fileFailure('read', path, error, { hint: HINT, applied: 'no' });
  }
}
