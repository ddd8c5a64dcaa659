import { dirname, resolve } from 'node:path';
import { Failure, usageFailure } from '../../errors.ts';
import { pathExists } from '../../files/file-errors.ts';
import { acquireLock } from '../../files/file-lock.ts';
import { descriptorOf, isSameFile, rejectDirectoryName, writeFileAtomically } from '../../files/file-replacement.ts';
import { getMember, isTrue, itemsAt, type JsonNode, kindOf, membersOf, rawText, rootOf } from '../../json/json-node.ts';
import { type JsonValue, RawJson, writeJson } from '../../json/write-json.ts';
import { choicesByIndex, contentText, toolCalls } from '../../operations/chat-text.ts';
import { reasoningNames } from '../../operations/reasoning-names.ts';
import { shellWord } from '../../output/shell-quote.ts';
import { isEmpty } from '../../results/chunk-values.ts';
import type { Runtime } from '../../runtime.ts';
import { invalidBodyFailure } from '../body-check.ts';
import type { BodyInputs } from '../input-reader.ts';
import { isIssue, type JsonSource, parseJsonSource, placeInSource } from '../json-source.ts';

export interface Conversation {
  readonly source: JsonSource;
  /** Replaces the file by the messages of a body and of its completion; without a response message it writes nothing. */
  readonly save: (body: JsonNode, completion: JsonNode) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Opens a conversation; a missing or empty file is an empty one. Throws usage, `local_file` while another process uses it, and `body`. */
export async function openConversation(
  displayPath: string,
  outputPath: string | undefined,
  runtime: Runtime,
  { read }: Pick<BodyInputs, 'read'>,
): Promise<Conversation> {
  const path = resolve(runtime.cwd, displayPath);
  const named = displayPath === '-' ? 'stdin' : displayPath;
  if (displayPath === '-' || descriptorOf(path) !== undefined)
    throw usageFailure(`--conversation needs a file, not ${named}`, 'name a file, such as talk.json');
  if (outputPath !== undefined && (await isSameFile(path, resolve(runtime.cwd, outputPath))))
    throw usageFailure(
      `--conversation and -o name the same file, ${displayPath}`,
      'choose another file with -o; the response is kept in the conversation as well',
    );
  if (!(await pathExists(dirname(path)))) {
    const message = `cannot write ${displayPath}: the directory ${dirname(displayPath)} does not exist`;
    throw new Failure('local_file', message, { hint: 'create it, or choose another file' });
  }
  rejectDirectoryName(displayPath);
  const close = await acquireLock(path, displayPath, runtime);
  const source = await readMessages(path, displayPath, read).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const save: Conversation['save'] = async (body, completion) => {
    const messages = messagesAfterResponse(body, completion);
    if (messages !== undefined) await writeFileAtomically(path, displayPath, messages, 0o600);
  };
  return { source, close, save };
}

async function readMessages(path: string, displayPath: string, read: BodyInputs['read']): Promise<JsonSource> {
  const bytes = (await pathExists(path)) ? await read(displayPath) : undefined;
  const source = parseJsonSource(displayPath, bytes === undefined || isEmptyConversation(bytes) ? '[]' : bytes);
  if (isIssue(source)) throw invalidBodyFailure([source], 0, 'name a conversation that svc wrote, or a new file');
  if (kindOf(rootOf(source.doc)) === 'list') return source;
  const issue = { path: 'messages', at: placeInSource(source), message: 'a conversation must be an array of messages' };
  const hint = `name a new file, or take them from a body: jq .messages ${shellWord(displayPath)} > <new file>`;
  const hasMessages = itemsAt(rootOf(source.doc), 'messages').length > 0;
  throw invalidBodyFailure([issue], 0, hasMessages ? hint : undefined);
}

export function isEmptyConversation(bytes: Uint8Array): boolean {
  return new TextDecoder().decode(bytes).trim() === '';
}

/** The messages of a body and of its completion's first choice, one per line; undefined without a response message. */
export function messagesAfterResponse(body: JsonNode, completion: JsonNode): string | undefined {
  const response = getMember(choicesByIndex(completion)[0], 'message');
  if (!response || kindOf(response) !== 'object') return undefined;
  const messages = itemsAt(body, 'messages');
  const last = messages.at(-1);
  // A prefilled message and its continuation are one message, unless the response echoes the beginning.
  const isContinued = isTrue(getMember(body, 'continue_final_message')) && last !== undefined;
  const beginning = isContinued && !isTrue(getMember(body, 'echo')) ? last : undefined;
  const previousMessages = (isContinued ? messages.slice(0, -1) : messages).map(rawText);
  const assistantMessage = {
    role: 'assistant',
    content: joinContents(beginning, response),
    ...Object.fromEntries(keptFields(response)),
  };
  const lines = [...previousMessages, writeJson(assistantMessage)];
  return `[\n${lines.map((line) => `  ${line}`).join(',\n')}\n]\n`;
}

// What servers do not take back, or only in another form (docs/internals/servers.md).
const LEFT_OUT = ['role', 'content', ...reasoningNames, 'audio', 'annotations'];

// Servers may need a field back that svc does not know, such as a signature, so it is kept.
function keptFields(response: JsonNode): (readonly [name: string, value: RawJson])[] {
  const hasOwnCall = toolCalls(response).length > itemsAt(response, 'tool_calls').length;
  return Array.from(membersOf(response)).flatMap(({ key, value }) =>
    isEmpty(value) || LEFT_OUT.includes(key) || (key === 'function_call' && !hasOwnCall)
      ? []
      : [[key, new RawJson(rawText(value))] as const],
  );
}

function joinContents(beginning: JsonNode | undefined, response: JsonNode): JsonValue {
  if (![beginning, response].some(hasParts)) return contentText(beginning) + contentText(response);
  return [...contentParts(beginning), ...contentParts(response)];
}

function contentParts(message: JsonNode | undefined): JsonValue[] {
  if (hasParts(message)) return itemsAt(message, 'content').map((part) => new RawJson(rawText(part)));
  const text = contentText(message);
  return text === '' ? [] : [{ type: 'text', text }];
}

function hasParts(message: JsonNode | undefined): boolean {
  const content = getMember(message, 'content');
  return content !== undefined && kindOf(content) === 'list';
}
