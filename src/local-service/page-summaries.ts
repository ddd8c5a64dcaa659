import { Buffer } from 'node:buffer';
import type { ExchangeSignal } from '../http/message.ts';
import {
  firstStringMember,
  getMember,
  isTrue,
  itemsAt,
  type JsonNode,
  kindOf,
  membersOf,
  numberMember,
  rawText,
  rootOf,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { type JsonValue, RawJson } from '../json/write-json.ts';
import { createDistribution } from '../reports/distribution.ts';
import { createLinter } from '../reports/lint/linter.ts';
import { MAX_CHART_BINS } from '../reports/lint/report.ts';
import { lintMarkup } from '../reports/lint/report-html.ts';
import { addReward, createRewardStats, isTrainable } from '../reports/lint/summary.ts';
import { yieldToEventLoop } from './event-loop.ts';
import { countTraceCalls, readStoredTrajectories, readTraceCalls, readTraceFeedback } from './store/page-queries.ts';
import type { ServiceStore, StoredRow } from './store/service-store.ts';

/** The calls of a trace from the oldest on, at most `limit`, with their feedback, and the number of all. */
export async function readTrace(store: Pick<ServiceStore, 'readRows'>, traceId: string, limit: number) {
  const feedback = new Map<string, StoredRow[]>();
  for (const row of await readTraceFeedback(store, traceId, limit)) {
    const own = feedback.get(callKey(row)) ?? [];
    own.push(row);
    feedback.set(callKey(row), own);
  }
  const calls: ReturnType<typeof summarizeCall>[] = [];
  for await (const rows of readTraceCalls(store, traceId, limit)) {
    for (const row of rows) calls.push(summarizeCall(row, feedback.get(callKey(row))));
    await yieldToEventLoop(undefined);
  }
  return { calls, total: calls.length < limit ? calls.length : await countTraceCalls(store, traceId) };
}

function callKey({ project_id: project, id }: StoredRow): string {
  return JSON.stringify([project, id]);
}

// A call without its inputs, with the duration of the newest feedback that has one, and the other feedback: its type, and the
// first number or boolean of its payload.
function summarizeCall({ project_id: project, id, start, created_at: createdAt }: StoredRow, rows: StoredRow[] = []) {
  const call = tryParse(String(start));
  const op = firstStringMember(call, 'op_name') ?? '';
  let [durationMs, failed]: [number | null, boolean] = [null, false];
  const feedback: string[] = [];
  for (const row of rows.toSorted((left, right) => Number(left.created_at) - Number(right.created_at))) {
    const payload = tryParse(String(row.payload));
    const milliseconds = numberMember(payload, 'duration_ms');
    const members = payload ? Array.from(membersOf(payload)) : [];
    const fact = members.find(({ value }) => ['number', 'boolean'].includes(kindOf(value)));
    const text = fact ? ` ${fact.key}=${rawText(fact.value)}` : '';
    if (milliseconds === undefined) feedback.push(`${row.feedback_type}${text}`);
    durationMs = milliseconds ?? durationMs;
    failed ||= isFailure(payload);
  }
  return {
    ...{ project_id: String(project), id: String(id), parent: firstStringMember(call, 'parent_id') ?? null, op },
    name: firstStringMember(call, 'display_name') ?? (op || String(id)),
    // The time that the call gives, else the time of its arrival.
    startedAt: firstStringMember(call, 'started_at') ?? new Date(Number(createdAt)).toISOString(),
    ...{ durationMs, failed, feedback },
  };
}

function isFailure(payload: JsonNode | undefined): boolean {
  const error = getMember(payload, 'error');
  return (
    (numberMember(payload, 'exit_code') ?? 0) !== 0 ||
    firstStringMember(payload, 'signal', 'error') !== undefined ||
    isTrue(error) ||
    (error !== undefined && kindOf(error) === 'object')
  );
}

// The size of what is read of each trace in a list.
const MAX_SUMMARIZED_CALLS = 100;

/** A row of the list of traces: the row of a call, and what is known of its trace. */
export async function summarizeTrace(store: Pick<ServiceStore, 'readRows'>, row: StoredRow) {
  const { calls, total } = await readTrace(store, String(row.trace_id), MAX_SUMMARIZED_CALLS);
  const own = summarizeCall(row);
  const ids = new Set(calls.map(({ id }) => id));
  const root = calls.find(({ parent }) => parent === null || !ids.has(parent)) ?? own;
  const starts = calls.map(({ startedAt }) => Date.parse(startedAt));
  const ends = calls.map(({ durationMs }, at) => (starts[at] ?? 0) + (durationMs ?? 0));
  return {
    ...own,
    trace: String(row.trace_id),
    created_at: Number(row.created_at),
    root: { id: root.id, name: root.name },
    calls: total,
    durationMs: calls.some(({ durationMs }) => durationMs !== null) ? Math.max(...ends) - Math.min(...starts) : null,
    failed: calls.filter(({ failed }) => failed).length,
    feedback: calls.flatMap(({ feedback }) => feedback),
  };
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
}: StoredRow) {
  const asked = tryParse(String(request));
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
  return (events?.map((event) => event.slice(5)) ?? [response]).flatMap((text) => tryParse(text) ?? []);
}

function messageText(message: JsonNode | undefined): string {
  const parts = itemsAt(message, 'content').map((part) => firstStringMember(part, 'text') ?? '');
  return firstStringMember(message, 'content') ?? parts.join(' ');
}

// What was sent may be any text.
function tryParse(text: string): JsonNode | undefined {
  try {
    return rootOf(parseJson(text));
  } catch {
    return undefined;
  }
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
      return {
        groups,
        'without signal': untrainable,
        trajectories,
        rewards: count,
        ...(finiteCount > 0 ? { mean } : {}),
        ...range,
        bars,
      };
    },
  };
}

/** What `svc train lint --html` shows, of all stored trajectories of a job. */
export async function lintJob(
  store: Pick<ServiceStore, 'readRows'>,
  jobId: string,
  signal: ExchangeSignal | undefined,
): Promise<JsonValue> {
  const { read, finish } = createLinter(undefined);
  await read('', groupTexts(store, jobId, signal), 'groups');
  return new RawJson(JSON.stringify(lintMarkup(finish())));
}

// Groups as a file has them, the empty ones before others included.
async function* groupTexts(store: Pick<ServiceStore, 'readRows'>, jobId: string, signal: ExchangeSignal | undefined) {
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
