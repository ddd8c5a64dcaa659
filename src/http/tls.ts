import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import * as tls from 'node:tls';

/** What TLS trusts and shows besides the usual: PEM texts. */
export interface Tls {
  /** Authorities trusted besides the usual ones, those of NODE_EXTRA_CA_CERTS among them. */
  readonly authorities?: readonly string[];
  /** A certificate of our own with its key, for servers that ask for one. */
  readonly client?: { readonly cert: string; readonly key: string };
}

/** TLS over a connection to the host of an address, with its certificate checked. Throws what is wrong with it. */
export async function secured(
  socket: Socket,
  { hostname }: URL,
  { authorities, client }: Tls,
  signal: AbortSignal,
): Promise<tls.TLSSocket> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const secure = tls.connect({
    socket,
    host,
    // Names only: TLS has no way to ask for an address.
    ...(isIP(host) ? {} : { servername: host }),
    ALPNProtocols: ['http/1.1'],
    // Said here, so that no variable of the environment decides it.
    rejectUnauthorized: true,
    ...(authorities ? { ca: [...usualAuthorities(), ...authorities] } : {}),
    ...client,
  });
  try {
    await once(secure, 'secureConnect', { signal });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  // The first error is the one that says why; what follows it, such as the end of the connection, is not to hide it.
  return secure.on('error', (error) => secure.destroy(error));
}

/** The TLS of a connection: its version, and when the certificate of the server ends in milliseconds since 1970; undefined for none. */
export function securityOf(socket: Socket): { readonly version: string; readonly expires: number } | undefined {
  if (!(socket instanceof tls.TLSSocket)) return undefined;
  return { version: socket.getProtocol() ?? 'TLS', expires: Date.parse(socket.getPeerCertificate().valid_to) };
}

// A list of our own takes the place of what Node trusts, so that has to be on it. Newer Nodes tell what it is.
function usualAuthorities(): readonly string[] {
  const told: unknown = Reflect.get(tls, 'getCACertificates');
  const usual: unknown = typeof told === 'function' ? told('default') : undefined;
  return Array.isArray(usual) ? usual.map(String) : tls.rootCertificates;
}
