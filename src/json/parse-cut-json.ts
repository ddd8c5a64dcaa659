import { Buffer } from 'node:buffer';
import type { JsonNode } from './json-node.ts';
import { tryParseJson } from './parse-json.ts';

/** The JSON value that cut bytes are the start of, without a member or item that is incomplete; of a string, its start. */
export function parseCutJson(bytes: Uint8Array): JsonNode | undefined {
  const text = new TextDecoder().decode(bytes);
  let closers = '';
  let isInString = false;
  let complete = { end: 0, closers };
  for (const { 0: token, index } of text.matchAll(/\\.|["{}[\],]/gs)) {
    if (token === '"') isInString = !isInString;
    if (isInString || token.startsWith('\\')) continue;
    if (token === '{' || token === '[') closers = (token === '{' ? '}' : ']') + closers;
    if (token === '}' || token === ']') closers = closers.slice(1);
    if (token !== '"') complete = { end: token === ',' ? index : index + 1, closers };
  }
  const withString = isInString ? parseText(`${text.replace(INCOMPLETE_ESCAPE, '')}"${closers}`) : undefined;
  return withString ?? parseText(text.slice(0, complete.end) + complete.closers);
}

const INCOMPLETE_ESCAPE = /(?<=(?<!\\)(?:\\\\)*)\\(?:u[\da-f]{0,3})?$/i;

function parseText(text: string): JsonNode | undefined {
  return tryParseJson(Buffer.from(text));
}
