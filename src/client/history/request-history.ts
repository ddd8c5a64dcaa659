import { Buffer } from 'node:buffer';
import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Conversation, messagesAfterResponse } from '../../body/chat/conversation.ts';
import { isIssue, parseJsonSource } from '../../body/json-source.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { fileFailure, isNotFoundError, withFileFailure } from '../../files/file-errors.ts';
import { makeDirectory } from '../../files/file-replacement.ts';
import { openPrivateFile } from '../../files/journal.ts';
import { requireRegularFile } from '../../files/trusted-file.ts';
import { LINE_FEED } from '../../json/json-bytes.ts';
import { firstStringMember, getMember, type JsonNode, kindOf } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { type JsonValue, writeJson } from '../../json/write-json.ts';
import type { Reporter } from '../../output/reporter.ts';
import type { Runtime } from '../../runtime.ts';

/** The file of the history: one JSON object per line, oldest first. */
export function requestHistoryFile(runtime: Runtime): string {
  return join(dataDirectory(runtime), 'requests.jsonl');
}

/** Throws Failure `local` if the history cannot be a file, so that nothing is sent that would not be recorded. */
export async function checkHistoryFile(path: string): Promise<void> {
  await withFileFailure(`write ${path}`, () => requireRegularFile(path), { applied: 'no' });
}

/**
 * Appends a record to the history, a file only its owner can read, without the secrets of the run. It begins a new line, also after a line that a crash
 * cut off. Throws Failure `local`.
 */
export async function appendToHistory(
  path: string,
  record: { readonly [name: string]: JsonValue },
  { redactBody }: Pick<Reporter, 'redactBody'>,
): Promise<void> {
  await withFileFailure(`write ${path}`, async () => {
    await makeDirectory(dirname(path), 0o700);
    const file = await openPrivateFile(path);
    try {
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(1), position: Math.max(0, size - 1) });
      const isCut = bytesRead > 0 && buffer[0] !== LINE_FEED;
      await file.appendFile(`${isCut ? '\n' : ''}${redactBody(writeJson(record))}\n`);
    } finally {
      await file.close();
    }
  });
}

/** The records, oldest first. Lines that are not records are skipped with a warning. Throws Failure `local`. */
export async function readRequestHistory(path: string, report?: Pick<Reporter, 'warn'>): Promise<JsonNode[]> {
  const bytes = await requireRegularFile(path)
    .then(() => readFile(path))
    .catch((error: unknown) => {
      if (isNotFoundError(error)) return Buffer.alloc(0);
      throw fileFailure(`read ${path}`, error);
    });
  const records: JsonNode[] = [];
  const invalidLines: number[] = [];
  for (let start = 0, number = 1; start < bytes.length; number++) {
    const lineFeed = bytes.indexOf(LINE_FEED, start);
    const end = lineFeed === -1 ? bytes.length : lineFeed;
    const record = tryParseJson(bytes.subarray(start, end));
    if (record && kindOf(record) === 'object' && getMember(record, 'time')) records.push(record);
    else invalidLines.push(number);
    start = end + 1;
  }
  if (invalidLines.length > 0) {
    const count =
      invalidLines.length === 1 ? 'a line that is not a record' : `${invalidLines.length} lines that are not records`;
    await report?.warn(`${path}:${invalidLines[0]}: skipped ${count}`);
  }
  return records;
}

/** Removes the history. */
export async function clearRequestHistory(path: string): Promise<void> {
  await withFileFailure(`remove ${path}`, () => rm(path, { force: true }));
}

/** The conversation that the last chat in the history ended. Throws usage if the history has none with bodies. */
export async function openLastConversation({ runtime, report }: Context): Promise<Conversation> {
  const records = await readRequestHistory(requestHistoryFile(runtime), report);
  for (const record of records.reverse()) {
    const [request, response] = [getMember(record, 'request'), getMember(record, 'response')];
    if (firstStringMember(record, 'command') !== 'chat' || !request || !response) continue;
    const messages = messagesAfterResponse(request, response);
    const source = messages === undefined ? undefined : parseJsonSource('the last conversation', messages);
    // The history keeps the next response.
    if (source && !isIssue(source)) return { source, save: async () => {}, close: async () => {} };
  }
  throw usageFailure(
    '--continue found no conversation in the history',
    'the history keeps conversations with SVC_HISTORY=bodies, or after: svc profile set <name> --history bodies',
  );
}
