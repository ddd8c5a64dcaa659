import { Buffer } from 'node:buffer';
import type { ExchangeSignal } from '../http/message.ts';
import {
  firstStringMember,
  getMember,
  itemsAt,
  type JsonNode,
  kindOf,
  numberMember,
  rawText,
} from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { type JsonValue, RawJson } from '../json/write-json.ts';
import { createDistribution } from '../reports/distribution.ts';
import { addReward, createLinter, createRewardStats, isTrainable, type LintResult } from '../reports/lint/linter.ts';
import { lintMarkup, MAX_CHART_BINS } from '../reports/lint/report.ts';
import { element, type Markup, tableOf } from '../reports/report-page.ts';
import { parametersOf } from '../train/job-parameters.ts';
import { yieldToEventLoop } from './event-loop.ts';
import {
  countTraceCalls,
  type PageRow,
  type Parameters,
  readMatches,
  readStoredTrajectories,
  readTraceFeedback,
  readTraceSummaries,
} from './store/page-queries.ts';
import { type StoredRow, select } from './store/row-query.ts';
import type { ServiceStore } from './store/service-store.ts';

type Store = Pick<ServiceStore, 'readRows'>;

/** The calls of a trace from the oldest on, at most `limit`, with their feedback, and the number of all. */
export async function readTrace(store: Store, parameters: Parameters, limit: number) {
  const { id = '' } = parameters;
  const feedback = groupRows(await readTraceFeedback(store, [id], limit), keyOfCall);
  const matches = new Set((await readMatches(store, [id], parameters)).map(keyOfCall));
  const calls: { readonly [name: string]: JsonValue }[] = [];
  for await (const rows of readTraceSummaries(store, id, limit)) {
    for (const row of rows) {
      const key = keyOfCall(row);
      calls.push({
        ...{ project_id: String(row.project_id), id: String(row.id), name: String(row.name), op: String(row.op_name) },
        parent: row.parent_id === null ? null : String(row.parent_id),
        startedMs: Number(row.started_ms),
        durationMs: row.duration_ms === null ? null : Number(row.duration_ms),
        failed: Number(row.failed) > 0,
        feedback: (feedback.get(key) ?? []).map(badgeText),
        isMatch: matches.has(key),
      });
    }
    await yieldToEventLoop(undefined);
  }
  return { calls, total: calls.length < limit ? calls.length : await countTraceCalls(store, id) };
}

function groupRows<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return groups;
}

function keyOfCall({ project_id: project, id }: StoredRow<'project_id' | 'id'>): string {
  return JSON.stringify([project, id]);
}

function badgeText({ feedback_type: type, fact }: StoredRow<'feedback_type' | 'fact'>): string {
  return fact === null ? String(type) : `${type} ${fact}`;
}

const MAX_PAGE_FEEDBACK = 1000;

/** The rows of the list of traces: what is known of each, and the calls that match. */
export async function summarizeTraces(store: Store, rows: readonly PageRow<'calls'>[], parameters: Parameters) {
  const ids = rows.map(({ trace_id: id }) => String(id));
  const ofTrace = ({ trace_id: id }: StoredRow<'trace_id'>): string => String(id);
  const feedback = groupRows(await readTraceFeedback(store, ids, MAX_PAGE_FEEDBACK), ofTrace);
  const matches = groupRows(await readMatches(store, ids, parameters), ofTrace);
  return rows.map((row): JsonValue => {
    const { trace_id: id, duration_ms: duration } = row;
    return {
      ...{ trace: String(id), project_id: String(row.root_project ?? ''), id: String(row.root_id ?? '') },
      ...{ name: String(row.name ?? row.root_id), op: String(row.op_name ?? '') },
      ...{ startedMs: Number(row.started_ms), durationMs: Number(duration) < 0 ? null : Number(duration) },
      ...{ calls: Number(row.calls), failed: Number(row.failed) },
      feedback: (feedback.get(String(id)) ?? []).map(badgeText),
      matches: (matches.get(String(id)) ?? []).map(({ project_id: project, id: call, name }) => {
        return { project_id: String(project), id: String(call), name: String(name) };
      }),
    };
  });
}

// The end of a stream has the reason it ended and the tokens; chunks are small.
const MAX_READ_EVENTS = 8;
const MAX_TITLE_CHARS = 200;

/** A row of the list of chats: the question, and what is known of the response. */
export function summarizeChat({
  id,
  request,
  response,
  status,
  duration_ms: duration,
  created_at: createdAt,
}: PageRow<'chats'>) {
  const asked = tryParseJson(String(request));
  const parts = responseParts(String(response));
  const messages = itemsAt(asked, 'messages');
  const question = messages.findLast((message) => firstStringMember(message, 'role') === 'user');
  const usage = parts.map((part) => getMember(part, 'usage')).find((node) => node && kindOf(node) === 'object');
  const choices = parts.flatMap((part) => itemsAt(part, 'choices'));
  const error = parts.map((part) => getMember(part, 'error')).find((node) => node && kindOf(node) === 'object');
  return {
    id: String(id),
    created_at: Number(createdAt),
    status: Number(status),
    durationMs: duration === null || duration === undefined ? null : Number(duration),
    title: messageText(question).slice(0, MAX_TITLE_CHARS),
    model: firstStringMember(parts[0], 'model') ?? firstStringMember(asked, 'model') ?? '',
    promptTokens: numberMember(usage, 'prompt_tokens') ?? null,
    completionTokens: numberMember(usage, 'completion_tokens') ?? null,
    finish: choices.map((choice) => firstStringMember(choice, 'finish_reason')).find((reason) => reason) ?? '',
    error: error ? (firstStringMember(error, 'message') ?? rawText(error)) : '',
  };
}

function responseParts(response: string): JsonNode[] {
  const events = response.match(/^data: ?\{.*$/gm)?.slice(-MAX_READ_EVENTS);
  return (events?.map((event) => event.slice(5)) ?? [response]).flatMap((text) => tryParseJson(text) ?? []);
}

function messageText(message: JsonNode | undefined): string {
  const parts = itemsAt(message, 'content').map((part) => firstStringMember(part, 'text') ?? '');
  return firstStringMember(message, 'content') ?? parts.join(' ');
}

/** The rewards of a job in the order of its trajectories, for its row in the list of jobs. */
export function createJobRewards() {
  const rewards = createRewardStats();
  const histogram = createDistribution();
  let [groups, untrainable, trajectories] = [0, 0, 0];
  let groupRewards = createRewardStats();
  const closeGroup = (): void => {
    if (groups > 0 && !isTrainable(groupRewards)) untrainable += 1;
    groupRewards = createRewardStats();
  };
  return {
    addGroup: (): void => {
      closeGroup();
      groups += 1;
    },
    add: (trajectory: JsonNode): void => {
      trajectories += 1;
      const reward = getMember(trajectory, 'reward');
      if (!reward || kindOf(reward) !== 'number') return;
      const text = rawText(reward);
      addReward(rewards, text);
      addReward(groupRewards, text);
      if (Number.isFinite(Number(text))) histogram.add(Number(text));
    },
    finish: (): JsonValue => {
      closeGroup();
      const { count, finiteCount, mean, min, max } = rewards;
      const range = count === 0 ? {} : { min: new RawJson(min), max: new RawJson(max) };
      const bars = histogram.bins(MAX_CHART_BINS).map((bin) => bin.count);
      const counts = { groups, 'without signal': untrainable, trajectories, rewards: count };
      return { ...counts, ...(finiteCount > 0 ? { mean } : {}), ...range, bars };
    },
  };
}

/** What `svc train lint --html` shows, of all stored trajectories of a job, or of two jobs beside each other. */
export async function lintJobs(
  store: Store,
  jobIds: readonly string[],
  signal: ExchangeSignal | undefined,
): Promise<JsonValue> {
  const results: LintResult[] = [];
  const names: string[] = [];
  const configs: Map<string, string>[] = [];
  for (const id of jobIds) {
    const { read, finish } = createLinter(undefined);
    await read('', groupTexts(store, id, signal), 'groups');
    results.push(finish());
    const columns = ['model_id', 'experimental_config'] as const;
    const [job] = await store.readRows(select(columns, 'from @jobs where id = ?', [id]));
    const config = tryParseJson(String(job?.experimental_config));
    configs.push(new Map([['model_id', JSON.stringify(job?.model_id ?? null)], ...parametersOf(config)]));
    names.push(jobIds.length === 1 ? '' : (firstStringMember(config, 'name') ?? id));
  }
  if (names.length > 1 && names[0] === names[1]) names.splice(0, 2, ...jobIds);
  const compared = names.length > 1 ? configurationTable(configs, names) : [];
  const [figures = '', ...others] = lintMarkup(results, names);
  return new RawJson(JSON.stringify([figures, ...compared, ...others]));
}

// The configurations beside each other; the parameters that differ are marked.
function configurationTable(configs: readonly ReadonlyMap<string, string>[], names: readonly string[]): Markup[] {
  const rows = [...new Set(configs.flatMap((config) => [...config.keys()]))].map((name) => {
    const values = configs.map((config) => config.get(name) ?? '-');
    return [values[0] === values[1] ? name : element('b', `≠ ${name}`), ...values];
  });
  return [element('h2', 'Configuration'), ...tableOf(['Parameter', ...names], rows)];
}

// Groups as a file has them, the empty ones before others included.
async function* groupTexts(store: Store, jobId: string, signal: ExchangeSignal | undefined) {
  let group = -1;
  for await (const rows of readStoredTrajectories(store, jobId)) {
    let text = '';
    for (const row of rows) {
      if (group === Number(row.group_index)) text += ',';
      for (; group < Number(row.group_index); group += 1) text += `${group < 0 ? '' : ']}'}{"trajectories":[`;
      text += String(row.trajectory);
    }
    yield Buffer.from(text);
    await yieldToEventLoop(signal);
  }
  if (group >= 0) yield Buffer.from(']}');
}
