import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { portOf, proxyAuthorization } from './proxies.ts';
import { ProxyFailure } from './proxy-failure.ts';
import { isLastingReason, networkReason } from './reason.ts';

/** A connection to a proxy, and for https through it to the host of an address. Throws ProxyFailure. */
export async function throughProxy(
  proxy: URL,
  url: URL,
  connect: () => Promise<Socket>,
  signal: AbortSignal,
): Promise<Socket> {
  try {
    const socket = await connect();
    return url.protocol === 'https:' ? await tunnel(socket, proxy, url, signal) : socket;
  } catch (error) {
    if (signal.aborted || error instanceof ProxyFailure) throw error;
    throw new ProxyFailure(proxy, `could not be used: ${networkReason(error)}`, isLastingReason(error));
  }
}

async function tunnel(socket: Socket, proxy: URL, url: URL, signal: AbortSignal): Promise<Socket> {
  const target = `${url.hostname}:${portOf(url)}`;
  const authorization = proxyAuthorization(proxy);
  const asking = request({
    createConnection: () => socket,
    method: 'CONNECT',
    path: target,
    headers: { Host: target, ...(authorization ? { 'Proxy-Authorization': authorization } : {}) },
  });
  const connected = once(asking, 'connect', { signal });
  asking.end();
  const [reply]: IncomingMessage[] = await connected;
  const { statusCode = 0, statusMessage = '' } = reply ?? {};
  if (statusCode >= 200 && statusCode < 300) return socket;
  socket.destroy();
  throw refusal(proxy, statusCode, statusMessage);
}

function refusal(proxy: URL, status: number, text: string): ProxyFailure {
  if (status === 407)
    return new ProxyFailure(proxy, 'wants a user and a password (407): http://user:password@...', true);
  return new ProxyFailure(proxy, `did not connect to the service (${`${status} ${text}`.trim()})`, status < 500);
}
