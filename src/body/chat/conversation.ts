import { resolve } from 'node:path';
import { usageFailure } from '../../errors.ts';
import { pathExists } from '../../files/file-errors.ts';
import { acquireLock } from '../../files/file-lock.ts';
import { writeFileAtomically } from '../../files/file-replacement.ts';
import { isSameFile } from '../../files/is-same-file.ts';
import {
  firstStringMember,
  getMember,
  isTrue,
  itemsAt,
  type JsonNode,
  kindOf,
  rawText,
  rootOf,
} from '../../json/json-node.ts';
import { RawJson, writeJson } from '../../json/write-json.ts';
import type { Runtime } from '../../runtime.ts';
import { invalidBodyFailure } from '../body-check.ts';
import type { InputReader } from '../input-reader.ts';
import { isIssue, type JsonSource, locationInSource, parseJsonSource } from '../json-source.ts';

/** A conversation in a file, locked until it is closed. */
export interface Conversation {
  /** The messages so far. */
  readonly source: JsonSource;
  /** Replaces the file by the messages of a body and of the response; without a response message it writes nothing. */
  readonly save: (body: JsonNode, response: JsonNode | undefined) => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Opens a conversation; a missing file is an empty one. `outputPath` is where the result goes, as typed. Throws usage
 * where both are one file, Failure `local` while another process uses it, and `body` where it is not an array.
 */
export async function openConversation(
  displayPath: string,
  outputPath: string | undefined,
  runtime: Runtime,
  { read }: Pick<InputReader, 'read'>,
): Promise<Conversation> {
  const path = resolve(runtime.cwd, displayPath);
  if (outputPath !== undefined && (await isSameFile(path, resolve(runtime.cwd, outputPath))))
    throw usageFailure(
      `--conversation and -o name the same file, ${displayPath}`,
      'choose another file with -o; the response is kept in the conversation as well',
    );
  const close = await acquireLock(path, displayPath, runtime);
  try {
    const source = await readMessages(path, displayPath, read);
    const save: Conversation['save'] = async (body, response) => {
      const messages = messagesAfterResponse(body, response);
      if (messages !== undefined) await writeFileAtomically(path, displayPath, messages, 0o600);
    };
    return { source, close, save };
  } catch (error) {
    await close();
    throw error;
  }
}

async function readMessages(path: string, displayPath: string, read: InputReader['read']): Promise<JsonSource> {
  const bytes = (await pathExists(path)) ? await read(displayPath) : '[]';
  const source = parseJsonSource(displayPath, bytes);
  if (isIssue(source)) throw invalidBodyFailure([source]);
  if (kindOf(rootOf(source.doc)) === 'list') return source;
  throw invalidBodyFailure([
    { path: 'messages', at: locationInSource(source), message: 'a conversation must be an array of messages' },
  ]);
}

/** The messages of a body and of the response, as a JSON array with one per line; undefined without a response message. */
export function messagesAfterResponse(body: JsonNode, response: JsonNode | undefined): string | undefined {
  if (!response || kindOf(response) !== 'object') return undefined;
  const messages = itemsAt(body, 'messages');
  const last = messages.at(-1);
  // A prefilled message and its continuation are one message, unless the response echoes the beginning.
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
  return `[\n${lines.map((line) => `  ${line}`).join(',\n')}\n]\n`;
}
