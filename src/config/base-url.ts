import { usageFailure } from '../errors.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import { allOperations } from '../operations/all-operations.ts';
import { redactUserInfo } from '../output/redaction.ts';
import { shellWord } from '../output/shell-quote.ts';
import type { Runtime } from '../runtime.ts';
import type { Profile } from './profile-store.ts';
import { environmentSetting, findSetting } from './settings.ts';

export const serviceHosts = ['trace', 'chat', 'train'] as const;

export type ServiceHost = (typeof serviceHosts)[number];

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
  // The URL parser removes line breaks and tabs silently, and adds slashes; what is sent must be what was typed.
  const isUrl = URL.canParse(text) && !/[\s\p{Cc}]/u.test(text);
  if (!isUrl)
    throw usageFailure(`${source}: ${JSON.stringify(redactUserInfo(text))} is not a valid URL`, urlHint(text, source));
  if (!/^https?:\/\/[^/\\]/i.test(text))
    throw usageFailure(`${source}: a base URL must start with https:// or http://`, urlHint(text, source));
  const url = new URL(text);
  // The text is not shown: the part before the @ may be a password.
  if (url.username || url.password)
    throw usageFailure(
      `${source}: a base URL cannot contain a user name or password`,
      `${urlHint(text, source)}; to store credentials, run: svc auth login`,
    );
  if (url.search || url.hash || /[?#]/.test(text))
    throw usageFailure(`${source}: a base URL cannot contain a query or a fragment`, urlHint(text, source));
  return url;
}

// The next step after a text that is no base URL: the likely one, where `source` takes it.
function urlHint(text: string, source: string): string {
  if (Number(/:(\d+)(?:\/|$)/.exec(text)?.[1]) > 65535) return 'a port is a number up to 65535';
  if (/:\d+:\d+(?:\/|$)/.test(text)) return 'it has two ports; remove one';
  if (/^(?:unix|file):/i.test(text)) return 'svc connects to a host and a port: use a URL like http://127.0.0.1:8080';
  const url = likelyUrl(text);
  if (!url) return /\s/.test(text) ? 'remove the space or line break' : 'use a URL like https://api.example.com';
  if (source.startsWith('--')) return `write ${source} ${shellWord(url)}`;
  return /^[A-Z_]+$/.test(source) ? `run: export ${source}=${shellWord(url)}` : `did you mean ${url}?`;
}

// `localhost:8080`, `http//x.com`, `:8080`, `<https://x.com>`; undefined for a text without a host.
function likelyUrl(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^["'<`]+|["'>`]+$/g, '')
    .replace(/[?#].*$/s, '');
  const [, scheme = '', rest = bare] =
    /^([a-z]*)(?::[/\\]+|[/\\]{2,})(.*)$/is.exec(bare) ?? /^(https?):(.*)$/is.exec(bare) ?? [];
  const host = rest.replace(/^.*@/s, '').replace(/^:?(?=\d{2,5}(?:\/|$))/, 'localhost:');
  const isHost = /^(?:\[[\da-f:]+\]|localhost\b|[\w-]+(?:\.[\w-]+)*)(?::\d+)?(?:\/[\w.~%:/-]*)?$/i.test(host);
  // A word such as `example` is no host.
  if (!isHost || !(scheme || /[.:]|^localhost/.test(host)) || !URL.canParse(`http://${host}`)) return undefined;
  const { hostname } = new URL(`http://${host}`);
  const isInside = isLoopbackUrl({ hostname }) || /^[\d.]+$|^[\w-]+$/.test(hostname);
  const isSecure = scheme === '' ? !isInside : !/^h?t{1,2}p$|^ws$/i.test(scheme);
  return `${isSecure ? 'https' : 'http'}://${host}`;
}

// What else APIs of this family have below /v1.
const OTHER_PATH =
  /\/v1\/(?:chat|completions|embeddings|messages|models|moderations|rerank|responses|files|batches|(?:audio|images)\/\w+)$/;

/** The path of an operation, also without its version, or of another API, that a base URL ends in, as when the URL of a request is given. */
export function operationPathIn({ pathname }: URL): string | undefined {
  const paths = allOperations.flatMap(({ path }) => [path, path.replace(/^\/v1(?:\/preview)?/, '')]);
  const given = pathname.replace(/\/$/, '');
  return paths.find((path) => given.endsWith(path)) ?? OTHER_PATH.exec(given)?.[0];
}

/** The URL of a path below a base URL. A path prefix stays; a base that ends in `/v1` does not give `/v1/v1`, and so on. */
export function joinUrl(base: URL, path: string): string {
  const given = base.pathname.replace(/(?<!\/)\/+$/, '');
  const prefix = given.slice(0, given.length - (operationPathIn(base)?.length ?? 0));
  const shared = ['/v1/preview', '/v1'].find((end) => prefix.endsWith(end) && path.startsWith(`${end}/`)) ?? '';
  return base.origin + prefix + path.slice(shared.length);
}
