import { Failure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { getMember, type JsonDocument, type JsonNode, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { compactJson } from '../json/write-json.ts';
import type { Reporter } from '../output/reporter.ts';
import { ignoreClosedPipe, type Writer } from '../output/writer.ts';
import {
  chatText,
  choiceHeading,
  choiceIndex,
  choicesByIndex,
  choiceText,
  completionChoices,
  contentText,
  ensureFinalNewline,
  reasoningText,
} from './chat-text.ts';
import { createStreamMerger, MAX_STREAM_BYTES } from './chunk-merger.ts';
import { unmergedWarning } from './merge-stream.ts';
import { printFiltered } from './print-result.ts';
import { isChatText, printDocument, type ResultText, type ResultView, reportChatEnd } from './show-response.ts';

interface StreamUse {
  /** Only the output is needed, or the response too, or all of it: then a reader that closes the pipe ends only the printing. */
  readonly need: 'output' | 'response' | 'end';
  readonly failureOf: (doc: JsonDocument) => Promise<Failure | undefined>;
}

/** The chunks of a stream as one response, the failure of the stream, and why it could not be printed. */
interface ShownStream {
  readonly doc: JsonDocument;
  readonly failure: Failure | undefined;
  readonly printError: unknown;
}

/**
 * Prints a streamed chat: its text as it arrives, each chunk, or at the end the whole response as one object. If the
 * stream is cut, or if `failureOf` finds that the response failed, the partial output is printed.
 */
export async function showStream(
  chunks: AsyncIterable<JsonNode>,
  { need, failureOf }: StreamUse,
  view: ResultView,
): Promise<ShownStream> {
  const { operation, format, filter, sink, requestedChoices, context } = view;
  const { write } = sink.writer;
  const unmerged = new Set<string>();
  const merged = createStreamMerger(operation.reply, (description) => void unmerged.add(description));
  const livePrinter =
    isChatText(view) && requestedChoices === 1 ? createLiveTextPrinter(sink.writer, context.report) : undefined;
  let filterFailure: Failure | undefined;
  const printChunk = async (chunk: JsonNode): Promise<void> => {
    if (livePrinter) await livePrinter.show(chunk);
    else if (format === 'jsonl' && filter)
      await printFiltered(chunk.doc.bytes.toString(), filter, write).catch(async (error: unknown) => {
        if (!(error instanceof Failure)) throw error;
        // The request was paid for: the chunk is printed as it is, and the stream continues.
        filterFailure ??= error;
        await ignoreClosedPipe(write(`${compactJson(chunk)}\n`));
      });
    else if (format === 'jsonl') await write(`${compactJson(chunk)}\n`);
  };
  try {
    for await (const chunk of chunks) {
      merged.add(chunk);
      if (merged.heldBytes() > MAX_STREAM_BYTES && (need !== 'output' || !(livePrinter || format === 'jsonl')))
        throw new Failure(
          'invalid_response',
          `the stream exceeds the ${formatByteSize(MAX_STREAM_BYTES)} that svc holds`,
          { hint: 'use --format jsonl, or text, to print it as it arrives' },
        );
      const printing = printChunk(chunk);
      await (need === 'end' ? ignoreClosedPipe(printing) : printing);
    }
  } catch (error) {
    const doc = parseJson(merged.toJson());
    // The failure of the stream is the one to report, even if the rest of it cannot be written.
    await showRemainder(doc, livePrinter, partialView(view)).catch(() => {});
    if (!(error instanceof Failure)) throw error;
    return { doc, failure: filterFailure ?? error, printError: undefined };
  }
  const doc = parseJson(merged.toJson());
  if (filterFailure) return { doc, failure: undefined, printError: filterFailure };
  const failure = await failureOf(doc);
  if (failure) {
    await showRemainder(doc, livePrinter, partialView(view)).catch(() => {});
    return { doc, failure, printError: undefined };
  }
  try {
    await ignoreClosedPipe(showRemainder(doc, livePrinter, view).then(sink.commit));
  } catch (printError) {
    return { doc, failure, printError };
  }
  await reportChatEnd(doc, view);
  if (format !== 'jsonl')
    for (const description of unmerged) {
      // Its text was printed as reasoning.
      if (livePrinter && description.endsWith(' thinking')) continue;
      await context.report.warn(unmergedWarning(description));
    }
  return { doc, failure, printError: undefined };
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
  readonly show: (chunk: JsonNode) => Promise<void>;
  /** Ends the line. What was not printed yet follows from the whole response: tool calls, and further choices. */
  readonly end: (whole: JsonNode) => Promise<void>;
}

/** A printer of the choice that arrives first, with its reasoning on stderr; a character is never split. */
function createLiveTextPrinter(writer: Writer, report: Reporter): LiveTextPrinter {
  // The first half of a surrogate pair, kept until the second half arrives.
  let pendingHalf = '';
  let liveIndex: number | undefined;
  let lastText = '';
  const write = async (text: string): Promise<void> => {
    if (text === '') return;
    await report.endReasoning();
    await writer.write(text);
    lastText = text;
  };
  return {
    show: async (chunk) => {
      for (const choice of completionChoices(chunk)) {
        liveIndex ??= choiceIndex(choice);
        if (choiceIndex(choice) !== liveIndex) continue;
        const delta = getMember(choice, 'delta');
        await report.reasoning(reasoningText(delta));
        const text = pendingHalf + contentText(delta);
        pendingHalf = /[\ud800-\udbff]$/.exec(text)?.[0] ?? '';
        await write(text.slice(0, text.length - pendingHalf.length));
      }
    },
    end: async (whole) => {
      await write(pendingHalf);
      await report.endReasoning();
      if (lastText !== '' && !lastText.endsWith('\n')) await writer.write('\n');
      const choices = choicesByIndex(whole);
      for (const [at, choice] of choices.entries()) {
        if (choiceIndex(choice) === liveIndex && lastText !== '') continue;
        const heading = choices.length > 1 ? choiceHeading(at + 1) : '';
        await writer.write(heading + ensureFinalNewline(choiceText(getMember(choice, 'message'))));
      }
    },
  };
}
