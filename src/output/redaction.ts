import { Buffer } from 'node:buffer';
import type { HttpHeaders } from '../http/message.ts';
import { applySplices, type Splice } from '../json/edit.ts';
import {
  endOffset,
  formatJsonPath,
  itemsOf,
  type JsonNode,
  kindOf,
  membersOf,
  rawText,
  rootOf,
  startOffset,
  stringOf,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import type { Operation } from '../operations/operation.ts';
import { isRateLimitHeader } from '../operations/received-facts.ts';
import type { Runtime } from '../runtime.ts';

export const REDACTED = '[redacted]';

// Shorter values are parts of ordinary words, and a shorter beginning at the end of a text does not reveal a secret.
const MIN_SECRET_CHARS = 4;
const MIN_PREFIX_CHARS = 6;

/** A redactor of these values. Values of fewer than four characters are not redacted. */
export function createRedactor(initialSecrets: readonly string[]) {
  let secrets: string[] = [];
  let bodySecrets: string[] = [];
  const addSecrets = (newSecrets: readonly string[]): void => {
    secrets = longestFirst([...secrets, ...newSecrets.flatMap(secretForms)]);
    bodySecrets = longestFirst([...bodySecrets, ...bodySecretForms(newSecrets)]);
  };
  addSecrets(initialSecrets);
  return {
    addSecrets,
    /** The text with `[redacted]` in place of each secret, in any encoding in which a server may return it. */
    redact: (text: string): string => {
      const left = replaceSecrets(text, secrets);
      const start = Math.max(0, ...secrets.map((secret) => trailingPrefixLength(left, secret, MIN_PREFIX_CHARS)));
      return start === 0 ? left : left.slice(0, -start) + REDACTED;
    },
    /** The JSON of a body that is stored, as `redact`; see bodySecretForms. */
    redactBody: (json: string): string => replaceSecrets(json, bodySecrets),
  };
}

/** Users pass a word such as `none` or `EMPTY` to servers that need no token; bodies contain such words for other reasons. */
export const MIN_BODY_SECRET_CHARS = 8;

/** The forms of secrets that are redacted in bodies; a secret of fewer than eight characters stays. */
export function bodySecretForms(secrets: readonly (string | undefined)[]): string[] {
  return secrets.flatMap((secret = '') => (secret.length < MIN_BODY_SECRET_CHARS ? [] : secretForms(secret)));
}

// The texts of at least four characters, each once and longer ones first, because they may contain others.
function longestFirst(texts: readonly string[]): string[] {
  const redactable = texts.filter(({ length }) => length >= MIN_SECRET_CHARS);
  return [...new Set(redactable)].sort((left, right) => right.length - left.length);
}

/** The text with `[redacted]` in place of each secret, in upper or lower case, and of its pieces in two strings of JSON. */
export function replaceSecrets(text: string, secrets: readonly string[]): string {
  const upperText = text.toUpperCase();
  const found = [...secrets, ...splitSecrets(text, secrets)].filter((one) => upperText.includes(one.toUpperCase()));
  return found.reduce((before, one) => before.replace(new RegExp(escapePattern(one), 'gi'), REDACTED), text);
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** The pieces of secrets that end one string of the JSON and begin another; none of fewer than four characters. */
export function splitSecrets(json: string, secrets: readonly string[]): string[] {
  if (!json.includes('"')) return [];
  const text = json.toUpperCase();
  return longestFirst(secrets.flatMap((secret) => splitPieces(text, secret.toUpperCase())));
}

function splitPieces(text: string, secret: string): string[] {
  if (secret.length < 2 * MIN_SECRET_CHARS) return [];
  const lengths = [1, 2, 3];
  const start = secret.slice(0, MIN_SECRET_CHARS);
  for (let at = text.indexOf(start); at !== -1; at = text.indexOf(start, at + 1)) {
    let length = MIN_SECRET_CHARS;
    while (length < secret.length && text[at + length] === secret[length]) length += 1;
    lengths.push(length);
  }
  return [...new Set(lengths)].flatMap((length) => {
    const [first, last] = [secret.slice(0, length), secret.slice(length)];
    const isSplit =
      last !== '' && text.includes(`"${last}`) && [`${first}"`, `${first}\\`].some((end) => text.includes(end));
    return isSplit ? [first, last] : [];
  });
}

// The number of characters at the end of a cut text that begin a secret; 0 for fewer than `minChars`.
function trailingPrefixLength(text: string, secret: string, minChars: number): number {
  const [end, start] = [text.slice(-secret.length).toUpperCase(), secret.toUpperCase()];
  for (let length = Math.min(secret.length - 1, text.length); length >= minChars; length--) {
    if (end.at(-1) === start[length - 1] && end.endsWith(start.slice(0, length))) return length;
  }
  return 0;
}

// The forms in which a server may return a value: unchanged, as Latin-1, escaped as JSON up to three times, as a step of a path,
// percent-encoded, and inside of longer text that is base64.
function secretForms(secret: string): string[] {
  if (secret.length < MIN_SECRET_CHARS) return [];
  const rawForms = [secret, Buffer.from(secret).toString('latin1')];
  const escapedForms = withEscapedForms(rawForms);
  const encodedForms = escapedForms.flatMap((text) => [
    formatJsonPath([text]),
    encodeURIComponent(Buffer.from(text).toString()),
    ...base64Forms(text),
  ]);
  return longestFirst([...withEscapedForms(withEscapedForms(escapedForms)), ...encodedForms]);
}

// Each once: most secrets have nothing to escape, and the forms of forms multiply.
function withEscapedForms(texts: readonly string[]): string[] {
  return [...new Set([...texts, ...texts.flatMap(jsonEscapedForms)])];
}

// As JavaScript, Python and PHP write it.
function jsonEscapedForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const escapeNonAscii = (hexadecimal: (code: string) => string): string =>
    json.replace(/[^ -~]/g, (unit) => `\\u${hexadecimal(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`);
  const ascii = escapeNonAscii((code) => code);
  return [json, ascii, escapeNonAscii((code) => code.toUpperCase()), ascii.replaceAll('/', '\\/')];
}

// Three bytes are four characters, so the form depends on the offset. Characters that other bytes share are left out.
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((paddingBytes) => {
    const padded = Buffer.concat([Buffer.alloc(paddingBytes), bytes]);
    const range = [Math.ceil((paddingBytes * 8) / 6), Math.floor((padded.length * 8) / 6)] as const;
    return [padded.toString('base64').slice(...range), padded.toString('base64url').slice(...range)];
  });
}

/** A body without some secrets, also those split between chunks: bytes that may begin one are held back until the next chunk. */
export async function* redactChunks(
  chunks: AsyncIterable<Uint8Array>,
  secrets: readonly string[],
): AsyncGenerator<Uint8Array> {
  if (secrets.length === 0) return yield* chunks;
  let held = '';
  for await (const chunk of chunks) {
    // Latin-1 keeps every byte, and secrets in headers are ASCII.
    const text = replaceSecrets(held + Buffer.from(chunk).toString('latin1'), secrets);
    const heldChars = Math.max(...secrets.map((secret) => trailingPrefixLength(text, secret, 1)));
    held = text.slice(text.length - heldChars);
    if (heldChars < text.length) yield Buffer.from(text.slice(0, text.length - heldChars), 'latin1');
  }
  if (held !== '') yield Buffer.from(held, 'latin1');
}

/** The values of the secret fields; JSON text for those that are not strings. */
export function secretValues(root: JsonNode, operation: Operation): string[] {
  return secretFields(root, operation).map(({ value }) =>
    kindOf(value) === 'string' ? stringOf(value) : rawText(value),
  );
}

/** A body with `placeholder(name)` in place of every secret value; all other bytes stay. */
export function redactSecretFields(
  root: JsonNode,
  operation: Operation,
  placeholder: (name: string) => string,
): Buffer {
  const splices = secretFields(root, operation).map(({ name, value }) => ({
    start: startOffset(value),
    end: endOffset(value),
    text: JSON.stringify(placeholder(name)),
  }));
  return splices.length === 0 ? root.doc.bytes : applySplices(root.doc.bytes, splices);
}

function secretFields(root: JsonNode, { body }: Operation): { readonly name: string; readonly value: JsonNode }[] {
  return Array.from(membersOf(root)).flatMap(({ key: name, value }) =>
    Object.hasOwn(body, name) && body[name]?.isSecret && kindOf(value) !== 'null' ? [{ name, value }] : [],
  );
}

/** JSON with `[redacted]` in place of texts whose names, at any depth, are those of secrets: `api_key`. */
export function redactNamedSecrets(json: string): string {
  const root = rootOf(parseJson(json));
  return applySplices(root.doc.bytes, [...namedSecretSplices(root)]).toString();
}

function* namedSecretSplices(node: JsonNode): Generator<Splice> {
  for (const item of itemsOf(node)) yield* namedSecretSplices(item);
  for (const { key, value } of membersOf(node))
    if (kindOf(value) === 'string' && isSecretName(key))
      yield { start: startOffset(value), end: endOffset(value), text: JSON.stringify(REDACTED) };
    else yield* namedSecretSplices(value);
}

export function redactHeaders(headers: HttpHeaders, isSecret = isSecretHeader): string[] {
  // The scheme names the kind of credential.
  const redactCredential = (value: string): string => `${/^(Basic|Bearer) /.exec(value)?.[0] ?? ''}${REDACTED}`;
  return headers.map(([name, value]) => `${name}: ${isSecret(name) ? redactCredential(value) : value}`);
}

/** The values of headers that carry a secret. */
export function headerSecrets(headers: HttpHeaders): string[] {
  return headers.flatMap(([name, value]) => (isSecretHeader(name) ? [value] : []));
}

export function isSecretHeader(name: string): boolean {
  return /auth|cookie|key|secret|token|password|credential/i.test(name);
}

/** The tokens of a rate limit are a count, and a challenge names only the scheme that a server wants. */
export function isSecretResponseHeader(name: string): boolean {
  return isSecretHeader(name) && !isRateLimitHeader(name) && !/^(www|proxy)-authenticate$/i.test(name);
}

// Tokens of services, and JSON Web Tokens. Digits are looked for after a beginning alone, so that a text is read in linear time.
const TOKEN_FORM =
  '(?:[grs]?sk[-_]|xai-|hf_|gh[oprsu]_|github_pat_|glpat-|nvapi-|r8_|pplx-|AIza|xox[a-z]-|eyJ[\\w-]+\\.)(?=[\\w.-]*\\d)[\\w.-]{16,}';
const TOKEN = new RegExp(`^(?:(?:Bearer|Basic)\\s+(?=\\S*\\d)\\S{8,}|${TOKEN_FORM})$`);
const TOKENS = new RegExp(`(?<![\\w.-])${TOKEN_FORM}`, 'g');

/** True for a text that has the form of a token, such as `sk-...`, and nothing else. */
export function looksLikeToken(text: string): boolean {
  return TOKEN.test(text);
}

/** The text of a URL, valid or not, with `[redacted]` before its @: that part may be a password. */
export function redactUserInfo(text: string): string {
  const url = /^https?:/i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  // An @ in a path. In all other texts the password may contain a / or another @.
  if (url && !url.username && !url.password) return text;
  return text.replace(/^(\w+:[/\\]+(?![/\\]))?.*@/s, `$1${REDACTED}@`);
}

// The names of variables and flags whose values are redacted in what is recorded about a command.
const SECRET_NAME =
  /(?<!by|com|tres)pass\b|pass(w|phrase|code)|secret|token|bearer|credential|cookie|authorization|signature|private|pwd?\b|\b(auth|pat|sig|jwt|otp|psk)\b|api-?key|access-?key|\bkey$/;

// Counts of tokens and keys of data, and words that only begin like a secret one.
const ORDINARY_NAME =
  /\b(max|min|num|n)-?((new|input|output|prompt|completion|context)-?)*tokens?\b|\b(total|remaining|prompt|completion)-?tokens\b|\btokens?-(count|limit|budget|length|type|per)\b|tokeni[sz]\w*|secretar(y|ies)\b|\bpass-(rate|count)\b|\b(public|primary|foreign|sort|partition|cache|idempotency)-?key\b/g;

// Switches and small numbers are parts of ordinary words, whatever the name of their variable.
const ORDINARY_VALUE = /^(?:true|false|\d{1,5})$/i;

const FLAG = /^--?[A-Za-z][\w-]*$/;
// `NAME=`, `--name=` and, in a script, `--name `, without the value, which may hold an assignment itself: `--env=TOKEN=x`.
const ASSIGNMENT = /(?<![\w.-])(?:([\w.-]+)=|(--?[A-Za-z][\w-]*)\s+(?!-))/g;
const VALUE = /(?:"[^"]*"?|'[^']*'?|[^\s"'&;|])*/y;
const USER_INFO = /:\/\/[^/?#\s]*@/g;

export type ArgumentRedactor = ReturnType<typeof createArgumentRedactor>;

/** Redacts what is recorded about a command (docs/tracing.md): `secrets`, and the values of variables with secret names. */
export function createArgumentRedactor(env: Runtime['env'], secrets: readonly string[]) {
  const named = Object.entries(env).flatMap(([name, value]) =>
    value && isSecretName(name) && !ORDINARY_VALUE.test(value) ? [value] : [],
  );
  const { redact } = createRedactor([...secrets, ...named]);
  const redactText = (text: string): string =>
    redactAssignments(redact(text).replace(TOKENS, REDACTED).replace(USER_INFO, `://${REDACTED}@`));
  return {
    /** A text without secret values, the values of assignments and flags with secret names, and the passwords of URLs. */
    redactText,
    /** The arguments of a command, each as a text, and without the words that follow secret flags. */
    redactArguments: (words: readonly string[]): string[] =>
      words.map((word, at) => {
        const flag = words[at - 1] ?? '';
        return FLAG.test(flag) && isSecretName(flag) && !FLAG.test(word) ? REDACTED : redactText(word);
      }),
    redactVariable: (name: string, value: string): string => (isSecretName(name) ? REDACTED : redactText(value)),
  };
}

function isSecretName(name: string): boolean {
  if (/^(OLD)?PWD$/.test(name)) return false;
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .replace(/[_.]/g, '-')
    .toLowerCase();
  return SECRET_NAME.test(words.replace(ORDINARY_NAME, ''));
}

function redactAssignments(text: string): string {
  let redacted = '';
  let end = 0;
  for (const { 0: start, 1: name, 2: flag = '', index } of text.matchAll(ASSIGNMENT)) {
    const valueStart = index + start.length;
    VALUE.lastIndex = valueStart;
    if (index < end || !isSecretName(name ?? flag) || !VALUE.test(text) || VALUE.lastIndex === valueStart) continue;
    redacted += `${text.slice(end, valueStart)}${REDACTED}`;
    // A word that is an assignment ends with its value.
    end = index === 0 && name !== undefined ? text.length : VALUE.lastIndex;
  }
  return redacted + text.slice(end);
}
