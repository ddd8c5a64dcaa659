import { Buffer } from 'node:buffer';
import { firstStringMember, getMember, itemsAt, type JsonNode, kindOf, rawText, rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';

/**
 * The traces of Jaeger's JSON (`{"data":[{"spans":…,"processes":…}]}`, or one trace) as `resourceSpans` of OTLP/JSON, each
 * with its original span as `jaeger`; undefined for another document.
 */
export function readJaegerTraces(document: JsonNode): JsonNode[] | undefined {
  const traces = [document, ...itemsAt(document, 'data')].filter((trace) => getMember(trace, 'spans'));
  if (traces.length === 0) return undefined;
  return traces.flatMap((trace) =>
    itemsAt(trace, 'spans').map((span) => {
      const process =
        getMember(span, 'process') ??
        getMember(getMember(trace, 'processes'), firstStringMember(span, 'processID') ?? '');
      return rootOf(parseJson(Buffer.from(resourceSpansJson(span, process))));
    }),
  );
}

function resourceSpansJson(span: JsonNode, process: JsonNode | undefined): string {
  const service = getMember(process, 'serviceName');
  const resource = [
    ...(service ? [`{"key":"service.name","value":{"stringValue":${rawText(service)}}}`] : []),
    ...itemsAt(process, 'tags').map(attributeJson),
  ];
  const tags = itemsAt(span, 'tags');
  const [start, end] = timesOf(span);
  const members = [
    `"traceId":${idJson(span, 'traceID', 32)}`,
    `"spanId":${idJson(span, 'spanID', 16)}`,
    `"parentSpanId":${parentJson(span)}`,
    `"name":${getText(span, 'operationName')}`,
    `"startTimeUnixNano":${start}`,
    `"endTimeUnixNano":${end}`,
    `"attributes":[${tags.map(attributeJson).join(',')}]`,
    `"status":${statusJson(tags)}`,
    `"jaeger":${rawText(span)}`,
  ];
  return `{"resource":{"attributes":[${resource.join(',')}]},"scopeSpans":[{"spans":[{${members.join(',')}}]}]}`;
}

function getText(node: JsonNode | undefined, name: string): string {
  const value = getMember(node, name);
  return value ? rawText(value) : 'null';
}

// Jaeger leaves out leading zeros.
function idJson(node: JsonNode | undefined, name: string, digits: number): string {
  const text = firstStringMember(node, name) ?? '';
  return /^[0-9a-f]+$/i.test(text) ? `"${text.padStart(digits, '0')}"` : getText(node, name);
}

function parentJson(span: JsonNode): string {
  const references = itemsAt(span, 'references');
  const parent = references.find((one) => firstStringMember(one, 'refType') === 'CHILD_OF') ?? references[0];
  return parent ? idJson(parent, 'spanID', 16) : idJson(span, 'parentSpanID', 16);
}

// Microseconds; others are a problem of the span.
function timesOf(span: JsonNode): readonly [start: string, end: string] {
  const [start, duration] = [getText(span, 'startTime'), getText(span, 'duration')];
  if (!/^\d+$/.test(start)) return [start, 'null'];
  return [`"${start}000"`, /^\d+$/.test(duration) ? `"${BigInt(start) + BigInt(duration)}000"` : 'null'];
}

const valueNames = new Map([
  ['bool', 'boolValue'],
  ['int64', 'intValue'],
  ['float64', 'doubleValue'],
  ['binary', 'bytesValue'],
]);

function attributeJson(tag: JsonNode): string {
  const value = getMember(tag, 'value');
  const name = valueNames.get(firstStringMember(tag, 'type') ?? '') ?? 'stringValue';
  return `{"key":${getText(tag, 'key')},"value":{"${name}":${value ? rawText(value) : 'null'}}}`;
}

// As OpenTelemetry maps them: code 2 is an error.
function statusJson(tags: readonly JsonNode[]): string {
  const tagValue = (key: string): JsonNode | undefined =>
    getMember(
      tags.findLast((tag) => firstStringMember(tag, 'key') === key),
      'value',
    );
  const [error, code, message] = ['error', 'otel.status_code', 'otel.status_description'].map(tagValue);
  const isFailed = [error, code].some((value) => value && /^"?(?:true|error)"?$/i.test(rawText(value)));
  const text = message && kindOf(message) === 'string' ? `,"message":${rawText(message)}` : '';
  return isFailed ? `{"code":2${text}}` : '{}';
}
