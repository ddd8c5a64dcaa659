/** Which proxy requests go through, and the hosts that need none. */
export interface Proxies {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  readonly noProxy: string;
}

/**
 * The proxies of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, lower case first, as curl reads them) for
 * a request to `url`; undefined where none applies. Loopback never goes through a proxy.
 */
export function proxiesFor(url: URL, env: Readonly<Record<string, string | undefined>>): Proxies | undefined {
  const read = (name: string): string => env[name.toLowerCase()] || env[name] || '';
  const httpProxy = read('HTTP_PROXY');
  const httpsProxy = read('HTTPS_PROXY');
  if (isLoopback(url) || !(url.protocol === 'https:' ? httpsProxy : httpProxy)) return undefined;
  return { httpProxy, httpsProxy, noProxy: read('NO_PROXY') };
}

/** True for an address that never leaves the machine: localhost, 127.0.0.0/8 and ::1. */
export function isLoopback({ hostname }: URL): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}
