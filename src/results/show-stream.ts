import { createChunkMerger } from '../client/chunk-merger.ts';
import { createMemoryBudget } from '../client/memory-budget.ts';
import type { Context } from '../context.ts';
import { Failure } from '../errors.ts';
import { compactJson } from '../json/format-json.ts';
import { firstStringMember, getMember, type JsonNode, rootOf } from '../json/json-node.ts';
import { type JsonDocument, parseJson } from '../json/parse-json.ts';
import { chatText, completionChoices, reasoningText } from './chat-text.ts';
import { isChatText, printDocument, type ResultView, reportChatEnd } from './show-response.ts';

/** What is wanted of a stream: so many choices, and all of it at the end for other purposes than showing it. */
export interface StreamOptions {
  readonly choices: number;
  readonly isDocumentNeeded: boolean;
}

// Of a stream that is put together. What is shown as it comes may be of any length.
const MAX_STREAM_BYTES = 8 * 1024 * 1024;

/**
 * Shows a streamed chat as it comes: its text, or each chunk, or at the end the whole reply as one object. Returns the
 * whole. Where the stream breaks off, what has come is kept, and the failure of the stream is thrown.
 */
export async function showStream(
  chunks: AsyncIterable<JsonNode>,
  { choices, isDocumentNeeded }: StreamOptions,
  view: ResultView,
): Promise<JsonDocument> {
  const { operation, format, sink } = view;
  const memoryBudget = createMemoryBudget(MAX_STREAM_BYTES);
  const merged = createChunkMerger(operation.reply, memoryBudget);
  const livePrinter = isChatText(view) && choices === 1 ? createLivePrinter(view) : undefined;
  try {
    for await (const chunk of chunks) {
      merged.addChunk(chunk);
      if (!memoryBudget.isWithinLimit() && (isDocumentNeeded || !(livePrinter || format === 'jsonl')))
        throw new Failure('answer', `the stream is longer than what can be held (${MAX_STREAM_BYTES} bytes)`);
      if (livePrinter) await livePrinter.show(chunk);
      else if (format === 'jsonl') await sink.writer.write(`${compactJson(chunk.doc)}\n`);
    }
  } catch (error) {
    // How the stream failed is what has to be told, also where the rest of it cannot be written.
    await showRemainder(parseJson(merged.toJson()), livePrinter, view).catch(() => {});
    throw error;
  }
  const doc = parseJson(merged.toJson());
  await showRemainder(doc, livePrinter, view);
  await sink.commit();
  await reportChatEnd(doc, view);
  return doc;
}

async function showRemainder(
  doc: JsonDocument,
  livePrinter: LiveTextPrinter | undefined,
  view: ResultView,
): Promise<void> {
  if (livePrinter) await livePrinter.end(doc);
  // Each chunk was a line.
  else if (view.format !== 'jsonl') await printDocument(doc, view);
}

interface LiveTextPrinter {
  readonly show: (chunk: JsonNode) => Promise<void>;
  /** Ends the line; a reply that had no text but called tools is shown from the whole. */
  readonly end: (whole: JsonDocument) => Promise<void>;
}

function createLivePrinter({ sink, context }: ResultView): LiveTextPrinter {
  let lastText = '';
  let pendingReasoning = '';
  return {
    show: async (chunk) => {
      for (const choice of completionChoices(chunk)) {
        const delta = getMember(choice, 'delta');
        const reasoning = reasoningText(delta);
        if (reasoning) await context.report.dimText(reasoning);
        pendingReasoning = reasoning || pendingReasoning;
        const text = firstStringMember(delta, 'content');
        if (!text) continue;
        pendingReasoning = await endReasoning(pendingReasoning, context);
        await sink.writer.write(text);
        lastText = text;
      }
    },
    end: async (whole) => {
      await endReasoning(pendingReasoning, context);
      if (lastText !== '') await sink.writer.write(lastText.endsWith('\n') ? '' : '\n');
      else await sink.writer.write(chatText(rootOf(whole)));
    },
  };
}

async function endReasoning(pendingReasoning: string, { report }: Context): Promise<string> {
  if (pendingReasoning !== '' && !pendingReasoning.endsWith('\n')) await report.dimText('\n');
  return '';
}
