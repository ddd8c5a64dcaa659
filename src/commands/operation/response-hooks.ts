import { createInputReader } from '../../body/input-reader.ts';
import {
  type ChatExpectations,
  expectationFailure,
  readChatExpectations,
} from '../../client/expectations/chat-expectations.ts';
import { checkReportFiles, openRunReport, runReportFlags } from '../../client/expectations/run-report.ts';
import { appendToHistory, checkHistoryFile, requestHistoryFile } from '../../client/history/request-history.ts';
import type { PreparedRequest } from '../../client/request.ts';
import { recordedUrl, type Settings } from '../../client/settings.ts';
import type { Context } from '../../context.ts';
import { type Failure, toFailure } from '../../errors.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../../flag.ts';
import { firstStringMember, type JsonDocument, type JsonNode, rawText, rootOf } from '../../json/json-node.ts';
import { type JsonValue, RawJson } from '../../json/write-json.ts';
import { redactSecretFields } from '../../operations/secret-fields.ts';
import { ClosedPipeError } from '../../output/writer.ts';
import { chatStats, type ExchangeTiming, formatChatStats, tokenCount } from '../../results/chat-stats.ts';
import { extractBlock } from '../../results/chat-text.ts';
import { schemaViewText } from '../../results/schema-view.ts';
import type { ResultView } from '../../results/show-response.ts';
import { traceExports } from '../../trace/trace-context.ts';
import type { RequestStart } from './request-command.ts';
import { openSchemaExpectation } from './schema-expectation.ts';

/** The actions of flags and history on a response, besides printing it. */
export interface ResponseHooks {
  /** Prints this text instead of the response. */
  readonly textOf: ResultView['textOf'];
  /** Called with a complete response before it is printed. */
  readonly onDocument: (doc: JsonDocument) => void;
  /** Called after the response was printed. Throws Failure `safety_check` if it is not as expected. */
  readonly onResponse: (doc: JsonDocument, timing: ExchangeTiming) => Promise<void>;
  /** The response is checked or reported, so that a stream is read to its end. */
  readonly isReadToEnd: boolean;
  /** Called once at the end of the request, with its error if there is one. */
  readonly onEnd: (error: unknown) => Promise<void>;
}

/** Opens the hooks of one request, which is then sent. */
export type OpenResponseHooks = (request: PreparedRequest) => Promise<ResponseHooks>;

/** Flags about expectations of a chat. */
export const expectFlags = [
  'expect-text',
  'expect-not',
  'expect-schema',
  'expect-finish',
  'expect-max-latency',
  ...runReportFlags,
];

const hookFlags = [...expectFlags, 'expect', 'update', 'view', 'extract', 'stats', 'export'];

/**
 * Reads the flags and files of all hooks; undefined if flags and history need none. Throws usage, and Failure `local_file` for
 * files.
 */
export async function readHooks(
  { settings: { history, destination }, flags, deadline }: Pick<RequestStart, 'settings' | 'flags' | 'deadline'>,
  context: Context,
): Promise<OpenResponseHooks | undefined> {
  if (history === 'off' && !hookFlags.some((name) => flags.has(name))) return undefined;
  const { read } = createInputReader(context, deadline);
  const expectations = await readChatExpectations(flags, read, context.suspendSignals);
  const checkSchema = await openSchemaExpectation(flags, read, context);
  await checkReportFiles(flags, context.runtime.cwd);
  if (history !== 'off') await checkHistoryFile(requestHistoryFile(context.runtime));
  return (request) => openResponseHooks(request, { flags, history, destination, expectations, checkSchema }, context);
}

interface HookInputs extends Pick<Settings, 'history' | 'destination'> {
  readonly flags: FlagValues;
  readonly expectations: ChatExpectations | undefined;
  readonly checkSchema: ((doc: JsonDocument) => Promise<void>) | undefined;
}

async function openResponseHooks(
  { operation, draft, ids }: PreparedRequest,
  { flags, history, destination, expectations, checkSchema }: HookInputs,
  context: Context,
): Promise<ResponseHooks> {
  const { runtime, report } = context;
  const title = `svc ${operation.command.join(' ')}`;
  const runReport = await openRunReport(flags, title, context);
  const startedAt = runtime.now();
  const start = runtime.elapsed();
  let response: JsonDocument | undefined;
  let timing: ExchangeTiming | undefined;
  let isReported = false;
  const duration = (): number => timing?.totalMs ?? runtime.elapsed() - start;
  const saveReport = async (failure: Failure | undefined): Promise<void> => {
    if (isReported) return;
    isReported = true;
    runReport?.add(1, title, duration(), failure);
    await runReport?.save();
  };
  return {
    textOf: isFlagOn(flags, 'export') ? traceExports(runtime.env, ids) : textOfFlags(flags),
    isReadToEnd: (expectations ?? runReport) !== undefined,
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
      const record = {
        time: new Date(startedAt).toISOString(),
        command: operation.command.join(' '),
        url: recordedUrl(destination),
        ms: Math.round(duration()),
        status,
        exit_code: failure?.exitCode ?? 0,
        applied: failure?.facts.applied ?? 'yes',
        ...recordedContent({ operation, draft, ids }, response && rootOf(response), history === 'bodies'),
      };
      await appendToHistory(requestHistoryFile(runtime), record, report, runtime).catch((historyError: unknown) =>
        report.warn(`the history: ${toFailure(historyError).message}`),
      );
    },
  };
}

function textOfFlags(flags: FlagValues): ResultView['textOf'] {
  const [view, kind] = [getStringFlag(flags, 'view'), getStringFlag(flags, 'extract')];
  if (view !== undefined && view !== 'table') return schemaViewText(view);
  return kind === undefined ? undefined : extractBlock(kind);
}

function recordedContent(
  { operation, draft, ids }: Pick<PreparedRequest, 'operation' | 'draft' | 'ids'>,
  response: JsonNode | undefined,
  hasBodies: boolean,
): { readonly [name: string]: JsonValue } {
  const id = firstStringMember(response, 'id');
  const model = firstStringMember(rootOf(draft.doc), 'model') ?? firstStringMember(response, 'model');
  return {
    ...(model === undefined ? {} : { model }),
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
