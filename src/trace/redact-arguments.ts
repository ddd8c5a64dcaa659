import { isSecretName } from './secret-names.ts';

const REDACTED = '[redacted]';

// A shorter value of a secret variable occurs in ordinary words.
const MIN_SECRET_CHARS = 4;

/**
 * The arguments of a command without secrets: the values given, the values of flags, assignments and headers whose names
 * say that they are secret, and the user information of URLs (docs/contract.md section 12).
 */
export function redactArguments(words: readonly string[], secretValues: readonly string[]): string[] {
  const values = secretValues.filter(({ length }) => length >= MIN_SECRET_CHARS).sort((a, b) => b.length - a.length);
  let isSecretNext = false;
  return words.map((word, index) => {
    const isValue = isSecretNext;
    isSecretNext = index > 0 && isSecretFlag(word);
    if (isValue && !isSecretNext) return REDACTED;
    return redactWord(
      values.reduce((text, value) => text.replaceAll(value, REDACTED), word),
      index > 0,
    );
  });
}

/** The values of environment variables whose names say that they are secret. */
export function secretEnvironmentValues(env: { readonly [name: string]: string | undefined }): string[] {
  return Object.entries(env).flatMap(([name, value]) => (value && isSecretName(name) ? [value] : []));
}

// `--password`, whose value is the next word; `-u` of curl and `-p` of others are too ambiguous to guess.
function isSecretFlag(word: string): boolean {
  const [, name] = /^--?([A-Za-z][\w-]*)$/.exec(word) ?? [];
  return name !== undefined && name.length > 1 && isSecretName(name);
}

function redactWord(word: string, canBeAssignment: boolean): string {
  const withoutUserInfo = word
    .replace(/([a-z][a-z0-9+.-]*:\/\/)[^/?#\s@]*(?:@[^/?#\s@]*)*@/gi, `$1${REDACTED}@`)
    .replace(/([?&;]([\w.-]+)=)[^&;#\s]*/g, (match, start: string, name: string) =>
      isSecretName(name) ? `${start}${REDACTED}` : match,
    );
  if (!canBeAssignment) return withoutUserInfo;
  const [, name = '', separator = ''] = /^(?:--?)?([A-Za-z][\w.-]*)\s*([=:])\s*\S/s.exec(withoutUserInfo) ?? [];
  if (!isSecretName(name)) return withoutUserInfo;
  return `${withoutUserInfo.slice(0, withoutUserInfo.indexOf(separator) + 1)}${separator === ':' ? ' ' : ''}${REDACTED}`;
}
