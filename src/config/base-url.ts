import { usageFailure } from '../errors.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import { allOperations } from '../operations/all-operations.ts';
import { redactUserInfo } from '../output/redaction.ts';
import type { Runtime } from '../runtime.ts';
import type { Profile } from './profile-store.ts';
import { environmentSetting, findSetting } from './settings.ts';

export const serviceHosts = ['trace', 'chat', 'train'] as const;

export type ServiceHost = (typeof serviceHosts)[number];

const HOST_WITHOUT_SCHEME = /^[\w-]+(\.\w|:\d)[\w.:/-]*$/;
const EXAMPLE_HINT = 'use a URL like https://api.example.com';

export function resolveBaseUrl(...sources: Parameters<typeof findBaseUrl>): URL | undefined {
  const found = findBaseUrl(...sources);
  return found && parseBaseUrl(found.text, found.source);
}

/** Unchecked. Source before specificity (docs/internals/contract.md, section 4): environment before profile, then host before general. */
export function findBaseUrl(
  host: ServiceHost,
  flag: string | undefined,
  env: Runtime['env'],
  profile: Profile,
): { readonly source: string; readonly text: string; readonly isStored?: boolean | undefined } | undefined {
  const candidates: readonly (readonly [source: string, value: string | undefined, isStored?: boolean])[] = [
    ['--base-url', flag],
    ...([`${host}_base_url`, 'base_url'] as const).map(
      (name) => [findSetting(name).variable ?? '', environmentSetting(name, env)] as const,
    ),
    [`${host}_base_url of the profile`, profile[`${host}_base_url`], true],
    ['base_url of the profile', profile.base_url, true],
  ];
  const [source, text, isStored] = candidates.find(([, candidate]) => candidate) ?? [];
  return source && text ? { source, text, isStored } : undefined;
}

/** Names a variable whose base URL is used in place of that of a profile; undefined if there is none. */
export function overrideWarning(
  { name, profile }: { readonly name: string; readonly profile: Profile },
  env: Runtime['env'],
): string | undefined {
  for (const host of serviceHosts) {
    const [own, used] = [{}, env].map((variables) => findBaseUrl(host, undefined, variables, profile));
    if (own && used && own.text.replace(/\/$/, '') !== used.text.replace(/\/$/, ''))
      return `${used.source} is set and takes precedence over the base URL of the profile "${name}"; unset it to use the profile`;
  }
  return undefined;
}

/** A base URL, checked: http or https, with an optional path prefix and nothing else. Throws usage, naming `source`. */
export function parseBaseUrl(text: string, source: string): URL {
  // The URL parser removes line breaks and tabs silently; what is sent must be what was typed.
  if (!URL.canParse(text) || /[\s\p{Cc}]/u.test(text))
    throw usageFailure(`${source}: ${JSON.stringify(redactUserInfo(text))} is not a valid URL`, schemeHint(text));
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw usageFailure(`${source}: a base URL must start with https:// or http://`, schemeHint(text));
  // The text is not shown: the part before the @ may be a password.
  if (url.username || url.password)
    throw usageFailure(
      `${source}: a base URL cannot contain a user name or password`,
      'remove it; svc auth login stores credentials',
    );
  if (url.search || url.hash || /[?#]/.test(text))
    throw usageFailure(`${source}: a base URL cannot contain a query or a fragment`, EXAMPLE_HINT);
  return url;
}

function schemeHint(text: string): string {
  if (/^(["']).*\1$/.test(text)) return 'remove the quotes';
  if (/\s/.test(text)) return 'remove the space or line break';
  if (Number(/:(\d+)(?:\/|$)/.exec(text)?.[1]) > 65535) return 'a port is a number up to 65535';
  if (!HOST_WITHOUT_SCHEME.test(text) || !URL.canParse(`http://${text}`)) return EXAMPLE_HINT;
  return `did you mean ${isLoopbackUrl(new URL(`http://${text}`)) ? 'http' : 'https'}://${text}?`;
}

/** The path of an operation that a base URL ends in, as when the URL of a request is given; undefined if it ends in none. */
export function operationPathIn({ pathname }: URL): string | undefined {
  return allOperations.find(({ path }) => pathname.replace(/\/$/, '').endsWith(path))?.path;
}

/** The URL of a path below a base URL. A path prefix stays; a base that ends in `/v1` does not give `/v1/v1`, and so on. */
export function joinUrl(base: URL, path: string): string {
  const given = base.pathname.replace(/(?<!\/)\/+$/, '');
  const prefix = given.slice(0, given.length - (operationPathIn(base)?.length ?? 0));
  const shared = ['/v1/preview', '/v1'].find((end) => prefix.endsWith(end) && path.startsWith(`${end}/`)) ?? '';
  return base.origin + prefix + path.slice(shared.length);
}
