/** The innermost cause of an error: of several addresses that all failed, that of the last, which is as good as any. */
export function rootCause(error: Error): Error {
  const inner = error instanceof AggregateError ? error.errors.at(-1) : error.cause;
  return inner instanceof Error ? rootCause(inner) : error;
}

/** The code Node or OpenSSL gave an error, such as ECONNRESET; empty for none. */
export function networkErrorCode(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}

/**
 * True where the server refused our side of the handshake. Of TLS 1.3 we hear that only after the request has left,
 * but the server never took it.
 */
export function isHandshakeRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /^ERR_SSL_(TLSV1|TLSV13|SSLV3)_ALERT_(.*CERTIFICATE.*|UNKNOWN_CA|ACCESS_DENIED)$/.test(
    networkErrorCode(rootCause(error)),
  );
}
