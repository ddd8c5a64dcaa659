/** A proxy failed, so nothing reached the service. The message names the proxy without its password. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  /** An immediate retry would fail again. */
  readonly isPermanent: boolean;

  constructor(proxy: URL, reason: string, isLasting: boolean) {
    super(`the proxy ${proxy.host} ${reason}`);
    this.isPermanent = isLasting;
  }
}
