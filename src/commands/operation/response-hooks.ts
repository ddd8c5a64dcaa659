import { createInputReader } from '../../body/input-reader.ts';
import {
  type ChatExpectations,
  expectationFailure,
  readChatExpectations,
} from '../../client/expectations/chat-expectations.ts';
import { checkReportFiles, runReportFlags } from '../../client/expectations/run-report.ts';
import { checkHistoryFile, requestHistoryFile } from '../../client/history/request-history.ts';
import type { PreparedRequest } from '../../client/request.ts';
import type { Context } from '../../context.ts';
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

export interface ResponseHooks {
  readonly textOf: (request: PreparedRequest) => ResultView['textOf'];
  readonly expectations: ChatExpectations | undefined;
  /** Called after the response was printed. Throws Failure `safety_check` if it is not as expected. */
  readonly onResponse: (doc: JsonDocument, timing: ExchangeTiming) => Promise<void>;
}

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
  const { read } = createInputReader(context, deadline);
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

/** What the history keeps of the content of a request and its response, without secret fields. */
export function historyContent(
  { operation, draft, ids }: PreparedRequest,
  doc: JsonDocument | undefined,
  hasBodies: boolean,
) {
  const body = rootOf(draft.doc);
  const response = doc && rootOf(doc);
  const id = firstStringMember(response, 'id');
  const model = firstStringMember(body, 'model') ?? firstStringMember(response, 'model');
  return {
    ...(model === undefined ? {} : { model }),
    ids: { ...ids, ...(id === undefined || Object.values(ids).includes(id) ? {} : { response: id }) },
    prompt_tokens: tokenCount(response, 'prompt_tokens'),
    completion_tokens: tokenCount(response, 'completion_tokens'),
    ...(hasBodies ? { request: singleLine(redactSecretFields(body, operation, (name) => `[${name}]`)) } : {}),
    ...(hasBodies && response ? { response: singleLine(rawText(response)) } : {}),
  };
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
