import type { Buffer } from 'node:buffer';
import type { Finding } from '../fields/finding.ts';
import { header, type Request } from '../http/message.ts';
import { piecesOf } from '../http/progress.ts';
import { parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { type JsonNode, rootOf } from '../json/node.ts';
import { Refusal } from './refusal.ts';
import { everySoOften } from './turns.ts';

/** How many bytes a body has, as far as its request says; 0 where it does not. */
export function lengthOf({ headers, body }: Request): number {
  return body.length ?? Number(header(headers, 'content-length') ?? 0);
}

/** A body that did not come to its end: its sender has a reason, and waits for no answer. */
export class LostBody extends Error {
  override readonly name = 'LostBody';
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('the body did not come to its end');
    this.reason = reason;
  }
}

/**
 * The pieces of a body. Throws Refusal 413 beyond `most` bytes, before they are read where the length is known, and
 * LostBody where the pieces throw.
 */
export async function* piecesUpTo(request: Request, most: number): AsyncGenerator<Uint8Array> {
  const tooLarge = new Refusal(413, `the body may have at most ${most} bytes`);
  if (lengthOf(request) > most) throw tooLarge;
  let length = 0;
  for await (const piece of everySoOften(sentPieces(request), request.signal)) {
    length += piece.length;
    if (length > most) throw tooLarge;
    yield piece;
  }
}

async function* sentPieces({ body }: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* piecesOf(body);
  } catch (error) {
    throw new LostBody(error);
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
