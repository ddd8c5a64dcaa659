import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure } from '../errors.ts';
import { lock } from '../files/lock.ts';
import { fileReason, isMissing } from '../files/reason.ts';
import { writeWhole } from '../files/replacement.ts';
import { isTrue, itemsOf, type JsonNode, kindOf, member, rootOf, stringIn, textOf } from '../json/node.ts';
import { RawJson, writeJson } from '../json/write.ts';
import type { Runtime } from '../runtime.ts';
import { wrongBody } from './check.ts';
import { isIssue, placeInSource, readSource, type Source } from './source.ts';

/** A conversation that is kept in a file, locked until it is closed. */
export interface Conversation {
  /** The messages so far. */
  readonly source: Source;
  /** Writes the messages of a body and the one that answered, in place of what the file held; without an answer nothing. */
  readonly save: (body: JsonNode, reply: JsonNode | undefined) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Opens a conversation; a file that is not there is an empty one. Throws Failure where it is in use or no list of messages. */
export async function openConversation(typed: string, runtime: Runtime): Promise<Conversation> {
  const path = resolve(runtime.cwd, typed);
  const close = await lock(path, typed, runtime);
  try {
    const source = await readMessages(path, typed);
    return { source, close, save: (body, reply) => saveMessages(path, typed, body, reply) };
  } catch (error) {
    await close();
    throw error;
  }
}

async function readMessages(path: string, typed: string): Promise<Source> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (isMissing(error)) return '[]';
    throw new Failure('local', `cannot read ${typed}: ${fileReason(error)}`);
  });
  const source = readSource(typed, bytes);
  if (isIssue(source)) throw wrongBody([source]);
  if (kindOf(rootOf(source.doc)) === 'list') return source;
  throw wrongBody([
    { path: 'messages', at: placeInSource(source), message: 'a conversation must be a list of messages' },
  ]);
}

async function saveMessages(path: string, typed: string, body: JsonNode, reply: JsonNode | undefined): Promise<void> {
  if (!reply || kindOf(reply) !== 'object') return;
  const list = member(body, 'messages');
  const messages = list ? Array.from(itemsOf(list)) : [];
  const last = messages.at(-1);
  // A continued message and what continues it are one message, unless the reply repeats it.
  const isContinued = isTrue(member(body, 'continue_final_message')) && last !== undefined;
  const start = isContinued && !isTrue(member(body, 'echo')) ? (stringIn(last, 'content') ?? '') : '';
  const kept = (isContinued ? messages.slice(0, -1) : messages).map(textOf);
  const calls = member(reply, 'tool_calls');
  const answer = {
    role: 'assistant',
    content: start + (stringIn(reply, 'content') ?? ''),
    tool_calls: calls && kindOf(calls) === 'list' ? new RawJson(textOf(calls)) : undefined,
  };
  const lines = [...kept, writeJson(answer)];
  await writeWhole(path, typed, `[\n${lines.map((line) => `  ${line}`).join(',\n')}\n]\n`, 0o600);
}
