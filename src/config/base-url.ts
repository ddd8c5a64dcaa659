import { usageFailure } from '../errors.ts';

/** A base address as given, checked: http or https, a path prefix allowed, nothing else. Throws usage. */
export function parseBaseUrl(text: string, source: string): URL {
  if (!URL.canParse(text))
    throw usageFailure(
      `${source}: ${JSON.stringify(redactUserInfo(text))} is not an address`,
      'write it like https://api.example.com',
    );
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw usageFailure(`${source}: a base address starts with https:// or http://`);
  }
  // Not shown: whatever stands before the @ may be a password.
  if (url.username || url.password)
    throw usageFailure(`${source}: a base address has no user or password`, 'use svc auth login');
  if (url.search || url.hash || /[?#]/.test(text))
    throw usageFailure(`${source}: a base address has no query and no fragment`);
  return url;
}

/** The URL of a path below a base URL. A path prefix stays; a base that ends in `/v1` does not give `/v1/v1`, and so on. */
export function joinUrl(base: URL, path: string): string {
  const prefix = base.pathname.replace(/\/+$/, '');
  const shared = ['/v1/preview', '/v1'].find((end) => prefix.endsWith(end) && path.startsWith(`${end}/`)) ?? '';
  return base.origin + prefix + path.slice(shared.length);
}

// Whatever stands before an @ may be a password.
function redactUserInfo(text: string): string {
  return text.replace(/^(\w+:\/\/)?[^/]*@/, '$1[hidden]@');
}
