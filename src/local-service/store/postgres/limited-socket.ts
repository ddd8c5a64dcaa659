import type { Buffer } from 'node:buffer';
import { connect, type Socket } from 'node:net';
import type { PostgresAddress } from '../../../config/postgres-address.ts';

// A row has at most a request and a response of 32 MiB each (docs/servers.md), and a query at most some thousand rows.
const MAX_RESPONSE_BYTES = 96 * 1024 * 1024;
const MAX_RESPONSE_MESSAGES = 1_000_000;

const MESSAGE_HEAD_BYTES = 5;

/**
 * A connection to a database, for the protocol without TLS. It fails with Error if the database sends more than 96 MiB or
 * a million messages between two requests, or announces a message of that size: the client library has no limit.
 */
export function connectLimited({ host, port }: PostgresAddress): Socket {
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  let bytes = 0;
  let messages = 0;
  let head: number[] = [];
  let bodyBytes = 0;
  let sentBytes = 0;
  return socket.on('data', (chunk: Buffer) => {
    if (socket.bytesWritten !== sentBytes) {
      sentBytes = socket.bytesWritten;
      bytes = 0;
      messages = 0;
    }
    bytes += chunk.length;
    for (let at = 0; at < chunk.length; ) {
      const skipped = Math.min(bodyBytes, chunk.length - at);
      bodyBytes -= skipped;
      at += skipped;
      for (; bodyBytes === 0 && at < chunk.length && head.length < MESSAGE_HEAD_BYTES; at += 1)
        head.push(chunk[at] ?? 0);
      if (head.length < MESSAGE_HEAD_BYTES) continue;
      // The length counts itself.
      bodyBytes = Math.max(0, head.slice(1).reduce((length, byte) => length * 256 + byte, 0) - 4);
      head = [];
      messages += 1;
    }
    if (bytes + bodyBytes > MAX_RESPONSE_BYTES || messages > MAX_RESPONSE_MESSAGES)
      socket.destroy(new Error('the database sent more than 96 MiB, or a million messages, without a request'));
  });
}
