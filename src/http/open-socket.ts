import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { deferWriteErrors } from './defer-write-errors.ts';
import { portOf } from './proxy.ts';
import type { TlsSettings } from './tls.ts';

/** How the host of an address is reached. */
export interface Route {
  /** What stands between; http or https. */
  readonly proxy?: URL | undefined;
  readonly tls: TlsSettings;
}

/**
 * A connection over which requests to an address can be sent: to the proxy where there is one, through it where the
 * address says https, with TLS then. It ends with the signal. Throws ProxyFailure where the proxy is to blame, else
 * what the network or TLS say.
 */
export async function openSocket(url: URL, { proxy, tls }: Route, signal: AbortSignal): Promise<Socket> {
  const socket = proxy ? await openThroughProxy(proxy, url, tls, signal) : await openDirectly(url, signal);
  return deferWriteErrors(url.protocol === 'https:' ? await openTls(socket, url, tls, signal) : socket);
}

async function openThroughProxy(proxy: URL, url: URL, tls: TlsSettings, signal: AbortSignal): Promise<Socket> {
  const { connectThroughProxy } = await import('./proxy-tunnel.ts');
  return connectThroughProxy(proxy, url, () => openSocket(proxy, { tls }, signal), signal);
}

async function openTls(socket: Socket, url: URL, tls: TlsSettings, signal: AbortSignal): Promise<Socket> {
  const { connectTls } = await import('./tls.ts');
  return connectTls(socket, url, tls, signal);
}

async function openDirectly(url: URL, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ''), port: portOf(url) }).setNoDelay(true);
  signal.addEventListener('abort', () => socket.destroy(), { once: true });
  await once(socket, 'connect', { signal });
  // Errors before somebody takes the connection over are seen when it is used.
  return socket.on('error', () => {});
}
