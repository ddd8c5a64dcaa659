import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Conversation, messagesAfterResponse } from '../../body/chat/conversation.ts';
import { isIssue, parseJsonSource } from '../../body/json-source.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { type Failure, toFailure, usageFailure } from '../../errors.ts';
import { withFileFailure } from '../../files/file-errors.ts';
import {
  findJournalEnd,
  NOT_A_RECORD,
  openJournal,
  parseRecord,
  readJournal,
  withJournalLock,
} from '../../files/journal.ts';
import { requireRegularFile } from '../../files/trusted-file.ts';
import {
  firstStringMember,
  getMember,
  type JsonDocument,
  type JsonNode,
  rawText,
  rootOf,
} from '../../json/json-node.ts';
import { RawJson, writeJson } from '../../json/write-json.ts';
import { redactSecretFields } from '../../operations/secret-fields.ts';
import { tokenCount } from '../../results/chat-stats.ts';
import type { Runtime } from '../../runtime.ts';
import type { PreparedRequest } from '../request.ts';
import { recordedUrl, type Settings } from '../settings.ts';

/** The file of the history: one JSON object per line, oldest first. */
export function requestHistoryFile(runtime: Runtime): string {
  return join(dataDirectory(runtime), 'requests.jsonl');
}

/** Throws Failure `local_file` if the history cannot be a file, so that nothing is sent that would not be recorded. */
export async function checkHistoryFile(path: string): Promise<void> {
  await withFileFailure(`write ${path}`, () => requireRegularFile(path), { applied: 'no' });
}

interface RecordedOutcome {
  /** When it began, in ISO 8601, and how long it took in milliseconds. */
  readonly time: string;
  readonly ms: number;
  readonly status: number | undefined;
  readonly response: JsonDocument | undefined;
  readonly failure: Failure | undefined;
}

/** Appends a request that was sent to the history, if there is one, durably and without the secrets of the run; warns if it cannot. */
export async function recordRequest(
  { operation, draft, ids }: PreparedRequest,
  { history, destination }: Pick<Settings, 'history' | 'destination'>,
  { time, ms, status, response: doc, failure }: RecordedOutcome,
  { runtime, report }: Pick<Context, 'runtime' | 'report'>,
): Promise<void> {
  if (history === 'off') return;
  const response = doc && rootOf(doc);
  const id = firstStringMember(response, 'id');
  const model = firstStringMember(rootOf(draft.doc), 'model') ?? firstStringMember(response, 'model');
  const redactedBody = (): Uint8Array => redactSecretFields(rootOf(draft.doc), operation, (name) => `[${name}]`);
  const record = {
    time,
    command: operation.command.join(' '),
    url: recordedUrl(destination),
    ms: Math.round(ms),
    status: failure?.facts.status ?? status ?? null,
    exit_code: failure?.exitCode ?? 0,
    applied: failure?.facts.applied ?? 'yes',
    ...(model === undefined ? {} : { model }),
    ids: { ...ids, ...(id === undefined || Object.values(ids).includes(id) ? {} : { response: id }) },
    prompt_tokens: tokenCount(response, 'prompt_tokens'),
    completion_tokens: tokenCount(response, 'completion_tokens'),
    ...(history === 'bodies' ? { request: singleLine(redactedBody()) } : {}),
    ...(history === 'bodies' && response ? { response: singleLine(rawText(response)) } : {}),
  };
  const path = requestHistoryFile(runtime);
  const file = { path, displayPath: path };
  const appended = withJournalLock(path, runtime, async () => {
    const journal = await openJournal(file, await findJournalEnd(file));
    await journal.append(report.redactBody(writeJson(record))).finally(journal.close);
  });
  await appended.catch((error: unknown) => report.warn(`the history: ${toFailure(error).message}`));
}

// In JSON, line breaks are only between values.
function singleLine(json: { toString(): string }): RawJson {
  return new RawJson(
    json
      .toString()
      .replace(/[\r\n]+\s*/g, ' ')
      .trim(),
  );
}

/** The records, oldest first. Throws Failure `local_file`, and `safety_check` with the place of an invalid record. */
export async function readRequestHistory(path: string): Promise<JsonNode[]> {
  const records: JsonNode[] = [];
  const hint = 'fix that line, or move the file away to start a new history';
  await readJournal({ path, displayPath: path, hint }, (bytes) => {
    const record = parseRecord(bytes);
    if (!record) return NOT_A_RECORD;
    if (!getMember(record, 'time')) return 'it has no time';
    records.push(record);
    return undefined;
  });
  return records;
}

export async function clearRequestHistory(path: string): Promise<void> {
  await withFileFailure(`remove ${path}`, () => rm(path, { force: true }));
}

/** The conversation that the last chat in the history ended. Throws usage if the history has none with bodies. */
export async function openLastConversation({ runtime }: Pick<Context, 'runtime'>): Promise<Conversation> {
  const records = await readRequestHistory(requestHistoryFile(runtime));
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
