import { getHeader, type HttpHeaders, rateLimitHeaders, responseRequestId } from '../http/message.ts';
import { firstStringMember, getMember, itemsAt, type JsonNode, kindOf, rawText } from '../json/json-node.ts';
import { type JsonValue, RawJson } from '../json/write-json.ts';

/** Where a fact is shown: error objects, result lines, the history, `--stats`, JUnit files; `--verbose` shows all of them. */
type FactPlace = 'error' | 'result' | 'history' | 'stats' | 'junit';

export interface FactSource {
  readonly headers: HttpHeaders;
  readonly response?: JsonNode | undefined;
  /** The code of an error that the service reported. */
  readonly serviceCode?: string | undefined;
  readonly errorBody?: string | undefined;
  /** The response is a chat in which no choice has text or a call. */
  readonly isEmptyChat?: boolean | undefined;
}

interface FactField {
  readonly meaning: string;
  readonly places: readonly FactPlace[];
  /** In the reports of a batch: the sum of numbers, or how often each value came. */
  readonly total?: 'sum' | 'counts';
  readonly read: (source: FactSource) => JsonValue | undefined;
}

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
  cost: {
    meaning: 'What the service charged, if it says so',
    places: ['error', 'result', 'history', 'stats', 'junit'],
    total: 'sum',
    read: ({ headers, response }) => usageNumber(response, 'cost') ?? headerNumber(headers, 'x-litellm-response-cost'),
  },
  cached_tokens: {
    meaning: 'Tokens of the prompt that came from a cache',
    places: ['result', 'history', 'stats', 'junit'],
    total: 'sum',
    read: ({ response }) => numberAt(getMember(usageOf(response), 'prompt_tokens_details'), 'cached_tokens'),
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
  empty_responses: {
    meaning: '1 for a chat without text and calls',
    places: ['history'],
    total: 'sum',
    read: ({ isEmptyChat }) => (isEmptyChat ? new RawJson('1') : undefined),
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

const fields: readonly (readonly [name: string, field: FactField])[] = Object.entries(factFields);

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

/** The facts that are shown in a place. */
export function factsFor(place: FactPlace, facts: ReceivedFacts = {}): { readonly [name: string]: JsonValue } {
  const shown: { [name: string]: JsonValue } = {};
  for (const [name, { places }] of fields) {
    const value = facts[name as FactName];
    if (value !== undefined && places.includes(place)) shown[name] = value;
  }
  return shown;
}

/** The facts of a response, and those that a result line has beside it. */
export function readLineFacts(line: JsonNode | undefined, isEmptyChat: boolean): ReceivedFacts {
  const stored = fields.flatMap(([name]) => {
    const value = getMember(line, name);
    return value ? [[name, new RawJson(rawText(value))] as const] : [];
  });
  return {
    ...readFacts({ headers: [], response: getMember(line, 'response'), isEmptyChat }),
    ...Object.fromEntries(stored),
  };
}

/** By the names of the facts: a sum, or how often each value came. */
export type FactTotals = Map<string, number | Map<string, number>>;

export function addFactTotals(totals: FactTotals, facts: ReceivedFacts): void {
  for (const [name, { total }] of fields) {
    const value = facts[name as FactName];
    const before = totals.get(name) ?? (total === 'counts' ? new Map<string, number>() : 0);
    if (value instanceof RawJson && total === 'sum' && typeof before === 'number')
      // Without the digits that sums of decimal fractions get wrong.
      totals.set(name, Number((before + Number(value.text)).toPrecision(12)));
    if (!Array.isArray(value) || typeof before === 'number') continue;
    for (const one of value) before.set(String(one), (before.get(String(one)) ?? 0) + 1);
    totals.set(name, before);
  }
}

/** Totals of the facts of the responses, one per line: `cost: 0.42`, `finish reasons: stop 290, length 10`. */
export function factLines(totals: FactTotals): string[] {
  return Array.from(totals, ([name, total]) => {
    const counts = typeof total === 'number' ? [] : [...total].sort(([, left], [, right]) => right - left);
    const text =
      typeof total === 'number' ? `${total}` : counts.map(([value, count]) => `${value} ${count}`).join(', ');
    return `${name.replaceAll('_', ' ')}: ${text}`;
  });
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

function usageNumber(response: JsonNode | undefined, name: string): RawJson | undefined {
  return numberAt(usageOf(response), name);
}

function numberAt(node: JsonNode | undefined, name: string): RawJson | undefined {
  const value = getMember(node, name);
  return value && kindOf(value) === 'number' ? new RawJson(rawText(value)) : undefined;
}

function headerNumber(headers: HttpHeaders, name: string): RawJson | undefined {
  const text = getHeader(headers, name)?.trim() ?? '';
  return /^\d+(\.\d+)?(e-?\d+)?$/i.test(text) ? new RawJson(text) : undefined;
}
