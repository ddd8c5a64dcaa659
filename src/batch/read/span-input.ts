import { Buffer } from 'node:buffer';
import { Failure } from '../../errors.ts';
import { type InputLine, splitLines } from '../../files/split-lines.ts';
import { JsonError } from '../../json/json-error.ts';
import {
  firstStringMember,
  getMember,
  itemsAt,
  type JsonNode,
  kindOf,
  rawBytes,
  rawText,
  rootOf,
  stringOf,
} from '../../json/json-node.ts';
import { parseJson, tryParseJson } from '../../json/parse-json.ts';
import { isEmptyLine, type LineSplitter } from './batch-input.ts';

// A collector rotates its files long before, and an SDK exports batches of spans.
const MAX_DOCUMENT_BYTES = 256 * 1024 * 1024;

/**
 * Makes a line of each span of OTLP/JSON, which starts a call: a document, or lines of documents as a collector writes them. A
 * span that cannot be used becomes a line with a problem. Throws Failure `body` for other text.
 */
export function spanSplitter(label: string): LineSplitter {
  return async function* (chunks) {
    let number = 0;
    for await (const { text, line } of readDocuments(chunks))
      for (const resourceSpans of readResourceSpans(text, label, line))
        for (const scopeSpans of itemsAt(resourceSpans, 'scopeSpans'))
          for (const span of itemsAt(scopeSpans, 'spans')) {
            number += 1;
            const place = { number, offset: 0, length: 0, isTorn: false, isRow: true } as const;
            yield { ...place, ...callLine(span, getMember(resourceSpans, 'resource'), getMember(scopeSpans, 'scope')) };
          }
  };
}

// Lines, if the first one is a whole document; else the file is one.
async function* readDocuments(chunks: AsyncIterable<Uint8Array>) {
  let parts: Buffer[] | undefined;
  let isFirst = true;
  for await (const line of splitLines(chunks, MAX_DOCUMENT_BYTES)) {
    const { number, bytes = Buffer.alloc(0) } = line;
    if (isFirst && isEmptyLine(line)) continue;
    if (isFirst && !tryParseJson(bytes)) parts = [];
    isFirst = false;
    if (parts) parts.push(bytes, Buffer.from('\n'));
    else if (!isEmptyLine(line)) yield { text: bytes, line: number };
  }
  if (parts) yield { text: Buffer.concat(parts), line: 1 };
}

function readResourceSpans(text: Buffer, label: string, line: number): readonly JsonNode[] {
  let problem = 'it has no "resourceSpans"';
  try {
    const root = rootOf(parseJson(text));
    if (getMember(root, 'resourceSpans')) return itemsAt(root, 'resourceSpans');
    // The logging exporter of the Java SDK writes each on a line of its own.
    if (getMember(root, 'scopeSpans')) return [root];
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    problem = error.message;
  }
  throw new Failure('body', `${label}:${line} is not OTLP/JSON of traces: ${problem}`, {
    hint: 'export spans as JSON, for example with the file exporter of a collector',
    applied: 'no',
  });
}

function callLine(
  span: JsonNode,
  resource: JsonNode | undefined,
  scope: JsonNode | undefined,
): Pick<InputLine, 'bytes' | 'problem'> {
  // Hexadecimal digits in either case; svc's ids, and most servers, have lowercase ones.
  const [traceId, id, parentId] = ['traceId', 'spanId', 'parentSpanId'].map((name) =>
    firstStringMember(span, name)?.toLowerCase(),
  );
  const startedAt = timestampOf(getMember(span, 'startTimeUnixNano'));
  if (!traceId || !id) return { bytes: undefined, problem: 'the span has no traceId or no spanId' };
  if (!startedAt) return { bytes: undefined, problem: 'the span has no startTimeUnixNano in nanoseconds' };
  const otel = [
    rawText(span).trimEnd().slice(0, -1),
    ...(resource ? [`"resource":${rawText(resource)}`] : []),
    ...(scope ? [`"scope":${rawText(scope)}`] : []),
  ];
  const members = [
    `"op_name":${JSON.stringify(firstStringMember(span, 'name') ?? '')}`,
    `"id":${JSON.stringify(id)}`,
    `"trace_id":${JSON.stringify(traceId)}`,
    ...(parentId ? [`"parent_id":${JSON.stringify(parentId)}`] : []),
    `"started_at":"${startedAt}"`,
    `"attributes":${attributesJson(itemsAt(span, 'attributes'))}`,
    '"inputs":{}',
    `"otel_dump":${otel.join(',')}}`,
  ];
  return { bytes: Buffer.from(`{"start":{${members.join(',')}}}`) };
}

const NANOSECONDS = 1_000_000_000n;

// With all nine digits of the fraction.
function timestampOf(node: JsonNode | undefined): string | undefined {
  const text = node && (kindOf(node) === 'string' ? stringOf(node) : rawText(node));
  if (text === undefined || !/^\d{1,19}$/.test(text)) return undefined;
  const nanoseconds = BigInt(text);
  const seconds = new Date(Number(nanoseconds / NANOSECONDS) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(nanoseconds % NANOSECONDS).padStart(9, '0')}Z`;
}

function attributesJson(attributes: readonly JsonNode[]): string {
  const members = attributes.map((attribute) => {
    const name = JSON.stringify(firstStringMember(attribute, 'key') ?? '');
    return `${name}:${valueJson(getMember(attribute, 'value'))}`;
  });
  return `{${members.join(',')}}`;
}

// An AnyValue of OTLP: 64-bit integers are strings there, and numbers here.
function valueJson(value: JsonNode | undefined): string {
  const integer = getMember(value, 'intValue');
  if (integer)
    return kindOf(integer) === 'string' && /^-?\d+$/.test(stringOf(integer)) ? stringOf(integer) : rawText(integer);
  const list = getMember(value, 'arrayValue');
  if (list) return `[${itemsAt(list, 'values').map(valueJson).join(',')}]`;
  const map = getMember(value, 'kvlistValue');
  if (map) return attributesJson(itemsAt(map, 'values'));
  for (const name of ['stringValue', 'boolValue', 'doubleValue', 'bytesValue']) {
    const found = getMember(value, name);
    if (found) return Buffer.from(rawBytes(found)).toString();
  }
  return 'null';
}
