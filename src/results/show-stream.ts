import { Failure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { getMember, type JsonDocument, type JsonNode, numberMember, rootOf } from '../json/json-node.ts';
import { compactJson } from '../json/write-json.ts';
import { chatText, choiceHeading, choicesByIndex, choiceText, ensureFinalNewline } from '../operations/chat-text.ts';
import type { Reporter } from '../output/reporter.ts';
import { ignoreClosedPipe, type Writer } from '../output/writer.ts';
import type { MergedText } from './chunk-merger.ts';
import { type FoldedStream, foldStream, MAX_STREAM_BYTES } from './fold-stream.ts';
import { printFiltered } from './print-result.ts';
import { isChatText, printDocument, type ResultText, type ResultView, reportChatEnd } from './show-response.ts';

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
    await showRemainder(doc, livePrinter, partialView(view)).catch(() => {});
    return shown;
  }
  try {
    if (filterFailure) throw filterFailure;
    await ignoreClosedPipe(showRemainder(doc, livePrinter, view).then(sink.commit));
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
  livePrinter: LiveTextPrinter | undefined,
  view: ResultView,
): Promise<void> {
  if (livePrinter) await livePrinter.end(rootOf(doc));
  // Each chunk was a line.
  else if (view.format !== 'jsonl') await printDocument(doc, view);
}

interface LiveTextPrinter {
  readonly add: (text: MergedText) => void;
  /** Prints the added texts. */
  readonly print: () => Promise<void>;
  /** Ends the line. What was not printed yet follows from the whole response: tool calls, and further choices. */
  readonly end: (whole: JsonNode) => Promise<void>;
}

const MESSAGE = 'choices.message';

/** A printer of the choice that arrives first, with its reasoning on stderr; a character is never split. */
function createLiveTextPrinter(writer: Writer, report: Reporter): LiveTextPrinter {
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
    add: (text) => void added.push(text),
    print: async () => {
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
    end: async (whole) => {
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
