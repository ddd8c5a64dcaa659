/** A proxy did not do its part, so nothing reached the service. The message names the proxy without its password. */
export class ProxyError extends Error {
  override readonly name = 'ProxyFailure';
  /** It will be the same at once. */
  readonly isPermanent: boolean;

  constructor(proxy: URL, reason: string, isLasting: boolean) {
    super(`the proxy ${proxy.host} ${reason}`);
    this.isPermanent = isLasting;
  }
}
