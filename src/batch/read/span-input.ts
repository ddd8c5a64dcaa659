import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { Failure } from '../../errors.ts';
import { foreignFormat } from '../../files/foreign-formats.ts';
import { type InputLine, splitLines } from '../../files/split-lines.ts';
import { JsonError } from '../../json/json-error.ts';
import {
  firstStringMember,
  getMember,
  itemsAt,
  itemsOf,
  type JsonNode,
  kindOf,
  rawBytes,
  rawText,
  rootOf,
  stringOf,
} from '../../json/json-node.ts';
import { parseJson, parseJsonSequence } from '../../json/parse-json.ts';
import { shellWord } from '../../output/shell-quote.ts';
import { pluralize } from '../../output/transfer-text.ts';
import { isEmptyLine, type LineSplitter } from './batch-input.ts';

// A collector rotates its files long before, and an SDK exports batches of spans.
const MAX_DOCUMENT_BYTES = 256 * 1024 * 1024;

const EXPORT_HINT =
  'export spans as OTLP/JSON, such as with the file exporter of a collector; to send bodies of calls, run: svc call start --batch <file>';

/**
 * Makes a line of each span of OTLP/JSON, which starts a call: documents on one line each, as a collector writes them, or in
 * any other layout; also the export of a trace from Jaeger. A span that cannot be used becomes a line with a problem, and so
 * does a document after the first spans. Documents of other signals are skipped: `onSkipped` gets a text that counts them.
 * Throws Failure `body` for a text without spans.
 */
export function spanSplitter(label: string, onSkipped: (text: string) => Promise<void>): LineSplitter {
  return async function* (chunks) {
    const skipped = new Map<string, number>();
    let number = 0;
    let hint = EXPORT_HINT;
    const toLine = (made: Pick<InputLine, 'bytes' | 'problem'>): InputLine => {
      number += 1;
      return { number, offset: 0, length: 0, isTorn: false, isRow: true, ...made };
    };
    for await (const { text, line } of readDocuments(chunks)) {
      let problem: string | undefined;
      try {
        for (const document of parseDocuments(text)) {
          const found = findResourceSpans(document);
          if (typeof found === 'string') skipped.set(found, (skipped.get(found) ?? 0) + 1);
          else if (found) for (const span of found.flatMap(spansOf)) yield toLine(span);
          else {
            problem = 'it has no "resourceSpans"';
            if (getMember(document, 'start')) hint = `for a body of a call, run: svc call start -f ${shellWord(label)}`;
          }
        }
      } catch (error) {
        if (!(error instanceof JsonError)) throw error;
        problem = error.message;
        const foreign = foreignFormat(text);
        if (foreign) [problem, hint] = [`it is ${foreign.name}`, foreign.hint];
      }
      if (problem === undefined) continue;
      const message = `is not OTLP/JSON of traces: ${problem}`;
      if (number === 0) throw new Failure('body', `${label}:${line} ${message}`, { hint });
      yield toLine({ bytes: undefined, problem: `line ${line} of the file ${message}` });
    }
    const counts = [...skipped]
      .map(([signal, count]) => `${count} ${pluralize(count, 'document')} of ${signal}`)
      .join(', ');
    if (number === 0)
      throw new Failure('body', `no spans in ${label}${counts && `: it has ${counts}`}`, { hint: EXPORT_HINT });
    if (counts !== '') await onSkipped(`${label}: skipped ${counts}, which have no spans`);
  };
}

// Lines, if the first one has whole documents; else the file is one text.
async function* readDocuments(chunks: AsyncIterable<Uint8Array>) {
  let parts: Buffer[] | undefined;
  let isFirst = true;
  for await (const line of splitLines(chunks, MAX_DOCUMENT_BYTES)) {
    const { number, bytes = Buffer.alloc(0) } = line;
    if (isEmptyLine(line)) continue;
    if (isFirst && !hasWholeDocuments(bytes)) parts = [];
    isFirst = false;
    if (parts) parts.push(bytes, Buffer.from('\n'));
    else yield { text: bytes, line: number };
  }
  if (parts) yield { text: Buffer.concat(parts), line: 1 };
}

function hasWholeDocuments(text: Buffer): boolean {
  try {
    return [...parseDocuments(text)].length > 0;
  } catch (error) {
    if (error instanceof JsonError) return false;
    throw error;
  }
}

/** JSON values one after another, and those of arrays. Throws JsonError. */
function* parseDocuments(text: Buffer): Generator<JsonNode> {
  for (const node of parseJsonSequence(text)) {
    if (kindOf(node) === 'list') yield* itemsOf(node);
    else yield node;
  }
}

const otherSignals = { resourceMetrics: 'metrics', resourceLogs: 'logs', resourceProfiles: 'profiles' } as const;

// The name of another signal, or undefined for what is no document of signals.
function findResourceSpans(document: JsonNode): readonly JsonNode[] | string | undefined {
  // A query of Jaeger has the document in `result`.
  const root = getMember(document, 'result') ?? document;
  if (getMember(root, 'resourceSpans')) return itemsAt(root, 'resourceSpans');
  // The logging exporter of the Java SDK writes each on a line of its own.
  if (SCOPE_SPANS.some((name) => getMember(root, name))) return [root];
  const [, signal] = Object.entries(otherSignals).find(([name]) => getMember(root, name)) ?? [];
  return signal ?? readJaegerTraces(root);
}

// The second name is of OTLP before 2022.
const SCOPE_SPANS = ['scopeSpans', 'instrumentationLibrarySpans'] as const;

function spansOf(resourceSpans: JsonNode): ReturnType<typeof callLine>[] {
  return SCOPE_SPANS.flatMap((name) => itemsAt(resourceSpans, name)).flatMap((scopeSpans) => {
    const scope = getMember(scopeSpans, 'scope') ?? getMember(scopeSpans, 'instrumentationLibrary');
    return itemsAt(scopeSpans, 'spans').map((span) => callLine(span, getMember(resourceSpans, 'resource'), scope));
  });
}

function callLine(
  span: JsonNode,
  resource: JsonNode | undefined,
  scope: JsonNode | undefined,
): Pick<InputLine, 'bytes' | 'problem'> {
  const [traceId, id, parentId] = [
    readId(span, 'traceId', 16),
    readId(span, 'spanId', 8),
    readId(span, 'parentSpanId', 8),
  ];
  const found = getMember(span, 'startTimeUnixNano');
  const startedAt = timestampOf(found);
  const problems = [
    ...[traceId, id, parentId].flatMap((read) => (typeof read === 'object' ? [read.problem] : [])),
    ...(traceId && id ? [] : ['the span has no traceId or no spanId']),
    ...(startedAt ? [] : [`the span has no startTimeUnixNano in nanoseconds${found ? `, but ${rawText(found)}` : ''}`]),
  ];
  if (problems.length > 0) return { bytes: undefined, problem: problems.join('; ') };
  const opening = rawText(span).trimEnd().slice(0, -1).trimEnd();
  const otel = [
    opening,
    ...(resource ? [`"resource":${rawText(resource)}`] : []),
    ...(scope ? [`"scope":${rawText(scope)}`] : []),
  ];
  const name = firstStringMember(span, 'name') ?? '';
  const shortName = shortenName(name, 128);
  const members = [
    `"op_name":${JSON.stringify(shortName)}`,
    ...(shortName === name ? [] : [`"display_name":${JSON.stringify(shortenName(name, 1024))}`]),
    `"id":"${id}"`,
    `"trace_id":"${traceId}"`,
    ...(parentId ? [`"parent_id":"${parentId}"`] : []),
    `"started_at":"${startedAt}"`,
    `"attributes":${attributesJson(itemsAt(span, 'attributes'))}`,
    '"inputs":{}',
    `"otel_dump":${otel.join(',')}}`,
  ];
  return { bytes: Buffer.from(`{"start":{${members.join(',')}}}`) };
}

/** An id in lowercase hex digits. Exporters also write hex digits after `0x`, base64 of the bytes, or base64 of the hex digits. */
function readId(span: JsonNode, name: string, bytes: number): string | { readonly problem: string } | undefined {
  const node = getMember(span, name);
  if (!node || kindOf(node) === 'null') return undefined;
  const text = kindOf(node) === 'string' ? stringOf(node) : '';
  if (text === '' && kindOf(node) === 'string') return undefined;
  const isParent = name === 'parentSpanId';
  const hex = hexId(text, bytes);
  if (isParent && /^(?:0x)?0+$/i.test(hex ?? text)) return undefined;
  if (hex === undefined)
    return { problem: `the ${name} ${rawText(node)} is not ${2 * bytes} hex digits, nor base64 of ${bytes} bytes` };
  if (/^0+$/.test(hex)) return { problem: `the ${name} ${rawText(node)} is all zeros, which is not a valid id` };
  return hex;
}

function hexId(text: string, bytes: number): string | undefined {
  const isHex = (digits: string): boolean => digits.length === 2 * bytes && /^[0-9a-f]+$/i.test(digits);
  const digits = text.replace(/^0x/i, '');
  if (isHex(digits)) return digits.toLowerCase();
  if (!/^[\w+/-]+={0,2}$/.test(text)) return undefined;
  const decoded = Buffer.from(text, 'base64');
  // Decoding ignores bits and characters that are not part of a whole byte.
  if (decoded.toString('base64url') !== text.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_'))
    return undefined;
  if (decoded.length === bytes) return decoded.toString('hex');
  const inner = decoded.toString('latin1').replace(/^0x/i, '');
  return isHex(inner) ? inner.toLowerCase() : undefined;
}

// docs/internals/servers.md, "call start": of a name, and of a display name.
type MaxNameChars = 128 | 1024;

// Its beginning and end, and a digest that keeps it apart from names that differ in the middle.
function shortenName(name: string, maxChars: MaxNameChars): string {
  const chars = [...name];
  if (chars.length <= maxChars) return name;
  const digest = hash('sha256', name, 'hex').slice(0, 8);
  const headChars = Math.floor(maxChars * 0.6);
  const tail = chars.slice(headChars + digest.length + 2 - maxChars);
  return `${chars.slice(0, headChars).join('')}…${tail.join('')} ${digest}`;
}

const NANOSECONDS = 1_000_000_000n;

// With all nine digits of the fraction.
function timestampOf(node: JsonNode | undefined): string | undefined {
  const text = node && (kindOf(node) === 'string' ? stringOf(node) : rawText(node));
  if (text === undefined || !/^\d{1,19}$/.test(text) || /^0+$/.test(text)) return undefined;
  // Seconds, milliseconds or microseconds of the years 2001 to 2128 would be a time in 1970.
  if (/^[1-4]\d{9}(?:\d{3}){0,2}$/.test(text)) return undefined;
  const nanoseconds = BigInt(text);
  const seconds = new Date(Number(nanoseconds / NANOSECONDS) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(nanoseconds % NANOSECONDS).padStart(9, '0')}Z`;
}

function attributesJson(attributes: readonly JsonNode[], depth = 0): string {
  const members = attributes.map((attribute) => {
    const name = JSON.stringify(firstStringMember(attribute, 'key') ?? '');
    return `${name}:${valueJson(getMember(attribute, 'value'), depth + 1)}`;
  });
  return `{${members.join(',')}}`;
}

// Deeper values stay in the form of OTLP.
const MAX_VALUE_DEPTH = 100;

// An AnyValue of OTLP: 64-bit integers are strings there, and numbers here.
function valueJson(value: JsonNode | undefined, depth: number): string {
  if (value && depth > MAX_VALUE_DEPTH) return Buffer.from(rawBytes(value)).toString();
  const integer = getMember(value, 'intValue');
  if (integer)
    return kindOf(integer) === 'string' && /^-?\d+$/.test(stringOf(integer)) ? stringOf(integer) : rawText(integer);
  const list = getMember(value, 'arrayValue');
  if (list)
    return `[${itemsAt(list, 'values')
      .map((item) => valueJson(item, depth + 1))
      .join(',')}]`;
  const map = getMember(value, 'kvlistValue');
  if (map) return attributesJson(itemsAt(map, 'values'), depth);
  for (const name of ['stringValue', 'boolValue', 'doubleValue', 'bytesValue']) {
    const found = getMember(value, name);
    if (found) return Buffer.from(rawBytes(found)).toString();
  }
  return 'null';
}

// The traces of Jaeger's JSON (`{"data":[{"spans":…,"processes":…}]}`, or one trace) as `resourceSpans` of OTLP/JSON, each with
// its original span as `jaeger`; undefined for another document.
function readJaegerTraces(document: JsonNode): JsonNode[] | undefined {
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
    ...itemsAt(process, 'tags').map(tagJson),
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
    `"attributes":[${tags.map(tagJson).join(',')}]`,
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

function tagJson(tag: JsonNode): string {
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
