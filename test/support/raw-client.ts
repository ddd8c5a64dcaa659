import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A TCP connection that records the received bytes. */
export interface RawClient {
  readonly socket: Socket;
  readonly text: () => string;
  /** Waits until the received text matches, and returns it. Throws if the connection ends before. */
  readonly until: (pattern: RegExp) => Promise<string>;
  /** Waits until the server closes the connection, and returns the received text. */
  readonly closed: Promise<string>;
}

/** Connects to a port of 127.0.0.1 and sends some bytes. It is closed with the test. */
export async function rawClient(port: number | string, first: string | Uint8Array = ''): Promise<RawClient> {
  const socket = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.setEncoding('latin1').on('data', (piece) => {
    text += piece;
  });
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => void socket.once('close', () => resolve(text)));
  await once(socket, 'connect');
  socket.write(first);
  const until = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!pattern.test(text)) return;
        // Looking through a long text again with each piece would take seconds.
        socket.off('data', look);
        resolve(text);
      };
      socket.on('data', look).once('close', () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
      look();
    });
  return { socket, text: () => text, until, closed };
}
