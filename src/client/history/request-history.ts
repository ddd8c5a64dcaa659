import { appendFile, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dataDirectory } from '../../config/directories.ts';
import { resolveSetting, type SettingSources } from '../../config/resolve-setting.ts';
import { usageFailure } from '../../errors.ts';
import { fileFailure, isNotFoundError, withFileFailure } from '../../files/file-errors.ts';
import { makeDirectory } from '../../files/make-directory.ts';
import { getMember, type JsonNode, kindOf } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { type JsonValue, writeJson } from '../../json/write-json.ts';
import type { Runtime } from '../../runtime.ts';

export type HistoryMode = 'off' | 'on' | 'bodies';

/** Whether requests are recorded: SVC_HISTORY or the profile; `1` is `on`. Throws usage for any other value. */
export function resolveHistoryMode(sources: SettingSources): HistoryMode {
  const setting = resolveSetting('history', sources);
  const text = setting?.text === '1' ? 'on' : setting?.text === '0' ? 'off' : (setting?.text ?? 'off');
  if (text === 'off' || text === 'on' || text === 'bodies') return text;
  throw usageFailure(`${setting?.label} cannot be ${JSON.stringify(text)}`, 'it is off, on or bodies');
}

/** The file of the history: one JSON object per line, oldest first. */
export function requestHistoryFile(runtime: Runtime): string {
  return join(dataDirectory(runtime), 'requests.jsonl');
}

/** Appends a record to the history, a file only its owner can read. Throws Failure `local`. */
export async function appendToHistory(path: string, record: { readonly [name: string]: JsonValue }): Promise<void> {
  await withFileFailure(`write ${path}`, async () => {
    await makeDirectory(dirname(path), 0o700);
    await appendFile(path, `${writeJson(record)}\n`, { mode: 0o600 });
  });
}

/** The records, oldest first; lines that a crash cut off are skipped. Throws Failure `local`. */
export async function readRequestHistory(path: string): Promise<JsonNode[]> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (isNotFoundError(error)) return new Uint8Array();
    throw fileFailure(`read ${path}`, error);
  });
  const records: JsonNode[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0x0a, start);
    const record = tryParseJson(bytes.subarray(start, end === -1 ? bytes.length : end));
    if (record && kindOf(record) === 'object' && getMember(record, 'time')) records.push(record);
    start = end === -1 ? bytes.length : end + 1;
  }
  return records;
}

/** Removes the history. */
export async function clearRequestHistory(path: string): Promise<void> {
  await withFileFailure(`remove ${path}`, () => rm(path, { force: true }));
}
