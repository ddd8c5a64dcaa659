import { isRefusedHandshake } from './cause.ts';
import type { Body, Layer } from './message.ts';

/**
 * How far a request has come. `nothing`: connect or TLS did not finish. `part`: the body has begun to leave. `all`: its
 * last byte was handed over, so the server may have acted on it.
 */
export interface Progress {
  phase: 'nothing' | 'part' | 'all';
  /** Bytes of the body handed over. */
  sent: number;
  /** Exchanges begun; the rest is said of the last one. */
  attempts: number;
}

/** The progress of a request that nobody has tried to send yet. */
export function noProgress(): Progress {
  return { phase: 'nothing', sent: 0, attempts: 0 };
}

// Small enough that a request that is cut off early is known to be incomplete.
const PIECE = 64 * 1024;

/** Keeps `progress` true while the body is taken, from the start of each exchange. A sender asks for the first piece when it is connected. */
export function withProgress(progress: Progress): Layer {
  return (next) => async (request) => {
    const { body } = request;
    progress.phase = 'nothing';
    progress.sent = 0;
    progress.attempts += 1;
    try {
      if (!isSmall(body))
        return await next({ ...request, body: { length: body.length, pieces: () => observed(body, progress) } });
      const onLeave = (): void => {
        progress.phase = 'all';
        progress.sent = body.length;
      };
      const reply = await next({ ...request, onLeave });
      // What was answered had left.
      onLeave();
      return reply;
    } catch (error) {
      if (isRefusedHandshake(error)) Object.assign(progress, { phase: 'nothing', sent: 0 });
      throw error;
    }
  };
}

function isSmall(body: Body): body is Uint8Array {
  return body instanceof Uint8Array && body.length <= PIECE;
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
