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
import { yieldToEventLoop } from './event-loop.ts';
import { countTraceCalls, readTraceCalls, readTraceFeedback } from './store/page-queries.ts';
import type { ServiceStore, StoredRow } from './store/service-store.ts';

/** A call in a trace, without its inputs. */
export interface TraceCall {
  readonly project_id: string;
  readonly id: string;
  readonly parent: string | null;
  readonly op: string;
  readonly name: string;
  /** The time that the call gives, else the time of its arrival. */
  readonly startedAt: string;
  /** As the newest feedback with a `duration_ms` says; null while there is none. */
  readonly durationMs: number | null;
  readonly failed: boolean;
  /** Feedback other than about the exit: its type, and the first number or boolean of its payload. */
  readonly feedback: string[];
}

/** The calls of a trace from the oldest on, at most `limit`, with their feedback, and the number of all. */
export async function readTrace(
  store: Pick<ServiceStore, 'readRows'>,
  traceId: string,
  limit: number,
): Promise<{ readonly calls: readonly TraceCall[]; readonly total: number }> {
  const calls = new Map<string, TraceCall>();
  for await (const rows of readTraceCalls(store, traceId, limit)) {
    for (const row of rows) calls.set(callKey(row), summarizeCall(row));
    await yieldToEventLoop(undefined);
  }
  const feedback = await readTraceFeedback(store, traceId, limit);
  for (const row of feedback.toSorted((left, right) => Number(left.created_at) - Number(right.created_at))) {
    const call = calls.get(callKey(row));
    if (call) calls.set(callKey(row), withFeedback(call, String(row.feedback_type), parsed(row.payload)));
  }
  const isAll = calls.size < limit;
  return { calls: [...calls.values()], total: isAll ? calls.size : await countTraceCalls(store, traceId) };
}

function callKey({ project_id: project, id }: StoredRow): string {
  return JSON.stringify([project, id]);
}

function parsed(text: unknown): JsonNode {
  return rootOf(parseJson(String(text)));
}

function summarizeCall({ project_id: project, id, start, created_at: createdAt }: StoredRow): TraceCall {
  const call = parsed(start);
  const op = firstStringMember(call, 'op_name') ?? '';
  return {
    project_id: String(project),
    id: String(id),
    parent: firstStringMember(call, 'parent_id') ?? null,
    op,
    name: firstStringMember(call, 'display_name') ?? (op || String(id)),
    startedAt: firstStringMember(call, 'started_at') ?? new Date(Number(createdAt)).toISOString(),
    durationMs: null,
    failed: false,
    feedback: [],
  };
}

function withFeedback(call: TraceCall, type: string, payload: JsonNode): TraceCall {
  const durationMs = numberMember(payload, 'duration_ms');
  const error = getMember(payload, 'error');
  const failed =
    (numberMember(payload, 'exit_code') ?? 0) !== 0 ||
    firstStringMember(payload, 'signal', 'error') !== undefined ||
    isTrue(error) ||
    (error !== undefined && kindOf(error) === 'object');
  const fact = Array.from(membersOf(payload)).find(({ value }) => ['number', 'boolean'].includes(kindOf(value)));
  const text = fact ? `${type} ${fact.key}=${rawText(fact.value)}` : type;
  return {
    ...call,
    durationMs: durationMs ?? call.durationMs,
    failed: failed || call.failed,
    feedback: durationMs === undefined ? [...call.feedback, text] : call.feedback,
  };
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
    ...{ project_id: own.project_id, id: own.id, name: own.name, op: own.op, startedAt: own.startedAt },
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
