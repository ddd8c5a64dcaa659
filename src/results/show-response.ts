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
import type { OutputFormat } from './output-format.ts';
import { printResult, type StyledText } from './print-result.ts';

/** Where and how a result is shown. */
export interface ResultView {
  readonly operation: Operation;
  readonly format: OutputFormat;
  readonly sink: Sink;
  readonly context: Context;
}

/** Shows a complete answer and returns it. One that is no answer of the interface is shown as it came, and its Failure thrown. */
export async function showResponse({ bytes, doc, failure }: ParsedResponse, view: ResultView): Promise<JsonDocument> {
  const { operation, sink, context } = view;
  if (failure || !doc) {
    // The invalid response is the failure to report, also where it cannot be written.
    await printInvalidResponse(bytes, sink).catch(() => {});
    throw failure;
  }
  if (isChatText(view)) await reportReasoning(doc, context);
  await printDocument(doc, view);
  await sink.commit();
  await reportChatEnd(doc, view);
  for (const warning of await responseWarnings(doc, operation)) await context.report.warn(warning);
  return doc;
}

/** True where a chat is shown as its text alone. */
export function isChatText({ operation, format }: ResultView): boolean {
  return operation.result.as === 'chat' && format === 'text';
}

/** Prints a whole response in its format. */
export async function printDocument(
  doc: JsonDocument,
  { operation, format, sink, context }: ResultView,
): Promise<void> {
  const { result } = operation;
  const rowsField = result.as === 'rows' ? result.member : undefined;
  const emptyNote = result.as === 'rows' ? `the service returned no ${result.member}` : undefined;
  const text = result.as === 'chat' ? (): StyledText[] => [{ text: chatText(rootOf(doc)) }] : undefined;
  await printResult(
    { doc, rowsField, emptyNote, ...(text ? { text } : {}) },
    { format, writer: sink.writer, report: context.report },
  );
}

/** What is said on stderr when a chat has ended. */
export async function reportChatEnd(doc: JsonDocument, { operation, context: { report } }: ResultView): Promise<void> {
  if (operation.result.as !== 'chat') return;
  for (const note of finishNotes(rootOf(doc))) await report.note(note);
  await report.detail(finishDetail(rootOf(doc)));
}

async function printInvalidResponse(bytes: Uint8Array, { writer, commit }: Sink): Promise<void> {
  await writer.write(bytes);
  if (bytes.length > 0 && bytes.at(-1) !== 0x0a) await writer.write('\n');
  await commit();
}

async function reportReasoning(doc: JsonDocument, { report }: Context): Promise<void> {
  for (const choice of completionChoices(rootOf(doc))) {
    const reasoning = reasoningText(getMember(choice, 'message'));
    if (reasoning) await report.dimText(ensureFinalNewline(reasoning));
  }
}
