import type { Socket } from 'node:net';

/** Holds up what comes over a connection: whoever reads it finds nothing until it is released. */
export interface Holding {
  readonly hold: () => void;
  readonly release: () => void;
}

/**
 * Makes a connection one that can be held up. undici has a way of its own for that, its parser pauses; but a parser that is
 * paused when the connection ends or breaks is an error nobody can catch.
 */
export function holdable(socket: Socket): Holding {
  const read = socket.read.bind(socket);
  let isHeld = false;
  socket.read = (size) => (isHeld ? null : read(size));
  return {
    hold: () => {
      isHeld = true;
    },
    release: () => {
      isHeld = false;
      socket.emit('readable');
    },
  };
}
