import { chatText, choicesIn, reasoningIn } from '../call/chat-text.ts';
import { joiner } from '../call/join.ts';
import { roomFor } from '../call/room.ts';
import type { Context } from '../cli/context.ts';
import { Failure } from '../errors.ts';
import { type JsonDocument, parseJson } from '../json/document.ts';
import { compactJson } from '../json/layout.ts';
import { type JsonNode, member, rootOf, stringIn } from '../json/node.ts';
import { formatted } from '../output/formats.ts';
import { isChatText, showEnd, type View } from './show-answer.ts';

/** What is wanted of a stream: so many choices, and all of it at the end for other purposes than showing it. */
export interface Wanted {
  readonly choices: number;
  readonly isWholeNeeded: boolean;
}

// Of a stream that is put together. What is shown as it comes may be of any length.
const MOST = 8 * 1024 * 1024;

/**
 * Shows a streamed chat as it comes: its text, or each chunk, or at the end the whole reply as one object. Returns the
 * whole. Where the stream breaks off, what has come is kept, and the failure of the stream is thrown.
 */
export async function showStream(
  chunks: AsyncIterable<JsonNode>,
  { choices, isWholeNeeded }: Wanted,
  view: View,
): Promise<JsonDocument> {
  const { operation, format, sink } = view;
  const room = roomFor(MOST);
  const whole = joiner(operation.reply, room);
  const live = isChatText(view) && choices === 1 ? liveText(view) : undefined;
  try {
    for await (const chunk of chunks) {
      whole.add(chunk);
      if (!room.isEnough() && (isWholeNeeded || !(live || format === 'jsonl')))
        throw new Failure('answer', `the stream is longer than what can be held (${MOST} bytes)`);
      if (live) await live.show(chunk);
      else if (format === 'jsonl') await sink.writer.write(`${compactJson(chunk.doc)}\n`);
    }
  } catch (error) {
    // How the stream failed is what has to be told, also where the rest of it cannot be written.
    await showRest(parseJson(whole.text()), live, view).catch(() => {});
    throw error;
  }
  const doc = parseJson(whole.text());
  await showRest(doc, live, view);
  await sink.commit();
  await showEnd(doc, view);
  return doc;
}

async function showRest(doc: JsonDocument, live: LiveText | undefined, view: View): Promise<void> {
  const { format, sink } = view;
  const { writer } = sink;
  if (live) await live.end(doc);
  else if (isChatText(view)) await writer.write(chatText(rootOf(doc)));
  else if (format === 'json')
    for (const piece of formatted(doc, { format, isTerminal: writer.isTerminal })) await writer.write(piece);
}

interface LiveText {
  readonly show: (chunk: JsonNode) => Promise<void>;
  /** Ends the line; a reply that had no text but called tools is shown from the whole. */
  readonly end: (whole: JsonDocument) => Promise<void>;
}

function liveText({ sink, context }: View): LiveText {
  let last = '';
  let reasoned = '';
  return {
    show: async (chunk) => {
      for (const choice of choicesIn(chunk)) {
        const delta = member(choice, 'delta');
        const reasoning = reasoningIn(delta);
        if (reasoning) await context.report.aside(reasoning);
        reasoned = reasoning || reasoned;
        const text = stringIn(delta, 'content');
        if (!text) continue;
        reasoned = await endReasoning(reasoned, context);
        await sink.writer.write(text);
        last = text;
      }
    },
    end: async (whole) => {
      await endReasoning(reasoned, context);
      if (last !== '') await sink.writer.write(last.endsWith('\n') ? '' : '\n');
      else await sink.writer.write(chatText(rootOf(whole)));
    },
  };
}

async function endReasoning(reasoned: string, { report }: Context): Promise<string> {
  if (reasoned !== '' && !reasoned.endsWith('\n')) await report.aside('\n');
  return '';
}
