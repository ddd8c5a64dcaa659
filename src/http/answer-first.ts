import type { Socket } from 'node:net';

type Done = Parameters<Socket['_write']>[2];

/**
 * A connection on which an answer that has come is read before an error of writing ends everything: a server that refuses
 * a request in the middle answers and closes, and what is written meanwhile fails while the answer is still unread.
 */
export function answerFirst(socket: Socket): Socket {
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, done) => write(chunk, encoding, whenRead(socket, done));
  if (writev) socket._writev = (chunks, done) => writev(chunks, whenRead(socket, done));
  return socket;
}

// The other direction of a connection that broke ends at once, when all that has come was read.
function whenRead(socket: Socket, done: Done): Done {
  return (error) => {
    if (!error || socket.readableEnded || socket.destroyed) return done(error);
    const tell = (): void => {
      for (const event of ['end', 'error', 'close']) socket.off(event, tell);
      done(error);
    };
    for (const event of ['end', 'error', 'close']) socket.on(event, tell);
  };
}
