import type { Context } from '../context.ts';
import { getMember, rootOf } from '../json/json-node.ts';
import type { JsonDocument } from '../json/parse-json.ts';
import type { Operation } from '../operations/operation.ts';
import type { Sink } from '../output/sink.ts';
import { completionNotes, finishDetail, omittedCallNotes } from './chat-notes.ts';
import { chatText, choicesByIndex, reasoningText } from './chat-text.ts';
import type { JqFilter } from './jq-filter.ts';
import type { OutputFormat } from './output-format.ts';
import type { ParsedResponse } from './parsed-response.ts';
import { printResult, type StyledText } from './print-result.ts';
import { responseWarnings } from './response-warnings.ts';

/** Where and how a response is printed. */
export interface ResultView {
  readonly operation: Operation;
  readonly format: OutputFormat;
  readonly filter: JqFilter | undefined;
  readonly sink: Sink;
  readonly context: Context;
  /** The number of choices that the body asks for. */
  readonly requestedChoices: number;
  /** The text of the result, in place of that of its kind. */
  readonly textOf?: ((doc: JsonDocument) => string | StyledText[]) | undefined;
}

/** Prints a complete response and returns it. One that breaks the interface is printed as it came, and its Failure thrown. */
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

/** True where only the whole text of a chat is printed. */
export function isChatText({ operation, format, textOf }: ResultView): boolean {
  return operation.result.as === 'chat' && format === 'text' && !textOf;
}

/** Prints a whole response in its format. */
export async function printDocument(
  doc: JsonDocument,
  { operation, format, filter, sink, context, textOf = chatTextOf(operation) }: ResultView,
): Promise<void> {
  const { result } = operation;
  const rowsField = result.as === 'rows' ? result.member : undefined;
  const emptyNote = result.as === 'rows' ? `the service returned no ${result.member}` : undefined;
  const text =
    textOf &&
    ((): StyledText[] => {
      const textOrParts = textOf(doc);
      return typeof textOrParts === 'string' ? [{ text: textOrParts }] : textOrParts;
    });
  await printResult(
    { doc, rowsField, emptyNote, ...(text ? { text } : {}) },
    { format, filter, writer: sink.writer, report: context.report },
  );
}

/** Reports the end of a chat on stderr. */
export async function reportChatEnd(doc: JsonDocument, view: ResultView): Promise<void> {
  const { report } = view.context;
  if (view.operation.result.as !== 'chat') return;
  for (const note of completionNotes(rootOf(doc), view.requestedChoices)) await report.note(note);
  if (isChatText(view)) for (const note of omittedCallNotes(rootOf(doc))) await report.note(note);
  await report.detail(finishDetail(rootOf(doc)));
}

function chatTextOf({ result }: Operation): ResultView['textOf'] {
  return result.as === 'chat' ? (doc) => chatText(rootOf(doc)) : undefined;
}

async function printInvalidResponse(bytes: Uint8Array, { writer, commit }: Sink): Promise<void> {
  await writer.write(bytes);
  if (bytes.length > 0 && bytes.at(-1) !== 0x0a) await writer.write('\n');
  await commit();
}

async function reportReasoning(doc: JsonDocument, { report }: Context): Promise<void> {
  for (const choice of choicesByIndex(rootOf(doc))) {
    await report.reasoning(reasoningText(getMember(choice, 'message')));
    await report.endReasoning();
  }
}
