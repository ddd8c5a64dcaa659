import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { answerFirst } from './answer-first.ts';
import { portOf } from './proxies.ts';
import type { Tls } from './tls.ts';

/** How the host of an address is reached. */
export interface Way {
  /** What stands between; http or https. */
  readonly proxy?: URL | undefined;
  readonly tls: Tls;
}

/**
 * A connection over which requests to an address can be sent: to the proxy where there is one, through it where the
 * address says https, with TLS then. It ends with the signal. Throws ProxyFailure where the proxy is to blame, else
 * what the network or TLS say.
 */
export async function connectTo(url: URL, { proxy, tls }: Way, signal: AbortSignal): Promise<Socket> {
  const socket = proxy ? await behind(proxy, url, tls, signal) : await reached(url, signal);
  return answerFirst(url.protocol === 'https:' ? await overTls(socket, url, tls, signal) : socket);
}

async function behind(proxy: URL, url: URL, tls: Tls, signal: AbortSignal): Promise<Socket> {
  const { throughProxy } = await import('./tunnel.ts');
  return throughProxy(proxy, url, () => connectTo(proxy, { tls }, signal), signal);
}

async function overTls(socket: Socket, url: URL, tls: Tls, signal: AbortSignal): Promise<Socket> {
  const { secured } = await import('./tls.ts');
  return secured(socket, url, tls, signal);
}

async function reached(url: URL, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ''), port: portOf(url) }).setNoDelay(true);
  signal.addEventListener('abort', () => socket.destroy(), { once: true });
  await once(socket, 'connect', { signal });
  // Errors before somebody takes the connection over are seen when it is used.
  return socket.on('error', () => {});
}
