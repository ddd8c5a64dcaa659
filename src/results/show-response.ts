import { type ParsedResponse, responseWarnings } from '../client/read-response.ts';
import type { Context } from '../context.ts';
import { getMember, rootOf } from '../json/json-node.ts';
import type { JsonDocument } from '../json/parse-json.ts';
import type { Operation } from '../operations/operation.ts';
import type { Sink } from '../output/sink.ts';
import {
  chatText,
  completionChoices,
  ensureFinalNewline,
  finishDetail,
  finishNotes,
  reasoningText,
} from './chat-text.ts';
import { formatResult, type OutputFormat } from './formats.ts';

/** Where and how a result is shown. */
export interface ResultView {
  readonly operation: Operation;
  readonly format: OutputFormat;
  readonly sink: Sink;
  readonly context: Context;
}

/** The format of a result where none is asked for: made for eyes on a terminal, JSON elsewhere, a chat always its text. */
export function defaultFormat({ result }: Operation, isTerminal: boolean): OutputFormat {
  if (result.as === 'chat') return 'text';
  return isTerminal ? 'table' : 'json';
}

/** Shows a complete answer and returns it. One that is no answer of the interface is shown as it came, and its Failure thrown. */
export async function showResponse({ bytes, doc, failure }: ParsedResponse, view: ResultView): Promise<JsonDocument> {
  const { operation, sink, context } = view;
  if (failure || !doc) {
    // That the answer is broken is what has to be told, also where it cannot be written.
    const end = sink.writer.isTerminal && bytes.at(-1) !== 0x0a ? '\n' : '';
    await writeAndCommit(sink, [bytes, end]).catch(() => {});
    throw failure;
  }
  if (isChatText(view)) await reportReasoning(doc, context);
  await writeAndCommit(sink, responseChunks(doc, view));
  await reportChatEnd(doc, view);
  for (const warning of await responseWarnings(doc, operation)) await context.report.warn(warning);
  return doc;
}

/** True where a chat is shown as its text alone; a table of it would be no better. */
export function isChatText({ operation, format }: ResultView): boolean {
  return operation.result.as === 'chat' && (format === 'text' || format === 'table');
}

/** What is said on stderr when a chat has ended. */
export async function reportChatEnd(doc: JsonDocument, { operation, context: { report } }: ResultView): Promise<void> {
  if (operation.result.as !== 'chat') return;
  for (const note of finishNotes(rootOf(doc))) await report.note(note);
  await report.detail(finishDetail(rootOf(doc)));
}

async function writeAndCommit({ writer, commit }: Sink, chunks: Iterable<string | Uint8Array>): Promise<void> {
  for (const chunk of chunks) await writer.write(chunk);
  await commit();
}

function responseChunks(doc: JsonDocument, view: ResultView): Iterable<string | Uint8Array> {
  if (isChatText(view)) return [chatText(rootOf(doc))];
  const { result } = view.operation;
  const rows = result.as === 'rows' ? result.member : undefined;
  return formatResult(doc, { format: view.format, rows, isTerminal: view.sink.writer.isTerminal });
}

async function reportReasoning(doc: JsonDocument, { report }: Context): Promise<void> {
  for (const choice of completionChoices(rootOf(doc))) {
    const reasoning = reasoningText(getMember(choice, 'message'));
    if (reasoning) await report.dimText(ensureFinalNewline(reasoning));
  }
}
