import { spawn } from 'node:child_process';
import { createServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import type { Pair } from './certificates.ts';

/** A server that records its requests. */
export interface Listening {
  readonly port: number;
  readonly seen: string[];
}

/** An https server that responds to every request like `call start`. */
export async function secureServer(options: TlsOptions): Promise<Listening> {
  const seen: string[] = [];
  const server = createServer(options, (incoming, response) => {
    seen.push(`${incoming.method} ${incoming.url}`);
    incoming.resume();
    response.setHeader('Content-Type', 'application/json').end('{"id":"1","trace_id":"2","paths":[]}');
  });
  return { port: await listening(server), seen };
}

/** OpenSSL's own server, which rejects a client certificate with an alert; Node's only closes the connection. Returns its port. */
export async function demandingServer({ cert, key }: Pair, authority: string, version: string): Promise<number> {
  const demands = [
    '-Verify',
    '1',
    '-CAfile',
    authority,
    '-verify_return_error',
    `-${version.toLowerCase().replace('v', '').replace('.', '_')}`,
  ];
  const child = spawn('openssl', ['s_server', '-accept', '0', '-www', '-cert', cert, '-key', key, ...demands]);
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  for await (const piece of child.stdout) {
    text += piece;
    const port = /^ACCEPT .*:(\d+)$/m.exec(text)?.[1];
    if (port) return Number(port);
  }
  throw new Error(`openssl s_server ended: ${text}`);
}

/** A proxy that accepts CONNECT and always connects to one port, or responds with its own status line. */
export async function connectProxy(target: number | string, tls?: TlsOptions): Promise<Listening> {
  const seen: string[] = [];
  const serve = (socket: Socket): void => {
    let head = '';
    const onData = (piece: Buffer): void => {
      head += piece.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      socket.off('data', onData);
      seen.push(head);
      if (typeof target === 'string') socket.end(`HTTP/1.1 ${target}\r\n\r\n`);
      else join(socket, target);
    };
    socket.on('data', onData).on('error', () => {});
  };
  const server = tls ? createTlsServer(tls, serve) : createTcpServer(serve);
  return { port: await listening(server), seen };
}

function join(socket: Socket, port: number): void {
  const upstream = connect(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    socket.pipe(upstream).pipe(socket);
  });
  upstream.on('error', () => socket.destroy());
  socket.on('close', () => upstream.destroy());
}

/** Listens on a port of its own until the test is over, and ends all connections then. */
export async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address: AddressInfo | string | null = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}
