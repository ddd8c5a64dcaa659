import { Buffer } from 'node:buffer';
import { BlockList, isIP, isIPv6 } from 'node:net';

type Env = Readonly<Record<string, string | undefined>>;

/** The proxy for a URL, by lower-case variables first as in curl; undefined for none, and always for loopback. */
export function proxyForUrl(url: URL, env: Env) {
  if (isLoopbackUrl(url) || isExcludedHost(url, readProxyVariable(env, 'NO_PROXY')?.text ?? '')) return undefined;
  return (
    readProxyVariable(env, url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY') ??
    readProxyVariable(env, 'ALL_PROXY')
  );
}

/** A proxy, unchecked; `source` is the variable, under its lower-case or else its upper-case name. Undefined if both are empty. */
export function readProxyVariable(env: Env, name: string) {
  const source = [name.toLowerCase(), name].find((one) => env[one]);
  return source === undefined ? undefined : { source, text: env[source] ?? '' };
}

/** The URL of a proxy, with `http://` if it has no scheme; undefined for one that svc cannot use, such as SOCKS. */
export function parseProxyUrl(text: string): URL | undefined {
  const full = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}

/** The value of Proxy-Authorization for a proxy whose URL has a user; undefined for others. */
export function proxyAuthorization({ username, password }: URL): string | undefined {
  if (!username && !password) return undefined;
  return `Basic ${Buffer.from(`${decodePercentEscapes(username)}:${decodePercentEscapes(password)}`).toString('base64')}`;
}

/** The secrets in the URL of a proxy, in every form they are sent or shown in. */
export function proxySecrets(proxy: URL): string[] {
  const authorization = proxyAuthorization(proxy) ?? '';
  return [proxy.password, decodePercentEscapes(proxy.password), authorization.slice('Basic '.length)];
}

export function isLoopbackUrl({ hostname }: Pick<URL, 'hostname'>): boolean {
  return /^(?:(?:.*\.)?localhost|\[::1\]|127(?:\.\d{1,3}){3})$/.test(hostname);
}

export function portOf({ protocol, port }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

/** A proxy failed, so nothing reached the service. The message names the proxy without its password. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly isPermanent: boolean;
  /** Of its response, if it sent one. */
  readonly status: number | undefined;

  constructor(proxy: URL, reason: string, isPermanent: boolean, status?: number) {
    super(`the proxy ${proxy.host} ${reason}`);
    this.isPermanent = isPermanent;
    this.status = status;
  }
}

/** Why a proxy responded with 407. */
export function proxyLoginReason(proxy: URL): string {
  return proxyAuthorization(proxy)
    ? 'rejected the user and password in its URL (407)'
    : 'requires a user and password (407)';
}

/** The next step after a proxy failed, or responded with `status`; `source` is the variable that names it. */
export function proxyHint(source: string, status?: number): string {
  return status === 407
    ? `write the user and password into ${source}: http://<user>:<password>@<host>:<port>`
    : `correct or unset ${source}, or add the host to NO_PROXY; to see the proxy, run: svc doctor`;
}

// Hosts (with their subdomains), IP addresses (IPv6 also in brackets), CIDR ranges or `*`; a port is optional.
function isExcludedHost(url: URL, list: string): boolean {
  const hostname = url.hostname.replace(/^\[|\]$|\.$/g, '');
  return list.split(/[,\s]+/).some((entry) => {
    const [, name = '', port] = splitPort(entry.toLowerCase());
    if (port !== undefined && Number(port) !== portOf(url)) return false;
    const host = name.replace(/^\*?\.|^\[|\]$|\.$/g, '');
    if (host === '') return false;
    return host === '*' || hostname === host || hostname.endsWith(`.${host}`) || isInRange(hostname, host);
  });
}

function splitPort(entry: string): readonly (string | undefined)[] {
  if (isIPv6(entry.replace(/\/\d+$/, ''))) return [entry, entry];
  return /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
}

function isInRange(hostname: string, range: string): boolean {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(range) ?? [];
  const family = isIP(hostname);
  const [type, maxBits] = family === 4 ? (['ipv4', 32] as const) : (['ipv6', 128] as const);
  if (family === 0 || isIP(address) !== family || Number(bits ?? 0) > maxBits) return false;
  const addresses = new BlockList();
  addresses.addSubnet(address, Number(bits ?? maxBits), type);
  return addresses.check(hostname, type);
}

function decodePercentEscapes(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
