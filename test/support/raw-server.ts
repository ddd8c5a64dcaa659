import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A TCP server that records every byte it receives and responds as the test says. */
export interface RawServer {
  readonly url: string;
  readonly port: number;
  /** The bytes of each connection, in the order of the connections. */
  readonly received: Buffer[];
}

/** The bytes of an HTTP response. */
export function httpAnswer(body: string, status = '200 OK', headers = 'Content-Type: application/json\r\n'): string {
  return `HTTP/1.1 ${status}\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
}

/** Starts a raw server; `invalid_response` is called once for each request that has arrived completely. */
export async function rawServer(answer: (socket: Socket, request: Buffer) => void): Promise<RawServer> {
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const at = received.push(Buffer.alloc(0)) - 1;
    let answered = false;
    socket.on('error', () => {});
    socket.on('data', (piece) => {
      const all = Buffer.concat([received[at] ?? Buffer.alloc(0), piece]);
      received[at] = all;
      if (answered || !isComplete(all)) return;
      answered = true;
      answer(socket, all);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { url: `http://127.0.0.1:${port}`, port, received };
}

/** The body of a request, after its headers. */
export function bodyOf(request: Buffer | undefined): Buffer {
  return request ? request.subarray(request.indexOf('\r\n\r\n') + 4) : Buffer.alloc(0);
}

function isComplete(request: Buffer): boolean {
  const end = request.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /content-length: (\d+)/i.exec(request.toString('latin1', 0, end))?.[1];
  return request.length - end - 4 >= Number(length ?? 0);
}
