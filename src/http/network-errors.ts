import { ProxyError } from './proxy-error.ts';
import { isHandshakeRefused, networkErrorCode, rootCause } from './root-cause.ts';
import { TimeLimitError } from './time-limits.ts';

/** Why a connection failed, in words on one line: the innermost cause that says something, codes of the system explained. */
export function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = rootCause(error);
  const code = networkErrorCode(inner);
  if (messagesByCode[code]) return messagesByCode[code];
  if (isHandshakeRefused(error)) return 'the server does not accept the client certificate (--cert and --key)';
  if (/^(ERR_SSL_|EPROTO)/.test(code)) return 'TLS could not be agreed upon with the server';
  return inner.message || code || 'the connection failed';
}

/**
 * True for a reason that will be the same at once: a name that does not exist, a certificate that is wrong, a proxy
 * that refuses, the end of the time.
 */
export function isPermanentError(error: unknown): boolean {
  if (error instanceof TimeLimitError) return error.limit === 'total';
  if (!(error instanceof Error)) return false;
  const inner = rootCause(error);
  if (inner instanceof ProxyError) return inner.isPermanent;
  return PERMANENT_ERROR_CODES.test(networkErrorCode(inner));
}

const UNKNOWN_CA = 'the certificate of the server comes from an unknown authority (--cacert adds one)';

const messagesByCode: { readonly [code: string]: string } = {
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'the name of the host could not be looked up',
  ECONNREFUSED: 'nothing listens there (connection refused)',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ENETUNREACH: 'the network cannot be reached',
  EHOSTUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'the host does not answer',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are longer than 16 KiB',
  CERT_HAS_EXPIRED: 'the certificate of the server has expired',
  CERT_NOT_YET_VALID: 'the certificate of the server is not valid yet',
  CERT_REVOKED: 'the certificate of the server was revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate of the server is self-signed (--cacert trusts it)',
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the server is for another host',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS there; is it http?',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the server does not speak TLS there; is it http?',
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: 'the server refused TLS; it may want a client certificate (--cert and --key)',
  // The same in the words of newer OpenSSLs.
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE':
    'the server refused TLS; it may want a client certificate (--cert and --key)',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'the server wants a client certificate (--cert and --key)',
};

// Certificates and TLS as a whole, by the names Node and OpenSSL give what is wrong with them.
const PERMANENT_ERROR_CODES =
  /^(ENOTFOUND|EPROTO|ERR_TLS_|ERR_SSL_|UNABLE_TO_|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED|.*CERT)/;
