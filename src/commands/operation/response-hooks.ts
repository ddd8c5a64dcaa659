import { Buffer } from 'node:buffer';
import { resolve } from 'node:path';
import type { RequestOptions } from '../../batch/batch-flags.ts';
import type { CommandInput } from '../../body/body-base.ts';
import type { StreamedFinding } from '../../body/body-check.ts';
import type { Draft } from '../../body/draft.ts';
import { type BodyInputs, createBodyInputs } from '../../body/input-reader.ts';
import { type ChatExpectations, expectationFailure, readChatExpectations } from '../../client/chat-expectations.ts';
import type { PreparedRequest } from '../../client/request.ts';
import { expectationFlags } from '../../client/request-flags.ts';
import { checkHistoryFile, requestHistoryFile } from '../../client/request-history.ts';
import type { Settings } from '../../client/resolve-settings.ts';
import type { Context } from '../../context.ts';
import { Failure, type Issue, safetyFailure, toFailure, usageFailure } from '../../errors.ts';
import { pathExists } from '../../files/file-errors.ts';
import { nameSameFile, writeFileAtomically } from '../../files/file-replacement.ts';
import { isGiven } from '../../flag.ts';
import type { Deadline } from '../../http/time-limits.ts';
import { firstStringMember, getMember, type JsonDocument, kindOf, rootOf } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { indentJson } from '../../json/write-json.ts';
import type { ReceivedFacts } from '../../operations/received-facts.ts';
import { formatGithubAnnotation, issueText } from '../../output/failure-text.ts';
import { isCi } from '../../output/spinner.ts';
import { pluralize } from '../../output/transfer-text.ts';
import { type RunReport, reportFiles } from '../../reports/run-report.ts';
import { chatStats, type ExchangeTiming, formatChatStats } from '../../results/chat-stats.ts';
import type { JqFilter } from '../../results/jq-filter.ts';
import { extractBlock, payloadTypes, schemaViewText } from '../../results/response-views.ts';
import type { ResultView } from '../../results/show-response.ts';
import { appendGithubVariables, traceExports } from '../../trace/trace-context.ts';

export interface RequestStart {
  readonly settings: Settings;
  readonly options: RequestOptions;
  readonly input: CommandInput;
  /** For reading input, attempts, waits and the response. */
  readonly deadline: Deadline;
  readonly filter: JqFilter | undefined;
  readonly runReport: RunReport | undefined;
}

export interface PrintedResponse {
  readonly doc: JsonDocument;
  readonly timing: ExchangeTiming;
  readonly facts: ReceivedFacts;
}

export interface ResponseHooks {
  /** What makes the check of the response unreliable, to be reported with the findings in the body. */
  readonly findings: (draft: Draft) => readonly StreamedFinding[];
  readonly textOf: (request: PreparedRequest) => ResultView['textOf'];
  readonly expectations: ChatExpectations | undefined;
  /** Called after the response was printed. Throws Failure `safety_check` if it is not as expected. */
  readonly onResponse: (response: PrintedResponse, request: PreparedRequest) => Promise<void>;
}

/** True with a flag that checks or reports the response of a chat. */
export function isExpecting(options: RequestOptions): boolean {
  return isGiven(options, ...expectationFlags.map(({ name }) => name), ...reportFiles.map(({ flag }) => flag));
}

/** Reads the flags and files of all hooks, before the body is built; undefined if flags and history need none. */
export async function readHooks(start: RequestStart, context: Context): Promise<ResponseHooks | undefined> {
  const { options, deadline } = start;
  const { history } = start.settings;
  const { expect, update, view, extract: extracted, stats: hasStats, export: exported } = options;
  const isHooked = [expect, update, view, extracted, hasStats, exported].some((value) => value !== undefined);
  if (history === 'off' && !isHooked && !isExpecting(options)) return undefined;
  const { runtime, report, suspendSignals } = context;
  const { read } = createBodyInputs(context, deadline);
  const expectations = await readChatExpectations(options, read, suspendSignals);
  const checkSchema = await openSchemaExpectation(options, read, context);
  if (history !== 'off') await checkHistoryFile(requestHistoryFile(runtime));
  const githubFile = exported === 'github' ? runtime.env.GITHUB_ENV : undefined;
  if (exported === 'github' && !githubFile)
    throw usageFailure('--export=github needs GITHUB_ENV', 'write: call=$(svc call start --export) && eval "$call"');
  return {
    findings: (draft) => (expect === undefined || selectsFeedback(draft) ? [] : [unselectedFeedback]),
    textOf: (request) => {
      if (exported === true) return traceExports(runtime.env, sentCall(request));
      if (view !== undefined && view !== 'table') return schemaViewText(view);
      return extracted === undefined ? undefined : extractBlock(extracted);
    },
    expectations,
    onResponse: async ({ doc, timing, facts }, request) => {
      if (hasStats) {
        const stats = chatStats(timing, facts);
        await report.stats(formatChatStats(stats), stats);
      }
      if (githubFile) await appendGithubVariables(githubFile, runtime.env, sentCall(request), doc);
      await checkSchema?.(doc, request.draft);
      const failure = expectations && expectationFailure(expectations(rootOf(doc), timing.totalMs), {}, request);
      if (failure) throw failure;
    },
  };
}

function sentCall({ ids, draft }: PreparedRequest) {
  return { ids, projectId: firstStringMember(getMember(rootOf(draft.doc), 'start'), 'project_id') };
}

// The service samples the newest payload of each trigger (docs/internals/servers.md). Without a filter it can be of any type.
function selectsFeedback({ doc }: Draft): boolean {
  return ['feedback_type', 'trigger_ref'].some((name) => firstStringMember(rootOf(doc), name));
}

const unselectedFeedback: StreamedFinding = {
  level: 'warning',
  path: '',
  message: 'with --expect, the schema depends on whose feedback is the newest; add --feedback-type or --trigger-ref',
};

// The hook of `--expect`: throws Failure `safety_check` on drift, or with `--update` writes the file.
async function openSchemaExpectation(options: RequestOptions, read: BodyInputs['read'], { runtime, report }: Context) {
  const { expect: file, update: isUpdate, errorFormat } = options;
  if (file === undefined) {
    if (isUpdate)
      throw usageFailure('--update needs --expect', 'name the file to write: --expect schema.json --update');
    return undefined;
  }
  if (file === '-') throw usageFailure('--expect needs a file, not stdin', 'name a file, such as schema.json');
  const path = resolve(runtime.cwd, file);
  if (await nameSameFile(file, options.output, runtime.cwd))
    throw usageFailure(`--expect and -o name the same file, ${file}`, 'choose another file with -o');
  const exists = await pathExists(path);
  const readSaved = (): Promise<Uint8Array> =>
    read(file).catch((error: unknown) => {
      if (exists) throw error;
      throw toFailure(error).with({ hint: `to save the current schema: --expect ${file} --update`, applied: 'no' });
    });
  const saved = exists || !isUpdate ? await readSaved() : Buffer.alloc(0);
  const root = tryParseJson(saved);
  const isSchema = root && kindOf(root) === 'object' && kindOf(getMember(root, 'paths') ?? root) === 'list';
  if (!isSchema && !(isUpdate && saved.length === 0)) {
    const hint = 'name the file of a saved schema, or a new file with --update';
    throw new Failure('local_file', `${file} is not a saved result of svc feedback schema`, { hint, applied: 'no' });
  }
  if (isUpdate || !root)
    return async (doc: JsonDocument): Promise<void> => {
      requireFeedback(doc, file);
      await writeFileAtomically(path, file, `${indentJson(rootOf(doc))}\n`);
      const count = payloadTypes(doc).length;
      await report.note(`wrote the schema to ${file} (${count} ${pluralize(count, 'path')})`);
    };
  return async (doc: JsonDocument, draft: Draft): Promise<void> => {
    const drift = schemaDrift(groupTypes(root.doc), groupTypes(doc));
    if (drift.length === 0) return;
    requireFeedback(doc, file);
    const counts = `${drift.length} ${pluralize(drift.length, 'path differs', 'paths differ')} from ${file}`;
    const title = `the feedback schema changed: ${counts}`;
    const message = drift.map((issue) => issueText(issue)).join('\n');
    if (isCi(runtime.env) && runtime.env.GITHUB_ACTIONS && errorFormat !== 'json')
      await report.error(formatGithubAnnotation({ level: 'error', title, message, at: { label: file } }));
    throw safetyFailure('expectation', title, {
      issues: drift,
      hint: `${selectsFeedback(draft) ? '' : 'add --feedback-type or --trigger-ref; '}if this is intended: --expect ${file} --update`,
      applied: 'yes',
    });
  };
}

// A schema of no feedback would pass whatever selects none.
function requireFeedback(doc: JsonDocument, file: string): void {
  if (payloadTypes(doc).length > 0) return;
  const message = `no feedback was found, so there is no schema to save in ${file} or to compare with it`;
  const hint =
    'check --project-id, --feedback-type and --since, which may select none; a payload of {} has no fields either';
  throw safetyFailure('expectation', message, { hint, applied: 'yes' });
}

function groupTypes(doc: JsonDocument): ReadonlyMap<string, string> {
  const types = new Map<string, Set<string>>();
  for (const [path, type] of payloadTypes(doc)) types.set(path, (types.get(path) ?? new Set()).add(type));
  return new Map([...types].map(([path, one]) => [path, [...one].sort().join(' or ')]));
}

function schemaDrift(expected: ReadonlyMap<string, string>, actual: ReadonlyMap<string, string>): Issue[] {
  return [...new Set([...expected.keys(), ...actual.keys()])].sort().flatMap((path) => {
    const [before, now] = [expected.get(path), actual.get(path)];
    if (before === now) return [];
    if (before === undefined) return { path, message: `${now} (added)` };
    return { path, message: now === undefined ? `${before} (removed)` : `${before} -> ${now} (changed type)` };
  });
}
