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
 * throws an error that cannot be caught, and it takes an unsolicited `100 Continue` for a broken response.
 * `onInterimResponse` is called for each 1xx response.
 */
export function controlReading(socket: Socket, onInterimResponse: () => void): ReadControl {
  const read = socket.read.bind(socket);
  let isPaused = false;
  let isBeforeResponse = true;
  let held: Buffer[] = [];
  const filterInterimHeads = (chunk: Buffer): Buffer | null => {
    const { passed, rest } = splitInterimHeads(concatChunks([...held, chunk]), onInterimResponse);
    isBeforeResponse = rest !== undefined;
    held = rest ? [rest] : [];
    return passed.length === 0 ? null : concatChunks(passed);
  };
  socket.read = (size) => {
    const chunk: Buffer | null = isPaused ? null : read(size);
    return chunk && isBeforeResponse ? filterInterimHeads(chunk) : chunk;
  };
  return {
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      socket.emit('readable');
    },
    expectResponse: () => {
      isBeforeResponse = true;
      held = [];
    },
  };
}

const STATUS_PREFIX_BYTES = 'HTTP/1.1 100'.length;
const MAX_INTERIM_HEAD_BYTES = 16_384;

// The bytes that the parser may read before a response, and the start of an incomplete head. Leaves out each unsolicited
// `100 Continue`, which is valid (RFC 9110, section 15.2). The parser skips other interim responses itself.
function splitInterimHeads(
  bytes: Buffer,
  onInterimResponse: () => void,
): { readonly passed: Buffer[]; readonly rest?: Buffer } {
  const passed: Buffer[] = [];
  let rest = bytes;
  for (;;) {
    const start = rest.toString('latin1', 0, STATUS_PREFIX_BYTES);
    if (rest.length < STATUS_PREFIX_BYTES && 'HTTP/1.'.startsWith(start.slice(0, 7))) return { passed, rest };
    // 101 is not an interim response: it hands the connection over to another protocol.
    const isInterim = /^HTTP\/1\.[01] 1(?!01)\d\d$/.test(start);
    const end = isInterim ? rest.indexOf('\r\n\r\n') : -1;
    if (!isInterim || (end === -1 && rest.length > MAX_INTERIM_HEAD_BYTES)) return { passed: [...passed, rest] };
    if (end === -1) return { passed, rest };
    if (!start.endsWith('100')) passed.push(rest.subarray(0, end + 4));
    rest = rest.subarray(end + 4);
    onInterimResponse();
  }
}
