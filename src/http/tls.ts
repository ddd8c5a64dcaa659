import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import * as tls from 'node:tls';

export interface TlsSettings {
  /** PEM texts of CAs trusted besides the defaults, also those of NODE_EXTRA_CA_CERTS. */
  readonly caCertificates?: readonly string[];
  readonly client?: { readonly cert: string; readonly key: string };
}

/** TLS over a connection to the host of a URL, with its certificate verified. Throws the errors of the handshake. */
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
    // Names only: TLS cannot ask for an IP address.
    ...(isIP(host) ? {} : { servername: host }),
    ALPNProtocols: ['http/1.1'],
    // Explicit, so that no environment variable decides it.
    rejectUnauthorized: true,
    ...(caCertificates ? { secureContext: contextWith(caCertificates, client) } : client),
  });
  try {
    await once(secure, 'secureConnect', { signal });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  // The first error is the cause; later ones, such as the end of the connection, must not hide it.
  return secure.on('error', (error) => secure.destroy(error));
}

export interface TlsInfo {
  readonly version: string;
  /** When the certificate of the server expires, in milliseconds since 1970. */
  readonly expiresMs: number;
}

/** The TLS of a connection; undefined for none. */
export function readTlsInfo(socket: Socket): TlsInfo | undefined {
  if (!(socket instanceof tls.TLSSocket)) return undefined;
  return { version: socket.getProtocol() ?? 'TLS', expiresMs: Date.parse(socket.getPeerCertificate().valid_to) };
}

// `ca` would replace what Node trusts, which can be a store of the system that only OpenSSL can read.
function contextWith(caCertificates: readonly string[], client: TlsSettings['client']): tls.SecureContext {
  const secureContext = tls.createSecureContext(client);
  for (const certificate of caCertificates) secureContext.context.addCACert(certificate);
  return secureContext;
}
