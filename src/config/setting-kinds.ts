import { resolve } from 'node:path';
import { invalidValueFailure, usageFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import { hasFormat, stringFormats } from '../fields/string-formats.ts';
import { type OptionValues, optionKey } from '../flag.ts';
import type { HttpHeaders } from '../http/message.ts';
import { likelyNumbers } from '../json/number-literal.ts';
import { shellWord } from '../output/shell-quote.ts';
import { parseBaseUrl } from './base-url.ts';
import { basicAuthorization } from './credentials/credential.ts';
import type { Profile } from './profile-store.ts';
import { type Setting, settingFlagName, settings } from './settings.ts';

/** The value of a setting as profiles store it; paths become absolute. Throws usage, naming `label`, for an invalid text. */
export function readSettingValue(setting: Setting, text: string, label: string, cwd: string): SettingValue {
  const { kind, choices = [] } = setting;
  if (kind === 'command') return parseCredentialCommand(text, label, cwd);
  if (kind === 'file' || kind === 'directory') return resolve(cwd, text);
  if (kind === 'url') parseBaseUrl(text, label);
  if (kind === 'username') basicAuthorization(text, '');
  if (kind === 'duration') parseDurationOrZeroMs(label, text);
  if (kind === 'count') parseCount(label, text);
  if (kind === 'statuses') parseServerStatuses(label, text);
  if (kind === 'price') parsePrice(label, text);
  if (kind === 'project' && !hasFormat(text, 'project-id'))
    throw invalidValueFailure(label, text, stringFormats['project-id'].description);
  if (kind === 'choice' && !choices.includes(text)) throw invalidValueFailure(label, text, joinWithOr(choices));
  return text;
}

const JSON_EXAMPLE_HINT = `write it like '["/usr/bin/pass","show","svc"]'`;

// A JSON array of strings, or words separated by spaces. A relative path of the program starts from `cwd`.
function parseCredentialCommand(text: string, flag: string, cwd: string): readonly string[] {
  const isJson = text.trimStart().startsWith('[');
  const [special] = (!isJson && /["'`$|&;<>()*?~\\]/.exec(text)) || [];
  if (special !== undefined)
    throw usageFailure(
      `${flag} contains ${special}, which needs a shell, and svc runs none`,
      `write it like ${shellWord(JSON.stringify(['sh', '-c', text]))}`,
    );
  const words = isJson ? parseJsonWords(text, flag) : text.split(/\s+/).filter((word) => word !== '');
  const [program = '', ...args] = words;
  if (program === '') throw usageFailure(`${flag} does not name a program`, 'write it like "/usr/bin/pass show svc"');
  return [/[/\\]/.test(program) ? resolve(cwd, program) : program, ...args];
}

function parseJsonWords(text: string, flag: string): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw usageFailure(`${flag} is not valid JSON`, JSON_EXAMPLE_HINT);
  }
  const isWord = (word: unknown): word is string => typeof word === 'string' && !word.includes('\0');
  if (Array.isArray(value) && value.every(isWord)) return value;
  throw usageFailure(`${flag} must be an array of strings`, JSON_EXAMPLE_HINT);
}

/** The value that `read` finds in a text. Throws usage where it finds none; the hint is the number that the text likely means, else `expected`. */
export function parseNumeric<T>(
  label: string,
  text: string,
  expected: string,
  read: (text: string) => T | undefined,
): T {
  const value = read(text);
  if (value !== undefined) return value;
  // A percentage is a value of its own where one is expected.
  const isMeant = (one: string): boolean => read(one) !== undefined && !(text.endsWith('%') && Number(one) >= 1);
  const meant = expected.includes('%') ? undefined : likelyNumbers(text).find(isMeant);
  if (meant === undefined) throw invalidValueFailure(label, text, expected);
  throw usageFailure(`${label} cannot be ${JSON.stringify(text)}`, `write it as ${meant}`);
}

/** Throws usage, naming `label`, for anything but 0 to 99. */
export function parseCount(label: string, text: string): number {
  return parseNumeric(label, text, 'a number from 0 to 99', (one) => (/^\d{1,2}$/.test(one) ? Number(one) : undefined));
}

/** Throws usage, naming `label`, for anything but an amount such as 2.5. */
export function parsePrice(label: string, text: string): number {
  const read = (one: string) => (/^\d{1,12}(\.\d{1,12})?$/.test(one) ? Number(one) : undefined);
  return parseNumeric(label, text, 'an amount such as 2.5', read);
}

/** HTTP statuses from 500 to 599, separated by commas. Throws usage, naming `label`, for anything else. */
export function parseServerStatuses(label: string, text: string): number[] {
  const statuses = text.split(',').map((status) => status.trim());
  if (statuses.every((status) => /^5\d\d$/.test(status))) return statuses.map(Number);
  throw invalidValueFailure(label, text, 'statuses from 500 to 599, such as 503,529');
}

/** Settings and their new values; an empty value removes the setting. */
export type ProfileChanges = { readonly [setting: string]: SettingValue };

type SettingValue = string | readonly string[];

export function readProfileChanges(options: OptionValues, cwd: string): ProfileChanges {
  const entries = settings.flatMap((setting: Setting) => {
    const flag = settingFlagName(setting);
    const text = setting.isStored && setting.flag ? options[optionKey(flag)] : undefined;
    if (typeof text !== 'string') return [];
    return [[setting.name, text === '' ? text : readSettingValue(setting, text, `--${flag}`, cwd)] as const];
  });
  return Object.fromEntries(entries);
}

export function applyProfileChanges(profile: Profile, changes: ProfileChanges): Profile {
  return Object.fromEntries(Object.entries({ ...profile, ...changes }).filter(([, value]) => value !== ''));
}

const MS_PER_UNIT: { readonly [unit: string]: number } = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

const DURATION = /^(?:\d*\.?\d+d)?(?:\d*\.?\d+h)?(?:\d*\.?\d+m)?(?:\d*\.?\d+s)?(?:\d*\.?\d+ms)?$/;

const UNIT_WORD =
  /^(?:(ms|msecs?|millis(?:econds?)?)|(d)(?:ays?)?|(h)(?:rs?|ours?)?|(m)(?:ins?|inutes?)?|(s)(?:ecs?|econds?)?)$/i;

// Longer timers of Node fire at once.
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Milliseconds of `500ms`, `90s`, `1h30m`, `1d`, or a number of seconds. Throws usage for anything else, 0 included. */
export function parseDurationMs(sourceName: string, text: string): number {
  const milliseconds = readDurationMs(text);
  if (milliseconds > 0 && milliseconds <= MAX_TIMER_MS) return milliseconds;
  // `5 min` and `0,5s`.
  const meant = text
    .replace(/[\s_]/g, '')
    .replace(/[a-z]+/gi, unitOf)
    .replace(/,(?=\d\d?(?!\d))/, '.');
  const isMeant = milliseconds !== 0 && readDurationMs(meant) > 0 && readDurationMs(meant) <= MAX_TIMER_MS;
  const hint = isMeant ? `write it as ${meant}` : 'write a time like 500ms, 90s, 2m30s, 1h or 1d, at most 596h';
  throw usageFailure(`${sourceName} cannot be ${JSON.stringify(text)}`, hint);
}

function unitOf(word: string): string {
  const [, ms, ...units] = UNIT_WORD.exec(word) ?? [];
  return ms ? 'ms' : (units.find((unit) => unit !== undefined) ?? word).toLowerCase();
}

export function parseDurationOrZeroMs(sourceName: string, text: string): number {
  return readDurationMs(text) === 0 ? 0 : parseDurationMs(sourceName, text);
}

// NaN for a text that is not a duration.
function readDurationMs(text: string): number {
  const full = /^\d*\.?\d+$/.test(text) ? `${text}s` : text;
  if (full === '' || !DURATION.test(full)) return Number.NaN;
  const parts = Array.from(full.matchAll(/([\d.]+)(ms|[dhms])/g));
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (MS_PER_UNIT[unit] ?? 0), 0);
}

const RESERVED_HEADERS =
  /^(content-type|content-length|authorization|host|transfer-encoding|connection|expect|upgrade|keep-alive)$/i;

/** The headers of `-H 'Name: value'`. Throws usage for one that is malformed or not for users to set. */
export function parseHeaderFlags(values: readonly string[]): HttpHeaders {
  return values.map((text) => {
    const [, name = '', value = ''] = /^([^:]*):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
    return requireValidHeader(name, value, '--header');
  });
}

/** A header of the user. Throws usage for one that HTTP or svc does not allow; `source` names it. */
function requireValidHeader(name: string, value: string, source: string): HttpHeaders[number] {
  // The value is not repeated: it may be a secret.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
    throw usageFailure(`${source} needs a name and a value`, "write -H 'Name: value'");
  const instead = /^authorization$/i.test(name) ? 'to store credentials, run: svc auth login' : 'leave it out';
  if (RESERVED_HEADERS.test(name))
    throw usageFailure(`${source} cannot set ${name}`, `svc sets that header itself; ${instead}`);
  const message = `${source} ${name} has characters that a header cannot contain`;
  const correction = /[\r\n]/.test(value) ? 'write one -H for each header' : 'use only printable characters of Latin-1';
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) throw usageFailure(message, correction);
  return [name, value];
}

/** The headers of a profile, which are sent to the origins that they were stored for. */
export function profileHeaders(
  { name, profile }: { readonly name: string; readonly profile: Profile },
  url: URL | undefined,
): HttpHeaders {
  const { headers = {}, header_origins: origins = [] } = profile;
  if (!url || !origins.includes(url.origin)) return [];
  return Object.entries(headers).map((header) => requireValidHeader(...header, `profile "${name}": header`));
}
