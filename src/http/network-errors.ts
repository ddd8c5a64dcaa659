import { isHandshakeRefused, networkErrorCode, rootCause } from '../errors.ts';
import { ProxyError } from './proxy.ts';
import { TimeLimitError } from './time-limits.ts';

/** The cause of a failed connection on one line: the innermost cause that has a message, system error codes in words. */
export function describeNetworkError(error: unknown): string {
  const inner = innermostError(error);
  const code = networkErrorCode(inner);
  if (messagesByCode[code]) return messagesByCode[code];
  // The HTTP parser, at the end of a connection within a chunked body.
  if (INVALID_EOF.test(inner.message)) return CLOSED_EARLY;
  if (isInvalidHttp(inner)) return 'the response is not valid HTTP';
  if (isHandshakeRefused(error)) return 'the server rejected the client certificate';
  if (/^(ERR_SSL_|EPROTO)/.test(code)) return `TLS failed${'reason' in inner ? `: ${inner.reason}` : ''}`;
  return inner.message || code || 'the connection failed';
}

export function isInvalidResponseError(error: unknown): boolean {
  const inner = innermostError(error);
  if (networkErrorCode(inner) === LENGTH_MISMATCH_CODE) return true;
  return isInvalidHttp(inner) && !INVALID_EOF.test(inner.message);
}

/** True if the server closed the connection without a response, or with a TLS alert, as ports do that speak only TLS. */
export function isClosedUnheard(error: unknown): boolean {
  const inner = innermostError(error);
  const parsedText = 'data' in inner ? String(inner.data) : '';
  return /^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(networkErrorCode(inner)) || parsedText.startsWith(TLS_ALERT);
}

/** The next step after a failed connection; `hasCa` if more CA certificates were given. Undefined for no particular one. */
export function networkErrorHint(error: unknown, hasCa: boolean): string | undefined {
  const reason = describeNetworkError(error);
  if (reason === UNKNOWN_CA && hasCa)
    return 'check that the file of --cacert has the root of the CA, and that the server sends its intermediate certificates';
  if (INCOMPLETE_CHAIN.test(networkErrorCode(innermostError(error))))
    return 'the server may not send its intermediate certificates; if it does, trust its CA: --cacert <file>';
  if (/expired|not valid yet/.test(reason))
    return 'check the date of this machine; if it is right, renew the certificate';
  if (reason === ONLY_HTTP2) return 'svc speaks HTTP/1.1: use a port or a proxy that does, too';
  if (/client certificate/.test(reason))
    return 'give a certificate that the server accepts: --cert <file> --key <file>';
  if (/unknown CA|self-signed/.test(reason)) return 'to trust the CA of the server: --cacert <file>';
  if (/is it http/.test(reason)) return 'check the scheme of the base URL: https:// or http://';
  return undefined;
}

/** True for a cause that an immediate retry would meet again, such as an unknown host or an invalid certificate. */
export function isPermanentError(error: unknown): boolean {
  if (error instanceof TimeLimitError) return error.limit === 'total';
  const inner = innermostError(error);
  if (inner instanceof ProxyError) return inner.isPermanent;
  return PERMANENT_ERROR_CODES.test(networkErrorCode(inner));
}

/** The error of a proxy; undefined for any other error. */
export function proxyErrorOf(error: unknown): ProxyError | undefined {
  const inner = innermostError(error);
  return inner instanceof ProxyError ? inner : undefined;
}

const UNKNOWN_CA = 'the server certificate is signed by an unknown CA';
const INCOMPLETE_CHAIN = /^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT)/;
const ONLY_HTTP2 = 'the server offers no HTTP/1.1 on this port';
const NOT_TLS = 'the server does not speak TLS on this port; is it http?';
const HANDSHAKE_REFUSED = 'the server refused the TLS handshake; it may require a client certificate';

const LENGTH_MISMATCH_CODE = 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';

// undici gives most parser errors no code, and asserts a status; HPE_ is Node's parser, for responses to CONNECT.
function isInvalidHttp(inner: Error): boolean {
  return inner.name === 'HTTPParserError' || /^(ERR_ASSERTION$|HPE_)/.test(networkErrorCode(inner));
}

function innermostError(error: unknown): Error {
  return rootCause(error instanceof Error ? error : new Error(String(error)));
}

const TLS_ALERT = '\x15\x03';

const INVALID_EOF = /Invalid EOF state/;
const CLOSED_EARLY = 'the server closed the connection';

const messagesByCode: { readonly [code: string]: string } = {
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'name resolution failed',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection closed',
  ENETUNREACH: 'network unreachable',
  EHOSTUNREACH: 'host unreachable',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_SOCKET: CLOSED_EARLY,
  [LENGTH_MISMATCH_CODE]: 'the response does not match its Content-Length',
  UND_ERR_HEADERS_OVERFLOW: 'the response headers exceed 16 KiB',
  CERT_HAS_EXPIRED: 'the server certificate has expired',
  CERT_NOT_YET_VALID: 'the server certificate is not valid yet',
  CERT_REVOKED: 'the server certificate was revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the server certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  ERR_TLS_CERT_ALTNAME_INVALID: 'the server certificate is for another host',
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NOT_TLS,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: HANDSHAKE_REFUSED,
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': HANDSHAKE_REFUSED,
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: ONLY_HTTP2,
  'ERR_SSL_TLSV1/3_ALERT_NO_APPLICATION_PROTOCOL': ONLY_HTTP2,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'the server requires a client certificate',
};

const PERMANENT_ERROR_CODES =
  /^(ENOTFOUND|EPROTO|ERR_TLS_|ERR_SSL_|UNABLE_TO_|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED|.*CERT)/;
