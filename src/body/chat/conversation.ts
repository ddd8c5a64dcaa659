import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure } from '../../errors.ts';
import { describeFileError, isNotFoundError } from '../../files/file-errors.ts';
import { acquireLock } from '../../files/file-lock.ts';
import { writeFileAtomically } from '../../files/file-replacement.ts';
import {
  firstStringMember,
  getMember,
  isTrue,
  itemsOf,
  type JsonNode,
  kindOf,
  rawText,
  rootOf,
} from '../../json/json-node.ts';
import { RawJson, writeJson } from '../../json/write-json.ts';
import type { Runtime } from '../../runtime.ts';
import { invalidBodyFailure } from '../body-check.ts';
import { isIssue, type JsonSource, locationInSource, parseJsonSource } from '../json-source.ts';

/** A conversation that is kept in a file, locked until it is closed. */
export interface Conversation {
  /** The messages so far. */
  readonly source: JsonSource;
  /** Writes the messages of a body and the one that answered, in place of what the file held; without an answer nothing. */
  readonly save: (body: JsonNode, reply: JsonNode | undefined) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Opens a conversation; a file that is not there is an empty one. Throws Failure where it is in use or no list of messages. */
export async function openConversation(displayPath: string, runtime: Runtime): Promise<Conversation> {
  const path = resolve(runtime.cwd, displayPath);
  const close = await acquireLock(path, displayPath, runtime);
  try {
    const source = await readMessages(path, displayPath);
    return { source, close, save: (body, reply) => saveMessages(path, displayPath, body, reply) };
  } catch (error) {
    await close();
    throw error;
  }
}

async function readMessages(path: string, displayPath: string): Promise<JsonSource> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (isNotFoundError(error)) return '[]';
    throw new Failure('local', `cannot read ${displayPath}: ${describeFileError(error)}`);
  });
  const source = parseJsonSource(displayPath, bytes);
  if (isIssue(source)) throw invalidBodyFailure([source]);
  if (kindOf(rootOf(source.doc)) === 'list') return source;
  throw invalidBodyFailure([
    { path: 'messages', at: locationInSource(source), message: 'a conversation must be a list of messages' },
  ]);
}

async function saveMessages(
  path: string,
  displayPath: string,
  body: JsonNode,
  response: JsonNode | undefined,
): Promise<void> {
  if (!response || kindOf(response) !== 'object') return;
  const messagesNode = getMember(body, 'messages');
  const messages = messagesNode ? Array.from(itemsOf(messagesNode)) : [];
  const last = messages.at(-1);
  // A continued message and what continues it are one message, unless the reply repeats it.
  const isContinued = isTrue(getMember(body, 'continue_final_message')) && last !== undefined;
  const continuedText =
    isContinued && !isTrue(getMember(body, 'echo')) ? (firstStringMember(last, 'content') ?? '') : '';
  const previousMessages = (isContinued ? messages.slice(0, -1) : messages).map(rawText);
  const toolCalls = getMember(response, 'tool_calls');
  const assistantMessage = {
    role: 'assistant',
    content: continuedText + (firstStringMember(response, 'content') ?? ''),
    tool_calls: toolCalls && kindOf(toolCalls) === 'list' ? new RawJson(rawText(toolCalls)) : undefined,
  };
  const lines = [...previousMessages, writeJson(assistantMessage)];
  await writeFileAtomically(path, displayPath, `[\n${lines.map((line) => `  ${line}`).join(',\n')}\n]\n`, 0o600);
}
