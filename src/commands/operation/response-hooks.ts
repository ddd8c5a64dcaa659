import type { Draft } from '../../body/draft.ts';
import { createInputReader } from '../../body/input-reader.ts';
import { expectationFailure, readChatExpectations } from '../../client/expectations/chat-expectations.ts';
import { checkJunitFile, openJunitReport } from '../../client/expectations/junit-report.ts';
import {
  appendToHistory,
  checkHistoryFile,
  type HistoryMode,
  requestHistoryFile,
} from '../../client/history/request-history.ts';
import { recordIds } from '../../client/idempotency.ts';
import type { Context } from '../../context.ts';
import { type Failure, toFailure } from '../../errors.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../../flag.ts';
import type { Deadline } from '../../http/deadline.ts';
import { firstStringMember, type JsonNode, rawText, rootOf } from '../../json/json-node.ts';
import type { JsonDocument } from '../../json/parse-json.ts';
import { type JsonValue, RawJson } from '../../json/write-json.ts';
import type { Operation } from '../../operations/operation.ts';
import { redactSecretFields } from '../../operations/secret-fields.ts';
import { ClosedPipeError } from '../../output/writer.ts';
import { chatStats, type ExchangeTiming, formatChatStats, tokenCount } from '../../results/chat-stats.ts';
import { extractBlock } from '../../results/extract-block.ts';
import { logprobsView } from '../../results/logprobs-view.ts';
import { schemaViewText } from '../../results/schema-view.ts';
import type { ResultView } from '../../results/show-response.ts';
import { openSchemaExpectation } from './schema-expectation.ts';
import type { SendOptions } from './send-and-show.ts';

/** The actions of flags and history on a response, besides printing it. */
export interface ResponseHooks {
  /** Prints this text instead of the response. */
  readonly textOf: ResultView['textOf'];
  /** Called with a complete response before it is printed. */
  readonly onDocument: (doc: JsonDocument) => void;
  /** Called after the response was printed. Throws Failure `guard` if it is not as expected. */
  readonly onResponse: (doc: JsonDocument, timing: ExchangeTiming) => Promise<void>;
  /** The response is checked or reported, so that a stream is read to its end. */
  readonly isReadToEnd: boolean;
  /** Called once at the end of the request, with its error if there is one. */
  readonly onEnd: (error: unknown) => Promise<void>;
}

/** Opens the hooks of one request, which is then sent. */
export type OpenResponseHooks = (request: Pick<SendOptions, 'prepared' | 'destination'>) => Promise<ResponseHooks>;

/** Reads the flags and files of all hooks. Throws usage, and Failure `local` for files. */
export async function readResponseHooks(
  flags: FlagValues,
  history: HistoryMode,
  deadline: Deadline,
  context: Context,
): Promise<OpenResponseHooks> {
  const { read } = createInputReader(context, deadline);
  const expectations = await readChatExpectations(flags, read, context.suspendSignals);
  const checkSchema = await openSchemaExpectation(flags, read, context);
  await checkJunitFile(flags, context.runtime.cwd);
  if (history !== 'off') await checkHistoryFile(requestHistoryFile(context.runtime));
  return (request) => openResponseHooks(request, { flags, history, expectations, checkSchema }, context);
}

interface HookInputs {
  readonly flags: FlagValues;
  readonly history: HistoryMode;
  readonly expectations: Awaited<ReturnType<typeof readChatExpectations>>;
  readonly checkSchema: Awaited<ReturnType<typeof openSchemaExpectation>>;
}

async function openResponseHooks(
  { prepared: { operation, draft }, destination }: Parameters<OpenResponseHooks>[0],
  { flags, history, expectations, checkSchema }: HookInputs,
  context: Context,
): Promise<ResponseHooks> {
  const { runtime, report } = context;
  const junit = await openJunitReport(flags, context);
  const startedAt = runtime.now();
  const start = runtime.elapsed();
  let response: JsonDocument | undefined;
  let timing: ExchangeTiming | undefined;
  let isReported = false;
  const duration = (): number => timing?.totalMs ?? runtime.elapsed() - start;
  const saveReport = async (failure: Failure | undefined): Promise<void> => {
    if (isReported) return;
    isReported = true;
    junit?.add(`svc ${operation.command.join(' ')}`, duration(), failure);
    await junit?.save();
  };
  return {
    textOf: textOfFlags(flags),
    isReadToEnd: (expectations ?? junit) !== undefined,
    onDocument: (doc) => {
      response = doc;
    },
    onResponse: async (doc, responseTiming) => {
      timing = responseTiming;
      if (isFlagOn(flags, 'stats')) {
        const stats = chatStats(rootOf(doc), timing);
        await report.stats(formatChatStats(stats), stats);
      }
      await checkSchema?.(doc);
      const failure = expectations && expectationFailure(expectations(rootOf(doc), timing.totalMs), {});
      if (failure) throw failure;
      await saveReport(undefined);
    },
    onEnd: async (error) => {
      const isPipeClosed = error instanceof ClosedPipeError;
      const failure = error === undefined || isPipeClosed ? undefined : toFailure(error);
      await saveReport(failure).catch((reportError: unknown) => report.warn(toFailure(reportError).message));
      const isSent = response !== undefined || isPipeClosed || (failure?.facts.attempts ?? 0) > 0;
      if (history === 'off' || !isSent) return;
      const status = failure?.facts.status ?? timing?.status ?? null;
      const url = destination.isLocal ? 'local' : (destination.url?.href ?? '');
      await appendToHistory(requestHistoryFile(runtime), {
        time: new Date(startedAt).toISOString(),
        command: operation.command.join(' '),
        url,
        ms: Math.round(duration()),
        status,
        exit_code: failure?.exitCode ?? 0,
        applied: failure?.facts.applied ?? 'yes',
        ...recordedContent(operation, draft, response && rootOf(response), history === 'bodies'),
      }).catch((historyError: unknown) => report.warn(`the history: ${toFailure(historyError).message}`));
    },
  };
}

function textOfFlags(flags: FlagValues): ResultView['textOf'] {
  const [view, kind] = [getStringFlag(flags, 'view'), getStringFlag(flags, 'extract')];
  if (view !== undefined && view !== 'table') return schemaViewText(view);
  if (kind !== undefined) return extractBlock(kind);
  return isFlagOn(flags, 'logprobs-view') ? logprobsView : undefined;
}

function recordedContent(
  operation: Operation,
  draft: Draft,
  response: JsonNode | undefined,
  hasBodies: boolean,
): { readonly [name: string]: JsonValue } {
  const id = firstStringMember(response, 'id');
  const ids = recordIds(operation, rootOf(draft.doc));
  return {
    ids: { ...ids, ...(id === undefined || Object.values(ids).includes(id) ? {} : { response: id }) },
    prompt_tokens: tokenCount(response, 'prompt_tokens'),
    completion_tokens: tokenCount(response, 'completion_tokens'),
    ...(hasBodies
      ? { request: new RawJson(singleLine(redactSecretFields(rootOf(draft.doc), operation, (name) => `[${name}]`))) }
      : {}),
    ...(hasBodies && response ? { response: new RawJson(singleLine(rawText(response))) } : {}),
  };
}

// In JSON, line breaks are only between values.
function singleLine(json: { toString(): string }): string {
  return json
    .toString()
    .replace(/[\r\n]+\s*/g, ' ')
    .trim();
}
