import { Buffer } from 'node:buffer';
import type { Source } from '../body/source.ts';
import type { Issue } from '../errors.ts';
import { type JsonDocument, parseJson } from '../json/document.ts';
import { finderIn } from '../json/finder.ts';
import { JsonError } from '../json/json-error.ts';
import { bytesOf, type JsonNode, kindOf, member, rootOf, startOf, stringIn } from '../json/node.ts';
import { positionsIn } from '../json/position.ts';
import type { Operation } from '../operations/operation.ts';
import type { Line } from './line.ts';

/** The body a line holds or what is wrong with the line, and the name the line has for itself. */
export interface LineBody {
  readonly source: Source | Issue;
  readonly customId: string | undefined;
}

/**
 * Reads a line of a batch: a body, or, as OpenAI's batches have it, `{"custom_id","method","url","body"}` around one. What
 * is wrong with it is told with line and column of the file.
 */
export function readLine({ number, bytes }: Line, label: string, operation: Operation): LineBody {
  if (!bytes) return nameless({ path: '', at: `${label}:${number}`, message: 'the line is too long' });
  const at = (place: JsonDocument, node: JsonNode): string => {
    const { column } = positionsIn(place.bytes)(startOf(node));
    return `${label}:${number}:${column}`;
  };
  try {
    const doc = parseJson(bytes);
    const root = rootOf(doc);
    const body = member(root, 'body');
    if (!body || !(member(root, 'custom_id') || member(root, 'url'))) return nameless(sourceOf(doc, label, number, 0));
    const customId = stringIn(root, 'custom_id');
    const wrong = wrongEnvelope(root, operation);
    if (wrong) return { source: { path: '', at: at(doc, wrong.node), message: wrong.message }, customId };
    const inner = parseJson(Buffer.from(bytesOf(body)));
    const { column } = positionsIn(doc.bytes)(startOf(body));
    return { source: sourceOf(inner, label, number, column - 1), customId };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return nameless({
      path: '',
      at: placeOf(error, bytes, `${label}:${number}`),
      message: `not JSON: ${error.message}`,
    });
  }
}

function nameless(source: Source | Issue): LineBody {
  return { source, customId: undefined };
}

function wrongEnvelope(root: JsonNode, { path }: Operation): { node: JsonNode; message: string } | undefined {
  const url = member(root, 'url');
  const method = member(root, 'method');
  if (method && stringIn(root, 'method') !== 'POST') return { node: method, message: 'the method must be "POST"' };
  if (url && stringIn(root, 'url') !== path) return { node: url, message: `the url must be "${path}"` };
  const body = member(root, 'body');
  return body && kindOf(body) !== 'object' ? { node: body, message: 'the body must be an object' } : undefined;
}

function sourceOf(doc: JsonDocument, label: string, line: number, columns: number): Source {
  const position = positionsIn(doc.bytes);
  return {
    label,
    doc,
    find: finderIn(doc),
    position: (offset) => ({ line, column: position(offset).column + columns }),
  };
}

function placeOf({ message, offset }: JsonError, bytes: Buffer, line: string): string {
  if (message === 'invalid UTF-8') return `${line}: byte ${offset}`;
  return `${line}:${positionsIn(bytes)(offset).column}`;
}
