import type { Body, Layer } from './message.ts';

/**
 * How far a request has come. `nothing`: connect or TLS did not finish. `part`: the body has begun to leave. `all`: its
 * last byte was handed over, so the server may have acted on it.
 */
export interface Progress {
  phase: 'nothing' | 'part' | 'all';
  /** Bytes of the body handed over. */
  sent: number;
}

// Small enough that a request that is cut off early is known to be incomplete.
const PIECE = 64 * 1024;

/** Keeps `progress` true while the body is taken. A sender asks for the first piece when it is connected. */
export function withProgress(progress: Progress): Layer {
  return (next) => (request) => {
    const { body } = request;
    return next({ ...request, body: { length: body.length, pieces: () => observed(body, progress) } });
  };
}

async function* observed(body: Body, progress: Progress): AsyncGenerator<Uint8Array> {
  progress.phase = 'part';
  for await (const piece of piecesOf(body)) {
    progress.sent += piece.length;
    // Said before the last piece is given away, because nobody tells when it has left.
    if (progress.sent === body.length) progress.phase = 'all';
    yield piece;
  }
  progress.phase = 'all';
}

/** A body piece by piece. */
export function piecesOf(body: Body): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return body instanceof Uint8Array ? slices(body) : body.pieces();
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}
