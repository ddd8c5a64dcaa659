import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { describeNetworkError, isPermanentError } from './network-errors.ts';
import { ProxyError, portOf, proxyAuthorization } from './proxy.ts';

/** A connection to a proxy, and for https through it to the host of a URL. Throws ProxyError. */
export async function connectThroughProxy(
  proxy: URL,
  url: URL,
  connect: () => Promise<Socket>,
  signal: AbortSignal,
): Promise<Socket> {
  try {
    const socket = await connect();
    return url.protocol === 'https:' ? await openTunnel(socket, proxy, url, signal) : socket;
  } catch (error) {
    if (signal.aborted || error instanceof ProxyError) throw error;
    throw new ProxyError(proxy, `failed: ${describeNetworkError(error)}`, isPermanentError(error));
  }
}

async function openTunnel(socket: Socket, proxy: URL, url: URL, signal: AbortSignal): Promise<Socket> {
  const target = `${url.hostname}:${portOf(url)}`;
  const authorization = proxyAuthorization(proxy);
  const connectRequest = request({
    createConnection: () => socket,
    method: 'CONNECT',
    path: target,
    headers: { Host: target, ...(authorization ? { 'Proxy-Authorization': authorization } : {}) },
  });
  const connected = once(connectRequest, 'connect', { signal });
  // The signal ends the wait before the socket: the error of the request has no other listener then.
  connectRequest.on('error', () => {}).end();
  const [response]: IncomingMessage[] = await connected;
  const { statusCode: status = 0, statusMessage = '' } = response ?? {};
  if (status >= 200 && status < 300) return socket;
  socket.destroy();
  const reason =
    status === 407
      ? `requires a user and password (407); ${authorization ? 'it rejected those in its URL' : 'write its URL as http://user:password@host'}`
      : `refused to connect to the service (${`${status} ${statusMessage}`.trim()})`;
  throw new ProxyError(proxy, reason, status < 500 && status !== 408 && status !== 429);
}
