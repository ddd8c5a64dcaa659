import type { Socket } from 'node:net';

type WriteCallback = Parameters<Socket['_write']>[2];

/**
 * Reports errors of writing only after the response was read: a server that rejects a request in the middle responds and
 * closes the connection, and what svc writes meanwhile fails before it has read the response.
 */
export function deferWriteErrors(socket: Socket): Socket {
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, done) => write(chunk, encoding, callAfterRead(socket, done));
  if (writev) socket._writev = (chunks, done) => writev(chunks, callAfterRead(socket, done));
  return socket;
}

// A broken connection ends in the other direction once everything that arrived was read.
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
