import type { Context } from '../context.ts';
import { Failure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { LINE_FEED } from '../json/json-bytes.ts';
import {
  firstStringMember,
  formatJsonPath,
  getMember,
  itemsAt,
  type JsonDocument,
  type JsonNode,
  kindOf,
  membersOf,
  numberMember,
  rootOf,
} from '../json/json-node.ts';
import { compactJson } from '../json/write-json.ts';
import {
  chatText,
  choiceHeading,
  choicesByIndex,
  choiceText,
  contentText,
  ensureFinalNewline,
  omittedContent,
  reasoningText,
  toolCalls,
  toolName,
} from '../operations/chat-text.ts';
import type { Operation } from '../operations/operation.ts';
import { reasoningNames } from '../operations/reasoning-names.ts';
import { usageOf } from '../operations/received-facts.ts';
import type { OutputFormat } from '../output/output-format.ts';
import type { Reporter } from '../output/reporter.ts';
import type { Sink } from '../output/sink.ts';
import { pluralize } from '../output/transfer-text.ts';
import { ignoreClosedPipe, type Writer } from '../output/writer.ts';
import type { MergedText } from './chunk-merger.ts';
import { isEmpty } from './chunk-values.ts';
import { type FoldedStream, foldStream, MAX_STREAM_BYTES } from './fold-stream.ts';
import type { JqFilter } from './jq-filter.ts';
import { printFiltered, printResult, type StyledText } from './print-result.ts';

type ResultText = string | readonly StyledText[];

export interface ResultView {
  readonly operation: Operation;
  readonly format: OutputFormat;
  readonly filter: JqFilter | undefined;
  readonly sink: Sink;
  readonly context: Context;
  readonly requestedChoices: number;
  readonly isSpreadsheetSafe: boolean | undefined;
  /** The text of the result, in place of that of its kind. */
  readonly textOf?: ((doc: JsonDocument) => ResultText) | undefined;
}

/**
 * Prints a complete response. Of one with a failure it prints the result, or writes what came unchanged, an HTML page
 * only to a file; it does not commit the sink then, and throws the Failure of the response.
 */
export async function showResponse(
  { bytes, doc, hasResult, isPage, failure }: ParsedResponse,
  view: ResultView,
): Promise<void> {
  const { operation, sink, context } = view;
  if (failure || !doc) {
    // The failure of the response is the one to report, even if it cannot be written. Who reads stdout expects no page.
    if (doc && hasResult) await printDocument(doc, view).catch(() => {});
    else if (!isPage || sink.keepsPartial) await writeResponse(bytes, sink).catch(() => {});
    throw failure;
  }
  const textChoices = isChatText(view) ? choicesByIndex(rootOf(doc)) : [];
  for (const choice of textChoices) {
    await context.report.reasoning(reasoningText(getMember(choice, 'message')));
    await context.report.endReasoning();
  }
  await ignoreClosedPipe(printDocument(doc, view).then(sink.commit));
  await reportChatEnd(doc, view);
  for (const description of textChoices.flatMap(omittedContent))
    await context.report.warn(`${description} was left out of the text; --json prints it`);
  for (const warning of [...(await fieldWarnings(doc, operation)), ...rowWarnings(doc, operation)])
    await context.report.warn(warning);
}

function isChatText({ operation, format, textOf }: ResultView): boolean {
  return operation.result.as === 'chat' && format === 'text' && !textOf;
}

/** Prints a whole response in its format. If the filter fails, the response to a request that writes is printed unfiltered. */
async function printDocument(
  doc: JsonDocument,
  { operation, format, filter, sink, context, textOf, isSpreadsheetSafe }: ResultView,
): Promise<void> {
  const { as, member } = operation.result;
  const rows = as === 'rows' ? { rowsField: member, emptyNote: `the service returned no ${member}` } : {};
  const printedText = textOf ?? (as === 'chat' ? () => chatText(rootOf(doc)) : undefined);
  const text = printedText && (() => printedText(doc));
  try {
    await printResult(
      { doc, columns: rowColumns(operation), ...rows, ...(text ? { text } : {}) },
      { format, filter, writer: sink.writer, report: context.report, isSpreadsheetSafe },
    );
  } catch (error) {
    // The same request would be charged or applied twice. The failure of the filter is the one to report.
    if (filter && operation.effect !== 'read') await writeResponse(doc.bytes, sink).catch(() => {});
    throw error;
  }
}

function rowColumns({ reply, result }: Operation): string[] | undefined {
  const rows = reply[result.member];
  return rows?.type === 'list' && rows.of.type === 'object' ? Object.keys(rows.of.fields ?? {}) : undefined;
}

async function reportChatEnd(doc: JsonDocument, view: ResultView): Promise<void> {
  const { report } = view.context;
  if (view.operation.result.as !== 'chat') return;
  for (const note of completionNotes(rootOf(doc), view.requestedChoices)) await report.note(note);
  if (isChatText(view)) for (const note of omissionNotes(rootOf(doc))) await report.note(note);
}

async function writeResponse(bytes: Uint8Array, { writer }: Sink): Promise<void> {
  await writer.write(bytes);
  if (bytes.length > 0 && bytes.at(-1) !== LINE_FEED) await writer.write('\n');
}

/** A complete response: its bytes, and its JSON or the failure of a response that breaks the interface. */
export interface ParsedResponse {
  readonly bytes: Buffer;
  readonly doc: JsonDocument | undefined;
  /** The response has the result that the interface promises. */
  readonly hasResult: boolean;
  readonly isPage: boolean;
  readonly failure: Failure | undefined;
}

// Checking takes many times the memory of the text, so a larger response is not checked.
const MAX_CHECKED_VALUES = 200_000;
const MAX_CHECKED_BYTES = 8 * 1024 * 1024;

// Required fields that are missing or of another type. Servers vary in everything else, and a user can do nothing about it.
async function fieldWarnings(doc: JsonDocument, { reply }: Operation): Promise<string[]> {
  if (doc.tape.length / 3 > MAX_CHECKED_VALUES || doc.bytes.length > MAX_CHECKED_BYTES) return [];
  const { createBodyValidator } = await import('../fields/schema-validator.ts');
  return createBodyValidator(
    { body: reply },
    false,
  )(rootOf(doc)).flatMap(({ path, message }) => {
    const [name] = path;
    const isActionable = path.length === 1 && typeof name === 'string' && reply[name]?.required === true;
    return isActionable ? [`unexpected response: ${formatJsonPath(path)} ${message}`] : [];
  });
}

// Tables and views cannot show them.
function rowWarnings(doc: JsonDocument, operation: Operation): string[] {
  const { as, member } = operation.result;
  const names = as === 'rows' ? (rowColumns(operation) ?? []) : [];
  const isIncomplete = (row: JsonNode): boolean => !names.every((name) => firstStringMember(row, name));
  const count = itemsAt(rootOf(doc), member).filter(isIncomplete).length;
  const lacking = pluralize(count, 'element lacks', 'elements lack');
  return count === 0 ? [] : [`unexpected response: in ${member}, ${count} ${lacking} ${names.join(' or ')}`];
}

const finishNotes: { readonly [reason: string]: string } = {
  length: 'the response was cut at the token limit (finish reason length)',
  content_filter: 'the response was cut by a content filter (finish reason content_filter)',
};

/** Notes on a response that is not simply complete: cut, refused, fewer choices than requested. */
function completionNotes(completion: JsonNode, requestedChoices: number): string[] {
  const choices = itemsAt(completion, 'choices');
  const notes = choices.flatMap((choice) => {
    const refusal = firstStringMember(getMember(choice, 'message'), 'refusal');
    const finishNote = finishNotes[firstStringMember(choice, 'finish_reason') ?? ''];
    return [...(finishNote ? [finishNote] : []), ...(refusal ? [`the model refused: ${refusal}`] : [])];
  });
  if (choices.length < requestedChoices)
    notes.push(`the service returned ${choices.length} of ${requestedChoices} requested choices`);
  return notes;
}

function omissionNotes(completion: JsonNode): string[] {
  return itemsAt(completion, 'choices').flatMap((choice) => {
    const message = getMember(choice, 'message');
    const audio = getMember(message, 'audio');
    const audioNotes = audio && kindOf(audio) === 'object' ? ['the response has audio; --json prints it'] : [];
    const names = toolCalls(message).map(toolName);
    if (choiceText(message) === '' && !firstStringMember(message, 'refusal')) return emptyNote(choice, completion);
    if (names.length === 0 || contentText(message) === '') return audioNotes;
    const tools = names.length === 1 ? 'a tool' : `${names.length} tools`;
    return [...audioNotes, `the response also calls ${tools}: ${names.join(', ')}; --json prints the calls`];
  });
}

// What a response without text has instead.
function emptyNote(choice: JsonNode, completion: JsonNode): string {
  const message = getMember(choice, 'message');
  const others = Array.from(message ? membersOf(message) : []).flatMap(({ key, value }) =>
    isEmpty(value) || key === 'role' || key === 'content' ? [] : [reasoningNames.includes(key) ? 'reasoning' : key],
  );
  const found = [...new Set([...omittedContent(choice), ...others])].join(', ');
  if (found !== '') return `the response has no text, but it has ${found}; --json prints it`;
  const tokens = numberMember(usageOf(completion), 'completion_tokens') ?? 0;
  return `the response has no text${tokens > 0 ? `, although it used ${tokens} ${pluralize(tokens, 'token')}` : ' and nothing else'}`;
}

interface StreamUse {
  /** Only the output is needed, or the response too, or all of it: then a reader that closes the pipe ends only the printing. */
  readonly need: 'output' | 'response' | 'end';
  readonly failureOf: (doc: JsonDocument) => Promise<Failure | undefined>;
}

/**
 * Prints a streamed chat: its text as it arrives, each chunk, or at the end the whole response as one object. If the
 * stream is cut, or if `failureOf` finds that the response failed, the partial output is printed.
 */
export async function showStream(
  chunks: AsyncIterable<JsonNode>,
  { need, failureOf }: StreamUse,
  view: ResultView,
): Promise<FoldedStream> {
  const { operation, format, filter, sink, requestedChoices, context } = view;
  const { write } = sink.writer;
  const livePrinter =
    isChatText(view) && requestedChoices === 1 ? createLiveTextPrinter(sink.writer, context.report) : undefined;
  let filterFailure: Failure | undefined;
  const printChunk = async (chunk: JsonNode): Promise<void> => {
    if (livePrinter) await livePrinter.print();
    else if (format === 'jsonl' && filter)
      await printFiltered(chunk.doc.bytes.toString(), filter, write).catch(async (error: unknown) => {
        if (!(error instanceof Failure)) throw error;
        // The request was paid for: the chunk is printed as it is, and the stream continues.
        filterFailure ??= error;
        await ignoreClosedPipe(write(`${compactJson(chunk)}\n`));
      });
    else if (format === 'jsonl') await write(`${compactJson(chunk)}\n`);
  };
  const folded = await foldStream(chunks, operation.reply, {
    createLimitFailure: need !== 'output' || !(livePrinter || format === 'jsonl') ? limitFailure : undefined,
    onText: livePrinter?.add,
    onChunk: (chunk) => (need === 'end' ? ignoreClosedPipe(printChunk(chunk)) : printChunk(chunk)),
  });
  const { doc } = folded;
  const failure = folded.failure ? (filterFailure ?? folded.failure) : filterFailure ? undefined : await failureOf(doc);
  const shown = { doc, failure, warnings: format === 'jsonl' ? [] : folded.warnings };
  if (failure) {
    // The failure of the stream is the one to report, even if the rest of it cannot be written.
    await showRemainder(doc, livePrinter?.end, partialView(view)).catch(() => {});
    return shown;
  }
  try {
    if (filterFailure) throw filterFailure;
    await ignoreClosedPipe(showRemainder(doc, livePrinter?.end, view).then(sink.commit));
  } catch (printError) {
    return { ...shown, printError };
  }
  await reportChatEnd(doc, view);
  return shown;
}

function limitFailure(): Failure {
  const hint = 'use --format jsonl, or text, to print it as it arrives';
  const message = `the stream exceeds the ${formatByteSize(MAX_STREAM_BYTES)} that svc holds`;
  return new Failure('invalid_response', message, { hint });
}

// `textOf` may look for a part that did not arrive: the whole text is printed then.
function partialView({ textOf, ...view }: ResultView): ResultView {
  const partialTextOf = (doc: JsonDocument): ResultText => {
    try {
      return textOf?.(doc) ?? '';
    } catch (error) {
      if (error instanceof Failure) return chatText(rootOf(doc));
      throw error;
    }
  };
  return textOf ? { ...view, textOf: partialTextOf } : view;
}

async function showRemainder(
  doc: JsonDocument,
  endLiveText: ((whole: JsonNode) => Promise<void>) | undefined,
  view: ResultView,
): Promise<void> {
  if (endLiveText) await endLiveText(rootOf(doc));
  // Each chunk was a line.
  else if (view.format !== 'jsonl') await printDocument(doc, view);
}

const MESSAGE = 'choices.message';

/** A printer of the choice that arrives first, with its reasoning on stderr; a character is never split. */
function createLiveTextPrinter(writer: Writer, report: Reporter) {
  const added: MergedText[] = [];
  // The first half of a surrogate pair, kept until the second half arrives.
  let pendingHalf = '';
  let liveChoice: number | undefined;
  let hasContent = false;
  let lastText = '';
  const write = async (text: string): Promise<void> => {
    if (text === '') return;
    await report.endReasoning();
    await writer.write(text);
    lastText = text;
  };
  return {
    add: (text: MergedText): void => void added.push(text),
    /** Prints the added texts. */
    print: async (): Promise<void> => {
      liveChoice ??= added[0]?.choice;
      const texts = added.splice(0).filter(({ choice }) => choice === liveChoice);
      for (const { path, text } of texts) if (path === `${MESSAGE}.reasoning`) await report.reasoning(text);
      for (const { path, text } of texts) {
        hasContent ||= path === `${MESSAGE}.content`;
        if (path !== `${MESSAGE}.content` && (hasContent || path !== `${MESSAGE}.audio.transcript`)) continue;
        const whole = pendingHalf + text;
        pendingHalf = /[\ud800-\udbff]$/.exec(whole)?.[0] ?? '';
        await write(whole.slice(0, whole.length - pendingHalf.length));
      }
    },
    /** Ends the line. What was not printed yet follows from the whole response: tool calls, and further choices. */
    end: async (whole: JsonNode): Promise<void> => {
      await write(pendingHalf);
      await report.endReasoning();
      if (lastText !== '' && !lastText.endsWith('\n')) await writer.write('\n');
      const choices = choicesByIndex(whole);
      for (const [at, choice] of choices.entries()) {
        if ((numberMember(choice, 'index') ?? at) === liveChoice && lastText !== '') continue;
        const heading = choices.length > 1 ? choiceHeading(at + 1) : '';
        await writer.write(heading + ensureFinalNewline(choiceText(getMember(choice, 'message'))));
      }
    },
  };
}
