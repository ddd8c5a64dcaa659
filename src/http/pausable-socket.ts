import type { Socket } from 'node:net';

/** Holds up what comes over a connection: whoever reads it finds nothing until it is released. */
export interface PauseControl {
  readonly pause: () => void;
  readonly resume: () => void;
}

/**
 * Makes a connection one that can be held up. undici has a way of its own for that, its parser pauses; but a parser that is
 * paused when the connection ends or breaks is an error nobody can catch.
 */
export function makePausable(socket: Socket): PauseControl {
  const read = socket.read.bind(socket);
  let isPaused = false;
  socket.read = (size) => (isPaused ? null : read(size));
  return {
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      socket.emit('readable');
    },
  };
}
