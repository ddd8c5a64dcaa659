import type { Buffer } from 'node:buffer';
import type { Finding } from '../fields/finding.ts';
import { collect, Unusable } from '../http/collect.ts';
import { header, type Request } from '../http/message.ts';
import { piecesOf } from '../http/progress.ts';
import { parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { type JsonNode, rootOf } from '../json/node.ts';
import { Refusal } from './refusal.ts';
import { everySoOften } from './turns.ts';

/** The bytes of a body. Throws Refusal 413 beyond `most` bytes, before they are read where the length is known. */
export async function bodyOf({ headers, body, signal }: Request, most: number): Promise<Buffer> {
  const tooLarge = new Refusal(413, `the body may have at most ${most} bytes`);
  const { length = Number(header(headers, 'content-length') ?? 0) } = body;
  if (length > most) throw tooLarge;
  try {
    return await collect(everySoOften(piecesOf(body), signal), most, length);
  } catch (error) {
    throw error instanceof Unusable ? tooLarge : error;
  }
}

/** The value that a body is, or what is wrong with it. */
export function readBody(bytes: Buffer): JsonNode | Finding {
  try {
    return rootOf(parseJson(bytes));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { path: [error.offset], level: 'error', code: 'invalid', message: `JSON decode error: ${error.message}` };
  }
}
