import { createBodyInputs } from '../../body/input-reader.ts';
import {
  type ChatExpectations,
  expectationFailure,
  readChatExpectations,
} from '../../client/expectations/chat-expectations.ts';
import { checkReportFiles, runReportFlags } from '../../client/expectations/run-report.ts';
import { appendToHistory, checkHistoryFile, requestHistoryFile } from '../../client/history/request-history.ts';
import type { PreparedRequest } from '../../client/request.ts';
import { recordedUrl, type Settings } from '../../client/settings.ts';
import type { Context } from '../../context.ts';
import { type Failure, toFailure } from '../../errors.ts';
import { getStringFlag, isFlagOn } from '../../flag.ts';
import { firstStringMember, type JsonDocument, rawText, rootOf } from '../../json/json-node.ts';
import { RawJson } from '../../json/write-json.ts';
import { redactSecretFields } from '../../operations/secret-fields.ts';
import { chatStats, type ExchangeTiming, formatChatStats, tokenCount } from '../../results/chat-stats.ts';
import { extractBlock } from '../../results/chat-text.ts';
import { schemaViewText } from '../../results/schema-view.ts';
import type { ResultView } from '../../results/show-response.ts';
import { traceExports } from '../../trace/trace-context.ts';
import type { RequestStart } from './request-command.ts';
import { openSchemaExpectation } from './schema-expectation.ts';

/** What flags ask of a response, besides printing it. */
export interface ResponseHooks {
  /** The text to print instead of the response. */
  readonly textOf: (request: PreparedRequest) => ResultView['textOf'];
  readonly expectations: ChatExpectations | undefined;
  /** Called after the response was printed. Throws Failure `safety_check` if it is not as expected. */
  readonly onResponse: (doc: JsonDocument, timing: ExchangeTiming) => Promise<void>;
}

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

/** Reads the flags and files of all hooks, before the body is built; undefined if flags and history need none. */
export async function readHooks(
  { settings: { history }, flags, deadline }: Pick<RequestStart, 'settings' | 'flags' | 'deadline'>,
  context: Context,
): Promise<ResponseHooks | undefined> {
  if (history === 'off' && !hookFlags.some((name) => flags.has(name))) return undefined;
  const { runtime, report, suspendSignals } = context;
  const { read } = createBodyInputs(context, deadline);
  const expectations = await readChatExpectations(flags, read, suspendSignals);
  const checkSchema = await openSchemaExpectation(flags, read, context);
  await checkReportFiles(flags, runtime.cwd);
  if (history !== 'off') await checkHistoryFile(requestHistoryFile(runtime));
  const [view, extracted] = [getStringFlag(flags, 'view'), getStringFlag(flags, 'extract')];
  return {
    textOf: ({ ids }) => {
      if (isFlagOn(flags, 'export')) return traceExports(runtime.env, ids);
      if (view !== undefined && view !== 'table') return schemaViewText(view);
      return extracted === undefined ? undefined : extractBlock(extracted);
    },
    expectations,
    onResponse: async (doc, timing) => {
      if (isFlagOn(flags, 'stats')) {
        const stats = chatStats(rootOf(doc), timing);
        await report.stats(formatChatStats(stats), stats);
      }
      await checkSchema?.(doc);
      const failure = expectations && expectationFailure(expectations(rootOf(doc), timing.totalMs), {});
      if (failure) throw failure;
    },
  };
}

interface RecordedOutcome {
  /** When it began, in ISO 8601, and how long it took in milliseconds. */
  readonly time: string;
  readonly ms: number;
  readonly status: number | undefined;
  readonly response: JsonDocument | undefined;
  readonly failure: Failure | undefined;
}

/** Appends a request that was sent to the history, if there is one, durably and without the secrets of the run; warns if it cannot. */
export async function recordRequest(
  { operation, draft, ids }: PreparedRequest,
  { history, destination }: Pick<Settings, 'history' | 'destination'>,
  { time, ms, status, response: doc, failure }: RecordedOutcome,
  { runtime, report }: Pick<Context, 'runtime' | 'report'>,
): Promise<void> {
  if (history === 'off') return;
  const response = doc && rootOf(doc);
  const id = firstStringMember(response, 'id');
  const model = firstStringMember(rootOf(draft.doc), 'model') ?? firstStringMember(response, 'model');
  const redactedBody = (): Uint8Array => redactSecretFields(rootOf(draft.doc), operation, (name) => `[${name}]`);
  const record = {
    time,
    command: operation.command.join(' '),
    url: recordedUrl(destination),
    ms: Math.round(ms),
    status: failure?.facts.status ?? status ?? null,
    exit_code: failure?.exitCode ?? 0,
    applied: failure?.facts.applied ?? 'yes',
    ...(model === undefined ? {} : { model }),
    ids: { ...ids, ...(id === undefined || Object.values(ids).includes(id) ? {} : { response: id }) },
    prompt_tokens: tokenCount(response, 'prompt_tokens'),
    completion_tokens: tokenCount(response, 'completion_tokens'),
    ...(history === 'bodies' ? { request: singleLine(redactedBody()) } : {}),
    ...(history === 'bodies' && response ? { response: singleLine(rawText(response)) } : {}),
  };
  await appendToHistory(requestHistoryFile(runtime), record, report, runtime).catch((error: unknown) =>
    report.warn(`the history: ${toFailure(error).message}`),
  );
}

// In JSON, line breaks are only between values.
function singleLine(json: { toString(): string }): RawJson {
  return new RawJson(
    json
      .toString()
      .replace(/[\r\n]+\s*/g, ' ')
      .trim(),
  );
}
