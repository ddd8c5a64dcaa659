import { Buffer } from 'node:buffer';
import { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure, toFailure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { isNotFoundError, withFileFailure } from '../files/file-errors.ts';
import { commitOrAbandon, makeDirectory, renameDurably } from '../files/file-replacement.ts';
import { currentOwner, isOwnerRunning, type OwnerRuntime } from '../files/process-owner.ts';
import { firstStringMember } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { writeJson } from '../json/write-json.ts';
import { shellWord } from '../output/shell-quote.ts';
import type { Runtime } from '../runtime.ts';

/** A call on disk that has not been confirmed; the process that sends it removes the file. */
export interface SpooledCall {
  readonly file: string;
  /** The trace base URL that it was recorded for, or `local`. */
  readonly baseUrl: string;
  readonly body: string;
}

const MAX_SPOOLED_CALLS = 10_000;
const MAX_SPOOL_BYTES = 100 * 1024 * 1024;

// A file that is older is of a process that ended, also where that process cannot be looked up.
const MAX_WRITE_MS = 60_000;

export function spoolDirectory(dataDirectory: string): string {
  return join(dataDirectory, 'spool');
}

interface ServiceChoice {
  readonly profile: string | undefined;
  readonly baseUrl: string | undefined;
  readonly local: true | undefined;
}

/** The command that sends the spooled calls of a service. */
export function flushCommand({ profile, baseUrl, local }: ServiceChoice): string {
  const words = Object.entries({ profile, 'base-url': baseUrl }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, shellWord(value)],
  );
  return ['svc call flush', ...(local ? ['--local'] : []), ...words].join(' ');
}

/** Writes a call to the spool (0600, without credentials), durably. Throws Failure `local_file`, also if it is full. */
export function spoolCall(directory: string, id: string, call: Omit<SpooledCall, 'file'>, runtime: OwnerRuntime) {
  const { baseUrl, body } = call;
  return withFileFailure(
    'spool the call in',
    directory,
    async () => {
      await makeDirectory(directory, 0o700);
      await requireRoom(directory, body.length);
      const file = join(directory, `${id}.json`);
      const { pid, start, scope } = currentOwner(runtime);
      const owner = scope === undefined ? pid : `${pid}.${start}.${scope}`;
      const temporary = join(directory, `.${id}.json.${owner}.tmp`);
      const text = `${writeJson({ target: baseUrl })}\n${body}`;
      await commitOrAbandon(
        { commit: () => renameDurably(temporary, file), abandon: () => rm(temporary, { force: true }) },
        async () => {
          await writeFile(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
          // Whatever the umask; a file system without modes rejects it.
          await chmod(temporary, 0o600).catch(() => {});
        },
      );
      return file;
    },
    { hint: 'set SVC_DATA_DIR to a directory you can write to', applied: 'no' },
  );
}

/** The spooled calls, oldest name first; a file that is not one is skipped. */
export async function readSpool(directory: string): Promise<SpooledCall[]> {
  const calls: SpooledCall[] = [];
  for (const file of await spoolFiles(directory)) {
    const text = await readFile(file, 'utf8').catch(() => '');
    const [head = '', body = ''] = text.split('\n', 2);
    const baseUrl = firstStringMember(tryParseJson(Buffer.from(head)), 'target');
    if (body !== '' && baseUrl !== undefined) calls.push({ file, baseUrl, body });
  }
  return calls;
}

export function removeSpooledCall(file: string): Promise<void> {
  const hint = 'make its directory writable: a call that is sent twice is stored once';
  return withFileFailure('remove', file, () => rm(file, { force: true }), { hint, applied: 'yes' });
}

/** Removes what killed processes left half written, and counts it. Their commands, which start after that, never ran. */
export async function removeIncompleteCalls(directory: string, runtime: Runtime): Promise<number> {
  let removed = 0;
  for (const name of await readdir(directory).catch(() => [])) {
    const [, pid, start, scope] = /^\..+\.json\.(\d+)(?:\.(\w+)\.([^.]+))?\.tmp$/.exec(name) ?? [];
    if (pid === undefined) continue;
    const file = join(directory, name);
    const { mtimeMs = 0 } = (await stat(file).catch(() => undefined)) ?? {};
    const isRunning = isOwnerRunning({ pid: Number(pid), host: runtime.host, start, scope }, runtime);
    const isWritten = isRunning !== false && runtime.now() - mtimeMs < MAX_WRITE_MS;
    const isRemoved = !isWritten && (await rm(file).catch(toFailure)) === undefined;
    if (isRemoved) removed += 1;
  }
  return removed;
}

function spoolFiles(directory: string): Promise<string[]> {
  return withFileFailure('read', directory, async () => {
    const entries = await readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
      if (isNotFoundError(error)) return [];
      throw error;
    });
    const calls = entries.filter((entry) => entry.isFile() && /^[^.].*\.json$/.test(entry.name));
    return calls.map(({ name }) => join(directory, name)).sort();
  });
}

async function requireRoom(directory: string, bytes: number): Promise<void> {
  const files = await spoolFiles(directory);
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  const total = stats.reduce((sum, found) => sum + (found?.size ?? 0), bytes);
  if (files.length < MAX_SPOOLED_CALLS && total <= MAX_SPOOL_BYTES) return;
  const found = `${files.length} calls, ${formatByteSize(total)}`;
  throw new Failure('local_file', `the spool in ${directory} is full: ${found}`, {
    hint: 'send them with: svc call flush',
    applied: 'no',
  });
}
