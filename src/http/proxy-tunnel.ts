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
  connectRequest.end();
  const [response]: IncomingMessage[] = await connected;
  const { statusCode = 0, statusMessage = '' } = response ?? {};
  if (statusCode >= 200 && statusCode < 300) return socket;
  socket.destroy();
  throw proxyRefusal(proxy, statusCode, statusMessage);
}

function proxyRefusal(proxy: URL, status: number, text: string): ProxyError {
  if (status === 407)
    return new ProxyError(
      proxy,
      'requires a user and password (407); write its URL as http://user:password@host',
      true,
    );
  return new ProxyError(proxy, `refused to connect to the service (${`${status} ${text}`.trim()})`, status < 500);
}
