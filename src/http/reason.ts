import { LimitReached } from './limits.ts';

/** Why a connection failed, in words: the innermost cause that says something, codes of the system explained. */
export function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = innermost(error);
  const code = 'code' in inner ? String(inner.code) : '';
  return explanations[code] ?? (inner.message || code || 'the connection failed');
}

const explanations: { readonly [code: string]: string } = {
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
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate of the server is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate of the server comes from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'the certificate of the server comes from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate of the server comes from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate of the server comes from an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the server is for another host',
};

/** True for a reason that will be the same at once: a name that does not exist, a certificate that is wrong, the end of the time. */
export function isLastingReason(error: unknown): boolean {
  if (error instanceof LimitReached) return error.limit === 'total';
  if (!(error instanceof Error)) return false;
  const inner = innermost(error);
  const code = 'code' in inner ? String(inner.code) : '';
  return /^(ENOTFOUND|EPROTO|ERR_TLS_|ERR_SSL_|.*CERT)/.test(code) || /proxy response/i.test(inner.message);
}

// Several addresses that all failed come as one error with many inside; the last is as good as any.
function innermost(error: Error): Error {
  const inner = error instanceof AggregateError ? error.errors.at(-1) : error.cause;
  return inner instanceof Error ? innermost(inner) : error;
}
