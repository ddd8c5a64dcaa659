import { parseTime } from '../../fields/string-formats.ts';
import { uuidV7 } from '../../fields/uuid.ts';
import {
  firstStringMember,
  getMember,
  itemsOf,
  type JsonKind,
  type JsonNode,
  kindOf,
  membersOf,
  numberMember,
  rawText,
  rootOf,
} from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { RawJson } from '../../json/write-json.ts';
import { DEFAULT_SAMPLE_LIMIT } from '../../operations/feedback-schema.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import { jsonResponse } from '../responses.ts';
import type { Caller, ServiceContext } from '../service-context.ts';
import { type PayloadQuery, samplePayloads } from '../store/payload-sample.ts';
import { callFacts, feedbackFacts } from '../store/record-facts.ts';

/** Stores the start of a call under its id, or a new UUIDv7. The same id sent again merges into one call. */
export async function handleCallStart(body: JsonNode, { signal }: Caller, { store, now, randomBytes }: ServiceContext) {
  const start = getMember(body, 'start') ?? body;
  const traceId = firstStringMember(start, 'trace_id');
  const createdAt = now();
  const id = firstStringMember(start, 'id') ?? uuidV7(createdAt, randomBytes(10));
  const row = {
    ...{ project_id: firstStringMember(start, 'project_id') ?? '', id },
    trace_id: traceId ?? uuidV7(createdAt, randomBytes(10)),
    ...{ start: rawText(start), created_at: createdAt, ...callFacts(start, id, createdAt) },
  };
  const stored = await store.saveCall({ row, hasTraceId: traceId !== undefined }, signal);
  return jsonResponse(200, { id: row.id, trace_id: stored });
}

/**
 * Removes the row of the project whose id is `feedback_id` and stores the new one, in one transaction. The new row has
 * the id the client gave, else a UUIDv7; a stored row with that id is replaced too.
 */
export async function handleFeedbackReplace(
  body: JsonNode,
  { user, signal }: Caller,
  { store, now, randomBytes }: ServiceContext,
) {
  const textOf = (name: string): string => firstStringMember(body, name) ?? '';
  const createdAt = now();
  const payloadNode = getMember(body, 'payload') ?? body;
  const payload = rawText(payloadNode);
  const row = {
    project_id: textOf('project_id'),
    id: firstStringMember(body, 'id') ?? uuidV7(createdAt, randomBytes(10)),
    feedback_type: textOf('feedback_type'),
    trigger_ref: firstStringMember(body, 'trigger_ref') ?? null,
    // An index of PostgreSQL holds no longer ones.
    svc_ref: textOf('svc_ref').slice(0, 600),
    ...{ payload, record: rawText(body), svc_user_id: user, created_at: createdAt },
    ...feedbackFacts(payloadNode),
  };
  await store.replaceFeedback({ row, replacedId: textOf('feedback_id') }, signal);
  const created = new Date(createdAt).toISOString();
  return jsonResponse(200, { id: row.id, created_at: created, svc_user_id: user, payload: new RawJson(payload) });
}

/** Samples the newest payload of each trigger in the window, the newest first, and reports their paths and types. */
export async function handleFeedbackSchema(body: JsonNode, { signal }: Caller, { store, now }: ServiceContext) {
  const trigger = firstStringMember(body, 'trigger_ref');
  const isPrefix = trigger?.endsWith(':*') === true;
  const end = firstStringMember(body, 'end');
  const start = firstMillisecond(firstStringMember(body, 'start') ?? '');
  const query: PayloadQuery = {
    project: firstStringMember(body, 'project_id') ?? '',
    // Records stored within this very millisecond belong to the window.
    window: [start, end === undefined ? now() + 1 : firstMillisecond(end)],
    type: firstStringMember(body, 'feedback_type'),
    trigger: trigger === undefined ? undefined : { ref: isPrefix ? trigger.slice(0, -':*'.length) : trigger, isPrefix },
    limit: numberMember(body, 'sample_limit') ?? DEFAULT_SAMPLE_LIMIT,
  };
  const payloads = await store.snapshot(() => samplePayloads(query));
  await yieldToEventLoop(signal);
  const paths = inferPayloadPaths(payloads).map(({ path, type }) => ({ json_path: path, value_type: type }));
  return jsonResponse(200, { paths });
}

// The first whole millisecond that is not before the time.
function firstMillisecond(text: string): number {
  return parseTime(text) + (/\.\d{3}\d*[1-9]/.test(text) ? 1 : 0);
}

/** The terminal paths of some payloads with their types, sorted by path (docs/internals/servers.md). */
export function inferPayloadPaths(payloads: readonly string[]) {
  const kinds = new Map<string, Set<JsonKind>>();
  for (const payload of payloads) {
    for (const [path, kind] of scalarsOf(rootOf(parseJson(payload)))) {
      const pathKinds = kinds.get(path) ?? new Set();
      kinds.set(path, pathKinds.add(kind));
    }
  }
  return [...kinds]
    .filter(([path]) => /^[A-Za-z0-9_. ]+$/.test(path))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([path, pathKinds]) => {
      const isOnly = (kind: JsonKind): boolean => [...pathKinds].every((one) => one === kind || one === 'null');
      return { path, type: isOnly('boolean') ? 'boolean' : isOnly('number') ? 'numeric' : 'categorical' };
    });
}

// With a stack of its own: a payload may be as deep as its bytes allow.
function* scalarsOf(payload: JsonNode): Generator<readonly [path: string, kind: JsonKind]> {
  const objects: (readonly [path: string, node: JsonNode])[] = [['', payload]];
  for (let next = objects.pop(); next; next = objects.pop()) {
    const [path, node] = next;
    // The last value of a duplicate key counts.
    for (const [key, value] of new Map(Array.from(membersOf(node), (entry) => [entry.key, entry.value]))) {
      if (key.trim() === '' || key.includes('.')) continue;
      const innerPath = path === '' ? key : `${path}.${key}`;
      if (kindOf(value) === 'object') objects.push([innerPath, value]);
      const scalars = kindOf(value) === 'list' ? itemsOf(value) : [value];
      for (const scalar of scalars)
        if (kindOf(scalar) !== 'object' && kindOf(scalar) !== 'list') yield [innerPath, kindOf(scalar)];
    }
  }
}
