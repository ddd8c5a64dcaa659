import { getHeader, type HttpHeaders } from '../http/message.ts';
import { firstStringMember, getMember, itemsAt, type JsonNode, kindOf, rawText } from '../json/json-node.ts';
import { type JsonValue, RawJson } from '../json/write-json.ts';
import { isEmptyChat, toolCalls, toolName } from './chat-text.ts';

/** Where a fact is shown: error objects, result lines, the history, `--stats`, JUnit files; `--verbose` shows all of them. */
type FactPlace = 'error' | 'result' | 'history' | 'stats' | 'junit';

export interface FactSource {
  readonly headers: HttpHeaders;
  readonly response?: JsonNode | undefined;
  /** The code of an error that the service reported. */
  readonly serviceCode?: string | undefined;
  readonly errorBody?: string | undefined;
}

// `total`: in the reports of a batch, the sum of numbers, or how often it or each of its values came.
type FactField = {
  readonly meaning: string;
  readonly places: readonly FactPlace[];
  /** Where the fact is null if the response does not have it. */
  readonly nullIn?: readonly FactPlace[];
} & (
  | { readonly total?: 'count'; readonly read: (source: FactSource) => JsonValue | undefined }
  | { readonly total: 'sum'; readonly read: (source: FactSource) => RawJson | undefined }
  | { readonly total: 'counts'; readonly read: (source: FactSource) => readonly JsonValue[] | undefined }
);

/** What svc reads of a response besides its result: each field by its name in JSON. To add one, add an entry. */
const factFields = {
  service_code: {
    meaning: 'Code of the error, if the service sent one',
    places: ['error', 'result'],
    read: ({ serviceCode }) => serviceCode,
  },
  body: {
    meaning: 'Body of the error, as JSON if it is complete, else as text: at most 64 KiB, in result lines 8 KiB',
    places: ['error'],
    read: ({ errorBody }) => errorBody || undefined,
  },
  request_id: {
    meaning: 'Id of the request in the logs of the service, if it sent one',
    places: ['error', 'result', 'junit'],
    read: ({ headers }) => responseRequestId(headers),
  },
  rate_limit: {
    meaning: 'Response headers about rate limits, by name',
    places: ['error', 'result'],
    read: ({ headers }) => rateLimitHeaders(headers),
  },
  response_id: {
    meaning: 'Id of the response or of the record that it made',
    places: [],
    read: ({ response }) => firstStringMember(response, 'id'),
  },
  cost: {
    meaning: 'What the service charged, if it says so; in a batch, else by the prices given',
    places: ['error', 'result', 'history', 'stats', 'junit'],
    total: 'sum',
    read: ({ headers, response }) =>
      numberAt(usageOf(response), 'cost') ?? headerNumber(headers, 'x-litellm-response-cost'),
  },
  cached_tokens: {
    meaning: 'Tokens of the prompt that came from a cache',
    places: ['result', 'history', 'stats', 'junit'],
    total: 'sum',
    read: ({ response }) => numberAt(getMember(usageOf(response), 'prompt_tokens_details'), 'cached_tokens'),
  },
  prompt_tokens: {
    meaning: 'Tokens of the prompt; null if the response has no usage',
    places: ['history', 'stats', 'junit'],
    nullIn: ['history', 'stats'],
    read: ({ response }) => numberAt(usageOf(response), 'prompt_tokens'),
  },
  completion_tokens: {
    meaning: 'Tokens of the response; null if the response has no usage',
    places: ['history', 'stats', 'junit'],
    nullIn: ['history', 'stats'],
    read: ({ response }) => numberAt(usageOf(response), 'completion_tokens'),
  },
  finish_reasons: {
    meaning: 'Finish reason of each choice',
    places: ['history'],
    total: 'counts',
    read: ({ response }) => {
      const reasons = itemsAt(response, 'choices').map((choice) => firstStringMember(choice, 'finish_reason') ?? null);
      return reasons.length === 0 ? undefined : reasons;
    },
  },
  tool_calls: {
    meaning: 'Name of each tool that the response calls',
    places: ['history'],
    total: 'counts',
    read: ({ response }) => {
      const messages = itemsAt(response, 'choices').map((choice) => getMember(choice, 'message'));
      const names = messages.flatMap(toolCalls).map(toolName);
      return names.length === 0 ? undefined : names;
    },
  },
  empty_responses: {
    meaning: '1 for a chat without text and calls',
    places: ['history'],
    total: 'count',
    read: ({ response }) => (isEmptyChat(response) ? new RawJson('1') : undefined),
  },
  server_times: {
    meaning: 'Times that the service measured',
    places: ['stats'],
    read: ({ response }) => {
      const metrics = getMember(response, 'metrics');
      return metrics && kindOf(metrics) === 'object' ? new RawJson(rawText(metrics)) : undefined;
    },
  },
} as const satisfies { readonly [name: string]: FactField };

type FactName = keyof typeof factFields;

// A report of a batch reads sums from its result lines.
const fields: readonly (readonly [name: string, field: FactField])[] = Object.entries<FactField>(factFields).map(
  ([name, field]) => [name, field.total === 'sum' ? { ...field, places: [...field.places, 'result'] } : field],
);

/** The facts that a response has, by name, in the order of the table. */
export type ReceivedFacts = { readonly [name in FactName]?: JsonValue };

export function readFacts(source: FactSource): ReceivedFacts {
  const facts: { [name: string]: JsonValue } = {};
  for (const [name, { read }] of fields) {
    const value = read(source);
    if (value !== undefined) facts[name] = value;
  }
  return facts;
}

/** A count among the facts, 0 for negative numbers; undefined for anything else, also for numbers above 2^53 - 1. */
export function factCount(facts: ReceivedFacts, name: FactName): number | undefined {
  const value = facts[name];
  const count = value instanceof RawJson ? Math.max(0, Number(value.text)) : Number.NaN;
  return count <= Number.MAX_SAFE_INTEGER ? count : undefined;
}

/** The facts that are shown in a place. */
export function factsFor(place: FactPlace, facts: ReceivedFacts = {}): { readonly [name: string]: JsonValue } {
  const shown: { [name: string]: JsonValue } = {};
  for (const [name, { places, nullIn }] of fields) {
    const value = facts[name as FactName] ?? (nullIn?.includes(place) ? null : undefined);
    if (value !== undefined && places.includes(place)) shown[name] = value;
  }
  return shown;
}

/** The facts of a response, and those that a result line has beside it. */
export function readLineFacts(line: JsonNode | undefined): ReceivedFacts {
  const stored = fields.flatMap(([name]) => {
    const value = getMember(line, name);
    return value ? [[name, new RawJson(rawText(value))] as const] : [];
  });
  return {
    ...readFacts({ headers: [], response: getMember(line, 'response') }),
    ...Object.fromEntries(stored),
  };
}

/** What responses had, by the names of the facts. */
export type FactTotals = ReturnType<typeof createFactTotals>;

export function createFactTotals() {
  return {
    /** Chats, and other responses with a cost. */
    responses: 0,
    /** Sums, and how many responses had the fact; a response without it may have cost something. */
    sums: new Map<string, { readonly sum: number; readonly count: number }>(),
    counts: new Map<string, number | Map<string, number>>(),
  };
}

export function addFactTotals(totals: FactTotals, facts: ReceivedFacts): void {
  const { sums, counts } = totals;
  if (facts.finish_reasons !== undefined || facts.cost !== undefined) totals.responses += 1;
  for (const [name, { total }] of fields) {
    const value = facts[name as FactName];
    const { sum, count } = sums.get(name) ?? { sum: 0, count: 0 };
    if (value instanceof RawJson && total === 'sum')
      // Without the digits that sums of decimal fractions get wrong.
      sums.set(name, { sum: Number((sum + Number(value.text)).toPrecision(12)), count: count + 1 });
    const before = counts.get(name) ?? (total === 'counts' ? new Map<string, number>() : 0);
    if (value !== undefined && total === 'count' && typeof before === 'number') counts.set(name, before + 1);
    if (!Array.isArray(value) || typeof before === 'number') continue;
    for (const one of value) before.set(String(one), (before.get(String(one)) ?? 0) + 1);
    counts.set(name, before);
  }
}

/** ` (23 of 200 responses)` after a sum over some responses; empty if all had it. */
export function shareText(count: number, { responses }: FactTotals): string {
  return count < responses ? ` (${count} of ${responses} responses)` : '';
}

/** Totals of the facts of the responses, one per line: `cost: 0.42 (23 of 200 responses)`, `finish reasons: stop 290, length 10`. */
export function factLines(totals: FactTotals): string[] {
  const sums = Array.from(
    totals.sums,
    ([name, { sum, count }]) => [name, `${sum}${shareText(count, totals)}`] as const,
  );
  const counts = Array.from(totals.counts, ([name, total]) => {
    const sorted = typeof total === 'number' ? [] : [...total].sort(([, left], [, right]) => right - left);
    return [name, sorted.map(([value, count]) => `${value} ${count}`).join(', ') || `${total}`] as const;
  });
  return [...sums, ...counts].map(([name, text]) => `${name.replaceAll('_', ' ')}: ${text}`);
}

/** Name and meaning of each fact that is shown in a place, for the reference. */
export function factRows(place: FactPlace): (readonly [name: string, meaning: string])[] {
  return fields.flatMap(([name, { places, meaning }]) => (places.includes(place) ? [[name, meaning] as const] : []));
}

/** The tokens used; some vendors have them elsewhere (docs/internals/servers.md). */
export function usageOf(response: JsonNode | undefined): JsonNode | undefined {
  const places = [response, getMember(response, 'x_groq'), ...itemsAt(response, 'choices')];
  return places.map((place) => getMember(place, 'usage')).find((usage) => usage && kindOf(usage) === 'object');
}

function numberAt(node: JsonNode | undefined, name: string): RawJson | undefined {
  const value = getMember(node, name);
  return value && kindOf(value) === 'number' ? new RawJson(rawText(value)) : undefined;
}

function headerNumber(headers: HttpHeaders, name: string): RawJson | undefined {
  const text = getHeader(headers, name)?.trim() ?? '';
  return /^\d+(\.\d+)?(e-?\d+)?$/i.test(text) ? new RawJson(text) : undefined;
}

const MAX_RATE_LIMIT_HEADERS = 20;

function rateLimitHeaders(headers: HttpHeaders): { readonly [name: string]: string } | undefined {
  const found = headers
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => isRateLimitHeader(name))
    .slice(0, MAX_RATE_LIMIT_HEADERS);
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

export function isRateLimitHeader(name: string): boolean {
  return /^(x-)?ratelimit|^retry-after/i.test(name);
}

/** The id that a server gave the request, in any of the headers used for it. */
export function responseRequestId(headers: HttpHeaders): string | undefined {
  const names = ['x-request-id', 'request-id', 'x-correlation-id'];
  return names.map((name) => getHeader(headers, name)).find((id) => id !== undefined);
}
