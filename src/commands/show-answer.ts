import { type Answer, unexpectedIn } from '../call/answer.ts';
import { chatText, choicesIn, endDetail, endNotes, reasoningIn, withFinalNewline } from '../call/chat-text.ts';
import type { Context } from '../cli/context.ts';
import type { JsonDocument } from '../json/document.ts';
import { member, rootOf } from '../json/node.ts';
import type { Operation } from '../operations/operation.ts';
import { type Format, formatted } from '../output/formats.ts';
import type { Sink } from '../output/sink.ts';

/** Where and how a result is shown. */
export interface View {
  readonly operation: Operation;
  readonly format: Format;
  readonly sink: Sink;
  readonly context: Context;
}

/** The format of a result where none is asked for: made for eyes on a terminal, JSON elsewhere, a chat always its text. */
export function usualFormat({ result }: Operation, isTerminal: boolean): Format {
  if (result.as === 'chat') return 'text';
  return isTerminal ? 'table' : 'json';
}

/** Shows a complete answer and returns it. One that is no answer of the interface is shown as it came, and its Failure thrown. */
export async function showAnswer({ bytes, doc, broken }: Answer, view: View): Promise<JsonDocument> {
  const { operation, sink, context } = view;
  if (broken || !doc) {
    // That the answer is broken is what has to be told, also where it cannot be written.
    const end = sink.writer.isTerminal && bytes.at(-1) !== 0x0a ? '\n' : '';
    await writeAndCommit(sink, [bytes, end]).catch(() => {});
    throw broken;
  }
  if (isChatText(view)) await showReasoning(doc, context);
  await writeAndCommit(sink, laidOut(doc, view));
  await showEnd(doc, view);
  for (const warning of await unexpectedIn(doc, operation)) await context.report.warn(warning);
  return doc;
}

/** True where a chat is shown as its text alone; a table of it would be no better. */
export function isChatText({ operation, format }: View): boolean {
  return operation.result.as === 'chat' && (format === 'text' || format === 'table');
}

/** What is said on stderr when a chat has ended. */
export async function showEnd(doc: JsonDocument, { operation, context: { report } }: View): Promise<void> {
  if (operation.result.as !== 'chat') return;
  for (const note of endNotes(rootOf(doc))) await report.note(note);
  await report.detail(endDetail(rootOf(doc)));
}

async function writeAndCommit({ writer, commit }: Sink, pieces: Iterable<string | Uint8Array>): Promise<void> {
  for (const piece of pieces) await writer.write(piece);
  await commit();
}

function laidOut(doc: JsonDocument, view: View): Iterable<string | Uint8Array> {
  if (isChatText(view)) return [chatText(rootOf(doc))];
  const { result } = view.operation;
  const rows = result.as === 'rows' ? result.member : undefined;
  return formatted(doc, { format: view.format, rows, isTerminal: view.sink.writer.isTerminal });
}

async function showReasoning(doc: JsonDocument, { report }: Context): Promise<void> {
  for (const choice of choicesIn(rootOf(doc))) {
    const reasoning = reasoningIn(member(choice, 'message'));
    if (reasoning) await report.aside(withFinalNewline(reasoning));
  }
}
