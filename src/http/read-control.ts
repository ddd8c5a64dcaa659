import type { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import { concatChunks } from './collect-body.ts';

/** Control over what an HTTP parser reads from a socket. */
export interface ReadControl {
  /** The parser reads nothing until `resume`. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** To be called before each request: interim responses may come before the next response. */
  readonly expectResponse: () => void;
}

/**
 * Takes control of a socket's `read`. undici can pause its parser, but a parser that is paused when the connection ends
 * throws an error that nobody can catch; and it takes an unsolicited `100 Continue` for a broken response.
 */
export function controlReading(socket: Socket): ReadControl {
  const read = socket.read.bind(socket);
  const { filter, expectResponse } = createContinueFilter();
  let isPaused = false;
  socket.read = (size) => {
    const chunk: Buffer | null = isPaused ? null : read(size);
    return chunk && filter(chunk);
  };
  return {
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      socket.emit('readable');
    },
    expectResponse,
  };
}

/** Filters the bytes that come before a response. */
interface ContinueFilter {
  /** The bytes that the parser may read now; null where an interim response is incomplete. */
  readonly filter: (chunk: Buffer) => Buffer | null;
  /** Starts over: the next bytes are those before a response. */
  readonly expectResponse: () => void;
}

const STATUS_PREFIX_BYTES = 'HTTP/1.1 100'.length;
const MAX_INTERIM_HEAD_BYTES = 16_384;

/**
 * Removes each `100 Continue` before a response, which a server may send unasked (RFC 9110, section 15.2). Other interim
 * responses stay: the parser skips them itself.
 */
function createContinueFilter(): ContinueFilter {
  let isBeforeResponse = true;
  let held: Buffer[] = [];
  return {
    filter: (chunk) => {
      if (!isBeforeResponse) return chunk;
      const { passed, rest, isComplete } = splitInterimHeads(concatChunks([...held, chunk]));
      isBeforeResponse = !isComplete;
      held = isComplete ? [] : [rest];
      const bytes = concatChunks(isComplete ? [...passed, rest] : passed);
      return bytes.length === 0 ? null : bytes;
    },
    expectResponse: () => {
      isBeforeResponse = true;
      held = [];
    },
  };
}

interface SplitHeads {
  /** Interim heads that the parser may see. */
  readonly passed: Buffer[];
  /** The response, or the start of a head of which more has to come. */
  readonly rest: Buffer;
  readonly isComplete: boolean;
}

function splitInterimHeads(bytes: Buffer): SplitHeads {
  const passed: Buffer[] = [];
  let rest = bytes;
  for (;;) {
    const start = rest.toString('latin1', 0, STATUS_PREFIX_BYTES);
    if (rest.length < STATUS_PREFIX_BYTES && 'HTTP/1.'.startsWith(start.slice(0, 7)))
      return { passed, rest, isComplete: false };
    // 101 is no interim response: it hands the connection over to another protocol.
    if (!/^HTTP\/1\.[01] 1(?!01)\d\d$/.test(start)) return { passed, rest, isComplete: true };
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) return { passed, rest, isComplete: rest.length > MAX_INTERIM_HEAD_BYTES };
    if (!start.endsWith('100')) passed.push(rest.subarray(0, end + 4));
    rest = rest.subarray(end + 4);
  }
}
