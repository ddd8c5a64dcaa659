import type { Socket } from 'node:net';
import { createContinueFilter } from './continue-filter.ts';

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
