import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { safetyFailure } from '../errors.ts';
import { describeNetworkError, isPermanentError } from './network-errors.ts';
import { isLoopbackUrl, ProxyError, portOf, proxyAuthorization, proxyLoginReason } from './proxy.ts';
import type { TlsSettings } from './tls.ts';

export interface ConnectOptions {
  /** Its URL is http or https. */
  readonly proxy?: URL | undefined;
  /** The variable that names the proxy. */
  readonly proxySource?: string | undefined;
  readonly tls?: TlsSettings;
  /** Credentials may leave the machine over plain http (`--allow-http`). */
  readonly isPlainHttpAllowed?: boolean | undefined;
}

/** A connection for requests to a URL. Throws ProxyError, Failure `safety_check` (requireLoopbackPeer), and what the network throws. */
export async function openSocket(
  url: URL,
  { proxy, tls = {}, isPlainHttpAllowed }: ConnectOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = proxy ? await openThroughProxy(proxy, url, tls, signal) : await openDirectly(url, signal);
  if (!proxy && !isPlainHttpAllowed) requireLoopbackPeer(url, socket);
  let channel = socket;
  if (url.protocol === 'https:') {
    const { connectTls } = await import('./tls.ts');
    // TLS over a connection that was closed meanwhile would wait for the time limit.
    rejectClosed(socket);
    channel = await connectTls(socket, url, tls, signal);
  }
  await rejectEarlyInput(channel);
  return deferWriteErrors(channel);
}

// Data that arrives before a request is not its response, and a closed connection cannot carry a request. Both are visible
// after two turns of the event loop. On a closed connection, undici would reconnect in an endless loop.
async function rejectEarlyInput(socket: Socket): Promise<void> {
  for (const _ of [1, 2]) await new Promise((resolve) => setImmediate(resolve));
  rejectClosed(socket);
  if (socket.readableLength === 0) return;
  socket.destroy();
  throw new Error('the server sent data before it received a request');
}

function rejectClosed(socket: Socket): void {
  if (socket.destroyed || socket.readableEnded) throw socket.errored ?? new Error(CLOSED_BEFORE_REQUEST);
}

const CLOSED_BEFORE_REQUEST = 'the server closed the connection before it received a request';

/** Throws Failure `safety_check` and closes the connection if plain http to a loopback name leads to another machine. */
export function requireLoopbackPeer(url: URL, socket: Pick<Socket, 'remoteAddress' | 'destroy'>): void {
  const address = socket.remoteAddress?.replace(/^::ffff:/, '') ?? '';
  if (url.protocol !== 'http:' || !isLoopbackUrl(url) || address === '::1' || /^127\./.test(address)) return;
  socket.destroy();
  // A connection that the server has reset has no address.
  if (address === '') throw new Error(CLOSED_BEFORE_REQUEST);
  throw safetyFailure(
    'insecure_transport',
    `${url.origin} is plain http, and ${url.hostname} resolves to ${address}, not to loopback`,
    { hint: 'use https, or add --allow-http if you trust the network', applied: 'no' },
  );
}

async function openThroughProxy(proxy: URL, url: URL, tls: TlsSettings, signal: AbortSignal): Promise<Socket> {
  try {
    const { request } = await import('node:http');
    const socket = await openSocket(proxy, { tls }, signal);
    if (url.protocol !== 'https:') return socket;
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
        ? proxyLoginReason(proxy)
        : `refused to connect to the service (${`${status} ${statusMessage}`.trim()})`;
    throw new ProxyError(proxy, reason, status < 500 && status !== 408 && status !== 429, status);
  } catch (error) {
    if (signal.aborted || error instanceof ProxyError) throw error;
    throw new ProxyError(proxy, `failed: ${describeNetworkError(error)}`, isPermanentError(error));
  }
}

// Node gives each address of a name but the last 250 ms, which is too short for distant hosts and for a lost packet.
const ADDRESS_TIMEOUT_MS = 2000;

async function openDirectly(url: URL, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const socket = connect({
    host,
    port: portOf(url),
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
    ...(isIP(host) ? {} : { lookup: await createLookup(signal) }),
  }).setNoDelay(true);
  signal.addEventListener('abort', () => socket.destroy(), { once: true });
  await once(socket, 'connect', { signal });
  // An error before the connection is used shows when it is used.
  return socket.on('error', () => {});
}

// glibc and musl ship it; elsewhere Node resolves names itself.
const GETENT = '/usr/bin/getent';

/** Resolves names by `getent`, which can be killed: Node's own thread cannot, and a DNS server that drops packets would hold up the exit. */
export async function createLookup(signal: AbortSignal): Promise<LookupFunction> {
  const { lookup } = await import('node:dns');
  return (hostname, options, callback) => {
    if (/^localhost$|\.localhost$|^-/.test(hostname)) return lookup(hostname, options, callback);
    runGetent(hostname, signal).then((addresses) => {
      const [first] = addresses;
      if (signal.aborted) callback(signal.reason, '');
      // Node reports why there is no address, in about the time that getent took.
      else if (!first) lookup(hostname, options, callback);
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

async function runGetent(hostname: string, signal: AbortSignal): Promise<LookupAddress[]> {
  const { execFile } = await import('node:child_process');
  const output = await new Promise<string>((resolve) => {
    execFile(GETENT, ['ahosts', hostname], { signal, killSignal: 'SIGKILL' }, (_, stdout) => resolve(stdout));
  });
  return output.split('\n').flatMap((line) => {
    const [, address = ''] = /^(\S+)\s+STREAM\b/.exec(line) ?? [];
    return isIP(address) === 0 ? [] : [{ address, family: isIP(address) }];
  });
}

type WriteCallback = Parameters<Socket['_write']>[2];

// Reports errors of writing only after the response was read: a server may reject a request in the middle, and close the connection.
function deferWriteErrors(socket: Socket): Socket {
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, done) => write(chunk, encoding, callAfterRead(socket, done));
  if (writev) socket._writev = (chunks, done) => writev(chunks, callAfterRead(socket, done));
  return socket;
}

// A broken connection ends in the other direction once everything that arrived was read.
function callAfterRead(socket: Socket, done: WriteCallback): WriteCallback {
  return (error) => {
    if (!error || socket.readableEnded || socket.destroyed) return done(error);
    const finish = (): void => {
      for (const event of ['end', 'error', 'close']) socket.off(event, finish);
      done(error);
    };
    for (const event of ['end', 'error', 'close']) socket.on(event, finish);
  };
}
