import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** What a server does with one connection. */
export interface Fault {
  readonly name: string;
  /** When it acts: on connection, with the first byte, or when the whole request has arrived. */
  readonly at: 'connect' | 'first byte' | 'request';
  /** The request takes effect before the server acts. */
  readonly applies?: boolean;
  /** Bytes it sends, in one write each. */
  readonly sends?: readonly string[];
  /** How the connection ends: properly, reset, or not at all. */
  readonly ends: 'fin' | 'reset' | 'never';
}

/** A server that follows a script, one fault for each connection, and records what it applied. */
export interface FaultServer {
  readonly url: string;
  /** How many connections there were. */
  readonly connections: () => number;
  /** The bodies that took effect since the script began, in order. */
  readonly applied: readonly string[];
  /** Whether the request of the last connection took effect. */
  readonly isLastApplied: () => boolean;
  /** Gives each further connection the next of these, and the last to all others. */
  readonly follow: (script: readonly Fault[]) => void;
}

/** Starts such a server on loopback. */
export async function faultServer(): Promise<FaultServer> {
  let script: readonly Fault[] = [];
  let connections = 0;
  let applied: string[] = [];
  let appliedBefore = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const fault = script[Math.min(connections, script.length - 1)];
    connections += 1;
    appliedBefore = applied.length;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    if (fault) play(fault, socket, applied);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    connections: () => connections,
    get applied() {
      return applied;
    },
    isLastApplied: () => applied.length > appliedBefore,
    follow: (next) => {
      script = next;
      connections = 0;
      // A connection of the earlier script may still write, to the record it began with.
      applied = [];
    },
  };
}

/** A port on loopback where nothing listens. */
export async function closedPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}

function play({ at, applies, sends = [], ends }: Fault, socket: Socket, applied: string[]): void {
  const act = (): void => {
    for (const text of sends) socket.write(text);
    if (ends === 'fin') socket.end();
    if (ends === 'reset') socket.resetAndDestroy();
  };
  if (at === 'connect') {
    act();
    return;
  }
  if (at === 'first byte') {
    socket.once('data', act).resume();
    return;
  }
  let received = Buffer.alloc(0);
  let isDone = false;
  socket.on('data', (piece) => {
    received = Buffer.concat([received, piece]);
    const body = bodyOf(received);
    if (body === undefined || isDone) return;
    isDone = true;
    if (applies) applied.push(body);
    act();
  });
}

// The body of a request that is completely there.
function bodyOf(request: Buffer): string | undefined {
  const end = request.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const length = Number(/content-length: (\d+)/i.exec(request.toString('latin1', 0, end))?.[1] ?? 0);
  const body = request.subarray(end + 4);
  return body.length >= length ? body.toString() : undefined;
}
