import { getHeader, type HttpHeaders, rateLimitHeaders, responseRequestId } from '../http/message.ts';
import { firstStringMember, getMember, itemsAt, type JsonNode, kindOf, rawText } from '../json/json-node.ts';
import { type JsonValue, RawJson } from '../json/write-json.ts';

/** Where a fact is shown: error objects, result lines, the history, `--stats`; `--verbose` shows all of them. */
type FactPlace = 'error' | 'result' | 'history' | 'stats';

export interface FactSource {
  readonly headers: HttpHeaders;
  readonly response?: JsonNode | undefined;
  /** The code of an error that the service reported. */
  readonly serviceCode?: string | undefined;
  readonly errorBody?: string | undefined;
}

interface FactField {
  readonly meaning: string;
  readonly places: readonly FactPlace[];
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
    places: ['error', 'result'],
    read: ({ headers }) => responseRequestId(headers),
  },
  rate_limit: {
    meaning: 'Response headers about rate limits, by name',
    places: ['error', 'result'],
    read: ({ headers }) => rateLimitHeaders(headers),
  },
  cost: {
    meaning: 'What the service charged, if it says so',
    places: ['error', 'result', 'history', 'stats'],
    read: ({ headers, response }) => usageNumber(response, 'cost') ?? headerNumber(headers, 'x-litellm-response-cost'),
  },
  cached_tokens: {
    meaning: 'Tokens of the prompt that came from a cache',
    places: ['history', 'stats'],
    read: ({ response }) => numberAt(getMember(usageOf(response), 'prompt_tokens_details'), 'cached_tokens'),
  },
  finish_reasons: {
    meaning: 'Finish reason of each choice',
    places: ['history'],
    read: ({ response }) => {
      const reasons = itemsAt(response, 'choices').map((choice) => firstStringMember(choice, 'finish_reason') ?? null);
      return reasons.length === 0 ? undefined : reasons;
    },
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
