import { Buffer } from 'node:buffer';
import type { JsonSource } from '../body/json-source.ts';
import type { Issue } from '../errors.ts';
import { JsonError } from '../json/json-error.ts';
import {
  firstStringMember,
  getMember,
  type JsonNode,
  kindOf,
  rawBytes,
  rootOf,
  startOffset,
} from '../json/json-node.ts';
import { createNodeFinder } from '../json/node-finder.ts';
import { type JsonDocument, parseJson } from '../json/parse-json.ts';
import { createPositionLookup } from '../json/text-position.ts';
import type { Operation } from '../operations/operation.ts';
import type { InputLine } from './split-lines.ts';

/** The body a line holds or what is wrong with the line, and the name the line has for itself. */
export interface LineBody {
  readonly source: JsonSource | Issue;
  readonly customId: string | undefined;
}

/**
 * Reads a line of a batch: a body, or, as OpenAI's batches have it, `{"custom_id","method","url","body"}` around one. What
 * is wrong with it is told with line and column of the file.
 */
export function readLineBody({ number, bytes }: InputLine, label: string, operation: Operation): LineBody {
  if (!bytes) return withoutCustomId({ path: '', at: `${label}:${number}`, message: 'the line is too long' });
  const at = (place: JsonDocument, node: JsonNode): string => {
    const { column } = createPositionLookup(place.bytes)(startOffset(node));
    return `${label}:${number}:${column}`;
  };
  try {
    const doc = parseJson(bytes);
    const root = rootOf(doc);
    const body = getMember(root, 'body');
    if (!body || !(getMember(root, 'custom_id') || getMember(root, 'url')))
      return withoutCustomId(createLineSource(doc, label, number, 0));
    const customId = firstStringMember(root, 'custom_id');
    const envelopeError = findEnvelopeError(root, operation);
    if (envelopeError)
      return { source: { path: '', at: at(doc, envelopeError.node), message: envelopeError.message }, customId };
    const bodyDoc = parseJson(Buffer.from(rawBytes(body)));
    const { column } = createPositionLookup(doc.bytes)(startOffset(body));
    return { source: createLineSource(bodyDoc, label, number, column - 1), customId };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return withoutCustomId({
      path: '',
      at: formatErrorLocation(error, bytes, `${label}:${number}`),
      message: `not JSON: ${error.message}`,
    });
  }
}

function withoutCustomId(source: JsonSource | Issue): LineBody {
  return { source, customId: undefined };
}

function findEnvelopeError(root: JsonNode, { path }: Operation): { node: JsonNode; message: string } | undefined {
  const url = getMember(root, 'url');
  const method = getMember(root, 'method');
  if (method && firstStringMember(root, 'method') !== 'POST')
    return { node: method, message: 'the method must be "POST"' };
  if (url && firstStringMember(root, 'url') !== path) return { node: url, message: `the url must be "${path}"` };
  const body = getMember(root, 'body');
  return body && kindOf(body) !== 'object' ? { node: body, message: 'the body must be an object' } : undefined;
}

function createLineSource(doc: JsonDocument, label: string, line: number, columnOffset: number): JsonSource {
  const position = createPositionLookup(doc.bytes);
  return {
    label,
    doc,
    find: createNodeFinder(doc),
    position: (offset) => ({ line, column: position(offset).column + columnOffset }),
  };
}

function formatErrorLocation({ message, offset }: JsonError, bytes: Buffer, line: string): string {
  if (message === 'invalid UTF-8') return `${line}: byte ${offset}`;
  return `${line}:${createPositionLookup(bytes)(offset).column}`;
}
