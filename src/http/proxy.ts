import { Buffer } from 'node:buffer';

type Env = Readonly<Record<string, string | undefined>>;

/** A proxy as the environment names it, not yet looked at; `source` is the variable. */
export interface ProxyVariable {
  readonly source: string;
  readonly text: string;
}

/**
 * The proxy of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, lower case first, as curl reads them) for
 * a request to `url`; undefined where none applies. Loopback never goes through a proxy.
 */
export function proxyForUrl(url: URL, env: Env): ProxyVariable | undefined {
  if (isLoopbackUrl(url) || isExcludedHost(url, readProxyVariable(env, 'NO_PROXY')?.text ?? '')) return undefined;
  return readProxyVariable(env, url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
}

/** A variable about proxies under the name it has, lower case first; undefined where it is empty. */
export function readProxyVariable(env: Env, name: string): ProxyVariable | undefined {
  const source = [name.toLowerCase(), name].find((one) => env[one]);
  return source === undefined ? undefined : { source, text: env[source] ?? '' };
}

/** The address of a proxy, `http://` where it names no scheme; undefined where it is none that svc can use, such as SOCKS. */
export function parseProxyUrl(text: string): URL | undefined {
  const full = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}

/** The value of Proxy-Authorization for a proxy whose address has a user; undefined for others. */
export function proxyAuthorization({ username, password }: URL): string | undefined {
  if (!username && !password) return undefined;
  return `Basic ${Buffer.from(`${decodePercentEscapes(username)}:${decodePercentEscapes(password)}`).toString('base64')}`;
}

/** The secrets in the address of a proxy, in every form they are sent or shown in. */
export function proxySecrets(proxy: URL): string[] {
  const authorization = proxyAuthorization(proxy) ?? '';
  return [proxy.password, decodePercentEscapes(proxy.password), authorization.slice('Basic '.length)];
}

/** True for an address that never leaves the machine: localhost, 127.0.0.0/8 and ::1. */
export function isLoopbackUrl({ hostname }: URL): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}

/** The port a request to an address goes to. */
export function portOf({ protocol, port }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

// Entries are hosts, which stand for what is below them as well, with or without a port; * is every host.
function isExcludedHost(url: URL, list: string): boolean {
  return list.split(/[,\s]+/).some((entry) => {
    const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    if (port !== undefined && Number(port) !== portOf(url)) return false;
    const host = name.replace(/^\*?\./, '');
    return host !== '' && (host === '*' || url.hostname === host || url.hostname.endsWith(`.${host}`));
  });
}

// A password that was not written as addresses want it is meant as it stands.
function decodePercentEscapes(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
