/** The innermost cause of an error; if several addresses failed, that of the last one. */
export function rootCause(error: Error): Error {
  const inner = error instanceof AggregateError ? error.errors.at(-1) : error.cause;
  return inner instanceof Error ? rootCause(inner) : error;
}

/** The code Node or OpenSSL gave an error, such as ECONNRESET; empty for none. */
export function networkErrorCode(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}

/**
 * True if the server rejected the client certificate. With TLS 1.3 svc learns that only after it sent the request, which
 * the server never read.
 */
export function isHandshakeRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /^ERR_SSL_(TLSV1|TLSV13|SSLV3)_ALERT_(.*CERTIFICATE.*|UNKNOWN_CA|ACCESS_DENIED)$/.test(
    networkErrorCode(rootCause(error)),
  );
}
