/** A proxy did not do its part, so nothing reached the service. The message names the proxy without its password. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';
  /** It will be the same at once. */
  readonly isLasting: boolean;

  constructor(proxy: URL, why: string, isLasting: boolean) {
    super(`the proxy ${proxy.host} ${why}`);
    this.isLasting = isLasting;
  }
}
