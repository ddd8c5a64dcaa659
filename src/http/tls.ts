import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import * as tls from 'node:tls';

/** What TLS trusts and shows besides the usual: PEM texts. */
export interface TlsSettings {
  /** Authorities trusted besides the usual ones, those of NODE_EXTRA_CA_CERTS among them. */
  readonly caCertificates?: readonly string[];
  /** A certificate of our own with its key, for servers that ask for one. */
  readonly client?: { readonly cert: string; readonly key: string };
}

/** TLS over a connection to the host of an address, with its certificate checked. Throws what is wrong with it. */
export async function connectTls(
  socket: Socket,
  { hostname }: URL,
  { caCertificates, client }: TlsSettings,
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
    ...(caCertificates ? { ca: [...defaultCaCertificates(), ...caCertificates] } : {}),
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
export function readTlsInfo(socket: Socket): { readonly version: string; readonly expiresMs: number } | undefined {
  if (!(socket instanceof tls.TLSSocket)) return undefined;
  return { version: socket.getProtocol() ?? 'TLS', expiresMs: Date.parse(socket.getPeerCertificate().valid_to) };
}

// A list of our own takes the place of what Node trusts, so that has to be on it. Newer Nodes tell what it is.
function defaultCaCertificates(): readonly string[] {
  const getCertificates: unknown = Reflect.get(tls, 'getCACertificates');
  const certificates: unknown = typeof getCertificates === 'function' ? getCertificates('default') : undefined;
  return Array.isArray(certificates) ? certificates.map(String) : tls.rootCertificates;
}
