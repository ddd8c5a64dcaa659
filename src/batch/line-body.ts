import { Buffer } from 'node:buffer';
import type { JsonSource } from '../body/json-source.ts';
import type { Issue } from '../errors.ts';
import type { InputLine } from '../files/split-lines.ts';
import { applySplices } from '../json/edit.ts';
import { JsonError } from '../json/json-error.ts';
import {
  createNodeFinder,
  endOffset,
  firstStringMember,
  getMember,
  type JsonDocument,
  type JsonNode,
  kindOf,
  membersOf,
  rawBytes,
  rawText,
  rootOf,
  startOffset,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { createPositionLookup, formatPosition, positionAt } from '../json/text-position.ts';
import type { Operation } from '../operations/operation.ts';

/** The body of a line, or the error in the line. */
export interface LineBody {
  readonly source: JsonSource | Issue;
  /** The `custom_id` of the line as JSON: a string, or a number as typed. */
  readonly customId: string | undefined;
  /** The `custom_id` was a field of the body, and is removed from it. */
  readonly isIdInBody: boolean;
}

/**
 * Reads a line of a batch: a body, or a body inside `{"custom_id","method","url","body"}`, as in OpenAI's batches. Errors
 * name the line and column in the file.
 */
export function readLineBody({ number, bytes }: InputLine, label: string, operation: Operation): LineBody {
  if (!bytes)
    return withoutCustomId({
      path: '',
      at: `${label}:${number}`,
      message: 'the line exceeds the size limit of a body',
    });
  const at = (place: JsonDocument, node: JsonNode): string => {
    const { column } = createPositionLookup(place.bytes)(startOffset(node));
    return `${label}:${number}:${column}`;
  };
  try {
    const doc = parseJson(bytes);
    const root = rootOf(doc);
    const body = getMember(root, 'body');
    if (!body || !(getMember(root, 'custom_id') || getMember(root, 'url'))) return readPlainBody(doc, label, number);
    const customId = customIdJson(getMember(root, 'custom_id'));
    const envelopeError = findEnvelopeError(root, operation);
    if (envelopeError)
      return {
        source: { path: '', at: at(doc, envelopeError.node), message: envelopeError.message },
        customId,
        isIdInBody: false,
      };
    const bodyDoc = parseJson(Buffer.from(rawBytes(body)));
    const { column } = createPositionLookup(doc.bytes)(startOffset(body));
    return { source: createLineSource(bodyDoc, label, number, column - 1), customId, isIdInBody: false };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return withoutCustomId({
      path: '',
      at: formatPosition(label, { line: number, column: positionAt(bytes, error.offset).column }),
      message: `invalid JSON: ${error.message}`,
    });
  }
}

function withoutCustomId(source: JsonSource | Issue): LineBody {
  return { source, customId: undefined, isIdInBody: false };
}

// Only `custom_id`, which no operation has as a field, is removed; every other byte stays.
function readPlainBody(doc: JsonDocument, label: string, line: number): LineBody {
  const root = rootOf(doc);
  if (!getMember(root, 'custom_id')) return withoutCustomId(createLineSource(doc, label, line, 0));
  const members = Array.from(membersOf(root));
  const at = members.findIndex(({ key }) => key === 'custom_id');
  const member = members[at];
  const customId = customIdJson(member?.value);
  if (!member || customId === undefined) return withoutCustomId(createLineSource(doc, label, line, 0));
  const [previous, next] = [members[at - 1], members[at + 1]];
  const start = previous && !next ? endOffset(previous.value) : startOffset(member.keyNode);
  const end = next ? startOffset(next.keyNode) : endOffset(member.value);
  const body = parseJson(applySplices(doc.bytes, [{ start, end, text: '' }]));
  const position = createPositionLookup(doc.bytes);
  const toOriginal = (offset: number): number => (offset < start ? offset : offset + end - start);
  return {
    source: {
      label,
      doc: body,
      find: createNodeFinder(body),
      position: (offset) => ({ line, column: position(toOriginal(offset)).column }),
    },
    customId,
    isIdInBody: true,
  };
}

function customIdJson(node: JsonNode | undefined): string | undefined {
  return node && (kindOf(node) === 'string' || kindOf(node) === 'number') ? rawText(node) : undefined;
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
