import type { Socket } from 'node:net';

type WriteCallback = Parameters<Socket['_write']>[2];

/**
 * A connection on which an answer that has come is read before an error of writing ends everything: a server that refuses
 * a request in the middle answers and closes, and what is written meanwhile fails while the answer is still unread.
 */
export function deferWriteErrors(socket: Socket): Socket {
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, done) => write(chunk, encoding, callAfterRead(socket, done));
  if (writev) socket._writev = (chunks, done) => writev(chunks, callAfterRead(socket, done));
  return socket;
}

// The other direction of a connection that broke ends at once, when all that has come was read.
function callAfterRead(socket: Socket, done: WriteCallback): WriteCallback {
  return (error) => {
    if (!error || socket.readableEnded || socket.destroyed) return done(error);
    const finish = (): void => {
      for (const event of ['end', 'error', 'close']) socket.off(event, finish);
      done(error);
    };
    for (const event of ['end', 'error', 'close']) socket.on(event, finish);
  };
}
