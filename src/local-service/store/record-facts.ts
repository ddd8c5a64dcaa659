import { parseTime } from '../../fields/string-formats.ts';
import {
  firstStringMember,
  getMember,
  isTrue,
  type JsonNode,
  kindOf,
  membersOf,
  numberMember,
  rawText,
  stringOf,
} from '../../json/json-node.ts';

const MAX_NAME_CHARS = 1024;

/**
 * What lists of calls show, filter and sort by: the columns of a call. End and failure are those of the span that it was
 * imported from, in the forms of OTLP and of the SDKs; a call without a span gets them from feedback.
 */
export function callFacts(start: JsonNode, id: string, createdAt: number) {
  const span = getMember(start, 'otel_dump');
  const status = getMember(span, 'status');
  const op = firstStringMember(start, 'op_name') ?? '';
  const startedAt = firstStringMember(start, 'started_at') ?? '';
  // The time that the call gives, else the time of its arrival.
  const startedMs = Number.isNaN(parseTime(startedAt)) ? createdAt : parseTime(startedAt) + fractionOf(startedAt);
  const codes = [getMember(status, 'code'), getMember(status, 'status_code'), getMember(span, 'status_code')];
  return {
    parent_id: columnText(firstStringMember(start, 'parent_id') ?? null),
    op_name: columnText(op),
    name: columnText(firstStringMember(start, 'display_name') || op || id),
    started_ms: startedMs,
    duration_ms: spanDuration(span),
    failed: codes.some((code) => code && /^"?(?:2|STATUS_CODE_ERROR|ERROR)"?$/i.test(rawText(code))) ? 1 : 0,
  };
}

// PostgreSQL stores no U+0000.
function columnText<T extends string | null>(text: T) {
  return text === null ? null : text.slice(0, MAX_NAME_CHARS).replaceAll('\0', '\ufffd');
}

// The digits after the milliseconds, in milliseconds.
function fractionOf(time: string): number {
  return Number(`0.${/\.\d{3}(\d+)/.exec(time)?.[1] ?? 0}`);
}

function spanDuration(span: JsonNode | undefined): number | null {
  const [from, to] = ['start', 'end'].map((name) =>
    nanoseconds(getMember(span, `${name}TimeUnixNano`) ?? getMember(span, `${name}_time_unix_nano`)),
  );
  if (from !== undefined && to !== undefined) return Number(to < from ? 0n : to - from) / 1e6;
  const [start = '', end = ''] = ['start', 'end'].map((name) => firstStringMember(span, `${name}_time`, `${name}Time`));
  const milliseconds = parseTime(end) + fractionOf(end) - parseTime(start) - fractionOf(start);
  return Number.isNaN(milliseconds) ? null : Math.max(0, milliseconds);
}

function nanoseconds(node: JsonNode | undefined): bigint | undefined {
  const text = node && kindOf(node) === 'string' ? stringOf(node) : node && rawText(node);
  return text !== undefined && /^[1-9]\d{0,18}$/.test(text) ? BigInt(text) : undefined;
}

const MAX_FACT_CHARS = 40;

/**
 * The columns of a feedback record: the duration and the failure that it reports of a call, the lowest and the highest
 * other number of its payload, and a fact for lists: its first number or boolean, else its first short text.
 */
export function feedbackFacts(payload: JsonNode) {
  const { doc, at } = payload;
  const duration = getMember(payload, 'duration_ms');
  let [low, high]: [number | null, number | null] = [null, null];
  for (let entry = at; entry < (doc.tape[at * 3 + 2] ?? 0); entry += 1) {
    const node = { doc, at: entry };
    if (kindOf(node) !== 'number' || entry === duration?.at) continue;
    const value = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, Number(rawText(node))));
    low = Math.min(low ?? value, value);
    high = Math.max(high ?? value, value);
  }
  const members = Array.from(membersOf(payload)).filter(({ key }) => key !== 'duration_ms');
  const fact =
    members.find(({ value }) => ['number', 'boolean'].includes(kindOf(value))) ??
    members.find(({ value }) => kindOf(value) === 'string' && stringOf(value).length <= MAX_FACT_CHARS);
  const text = fact && (kindOf(fact.value) === 'string' ? stringOf(fact.value) : rawText(fact.value));
  return {
    duration_ms: numberMember(payload, 'duration_ms') ?? null,
    failed: isFailure(payload) ? 1 : 0,
    fact: columnText(fact ? `${fact.key}=${text}` : null),
    ...{ low, high },
  };
}

function isFailure(payload: JsonNode): boolean {
  const error = getMember(payload, 'error');
  return (
    (numberMember(payload, 'exit_code') ?? 0) !== 0 ||
    firstStringMember(payload, 'signal', 'error') !== undefined ||
    isTrue(error) ||
    (error !== undefined && kindOf(error) === 'object')
  );
}
