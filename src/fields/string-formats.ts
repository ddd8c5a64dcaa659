import { usageFailure } from '../errors.ts';

const PROJECT_PATH = 'svc:///[^/]+/[^/]+';
const NAME_AND_DIGEST = '[^/:]+:[^/:]+';
const CALL_ID = '[^/:]+';
const UUID = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
const LOWER_UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const COMMON_DATE =
  '\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))';
const LEAP_YEAR = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const HOUR = '(?:[01]\\d|2[0-3])';

const TIME = `${HOUR}:[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:[Zz]|[+-]${HOUR}:?[0-5]\\d)?`;

const OP_REF = `${PROJECT_PATH}/op/${NAME_AND_DIGEST}`;
const PART = '(?:/(?:attr|key|id)/[^/]+|/index/\\d+)*';
const OBJECT_OR_OP_PART_REF = `${PROJECT_PATH}/(?:object|op)/${NAME_AND_DIGEST}${PART}`;

/** The refs to one kind of thing each. `any-ref` accepts them too. */
const refFormats = {
  'object-ref': refFormat('object', NAME_AND_DIGEST, '<name>:<digest>', 'answer:v3'),
  'call-ref': refFormat('call', CALL_ID, '<call_id>', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05'),
  'op-ref': refFormat('op', NAME_AND_DIGEST, '<name>:<digest>', 'score:v1'),
} as const;

/**
 * The formats of the interface and, after the empty line, formats that only real servers require or accept. `pattern` decides,
 * here and in JSON Schema.
 */
export const stringFormats = {
  'date-time': {
    pattern: `^(?:${COMMON_DATE}|${LEAP_YEAR}-02-29)[Tt]${TIME}$`,
    description: 'a time like 2026-01-31T09:30:00Z',
    sample: '2026-01-31T09:30:00Z',
  },
  uuid: { pattern: `^${UUID}$`, description: 'a UUID', sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05' },
  'project-id': {
    pattern: '^[^/]+/[^/]+$',
    description: 'a project like <entity>/<project>',
    sample: 'acme/support-bot',
  },
  ...refFormats,
  'target-ref': {
    pattern: `^${PROJECT_PATH}/(?:object/${NAME_AND_DIGEST}|call/${CALL_ID})$`,
    description: `${refFormats['object-ref'].description} or ${refFormats['call-ref'].description}`,
    sample: 'svc:///acme/support-bot/object/answer:v3',
  },

  'call-id': {
    pattern: `^(?:${LOWER_UUID}|[0-9a-f]{16})$`,
    description: 'a lowercase UUID or 16 hexadecimal digits',
    sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05',
  },
  'trace-id': {
    pattern: `^(?:${UUID}|[0-9a-fA-F]{32})$`,
    description: 'a UUID or 32 hexadecimal digits',
    sample: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e06',
  },
  'op-name': {
    pattern: `^(?:${OP_REF}${PART}|(?!${PROJECT_PATH}/object/)[^]{0,128})$`,
    description: 'a name of at most 128 characters or an op ref',
    sample: 'answer-question',
  },
  'cache-salt': {
    pattern: '^[^@/\\\\\\0]{0,128}$',
    description: 'at most 128 characters without @, /, \\ and NUL, as from --cache-salt random',
    sample: 'replace-with-43-or-more-random-base64url-characters',
  },
  'display-name': { pattern: '^[^]{0,1024}$', description: 'at most 1,024 characters', sample: 'Answer a question' },
  'object-or-op-part-ref': {
    pattern: `^${OBJECT_OR_OP_PART_REF}$`,
    description: 'an object ref or an op ref, or a part of one',
    sample: 'svc:///acme/support-bot/object/answer:v3/attr/rows/index/2',
  },
  'any-ref': {
    pattern: `^(?:${OBJECT_OR_OP_PART_REF}|${PROJECT_PATH}/(?:call|table|agent_turn|agent_span|agent_conversation)/${CALL_ID})$`,
    description: 'a ref',
    sample: 'svc:///acme/support-bot/agent_turn/0123456789abcdef0123456789abcdef',
  },
  'lax-date-time': {
    pattern: `^(?:${COMMON_DATE}|${LEAP_YEAR}-02-29)(?:[Tt _]${TIME})?$`,
    description: 'a date or a time',
    sample: '2026-01-31 09:30:00',
  },
} as const satisfies Record<string, { pattern: string; description: string; sample: string }>;

export type StringFormat = keyof typeof stringFormats;

const compiledPatterns = new Map<StringFormat, RegExp>();

export function hasFormat(text: string, format: StringFormat): boolean {
  const pattern = compiledPatterns.get(format) ?? new RegExp(stringFormats[format].pattern, 'u');
  compiledPatterns.set(format, pattern);
  return pattern.test(text);
}

/** The kind of a ref, with an article: `a call ref`. */
export function referenceKind(text: string): string | undefined {
  return Object.values(refFormats).find(({ pattern }) => new RegExp(pattern, 'u').test(text))?.kind;
}

function refFormat(name: string, pattern: string, form: string, sample: string) {
  const kind = `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name} ref`;
  return {
    kind,
    pattern: `^${PROJECT_PATH}/${name}/${pattern}$`,
    description: `${kind} like svc:///<entity>/<project>/${name}/${form}`,
    sample: `svc:///acme/support-bot/${name}/${sample}`,
  };
}

/** Milliseconds since 1970 of a time in any form that servers accept, UTC without an offset; NaN for any other text. */
export function parseTime(text: string): number {
  if (!hasFormat(text, 'lax-date-time')) return Number.NaN;
  const [date, time = '00:00'] = text.toUpperCase().split(/[T _]/);
  const zone = /[+-]/.test(time) ? time.replace(/([+-]\d\d)(\d\d)$/, '$1:$2') : `${time.replace('Z', '')}Z`;
  return Date.parse(`${date}T${zone}`);
}

// Seconds since 1970 above this are milliseconds, as servers read them.
const MAX_EPOCH_SECONDS = 2e10;

/** The time of a date, a time with another separator than T, or seconds or milliseconds since 1970; undefined for any other text. */
export function timeToTimestamp(text: string): string | undefined {
  if (/^\d{9,14}(?:\.\d+)?$/.test(text)) {
    const number = Number(text);
    return new Date(number > MAX_EPOCH_SECONDS ? number : number * 1000).toISOString();
  }
  if (hasFormat(text, 'date-time') || !hasFormat(text, 'lax-date-time')) return undefined;
  return text.length === '2026-01-31'.length ? `${text}T00:00:00Z` : text.replace(/[ _]/, 'T');
}

const SECONDS_PER_UNIT: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const UNIT_WORDS = ['s', 'm', 'h', 'd', 'w', 'seconds', 'secs', 'minutes', 'mins', 'hours', 'hrs', 'days', 'weeks'];
// Before it, a year has no four digits.
const EARLIEST_MS = Date.parse('0000-01-01T00:00:00Z');

/** The UTC time an age (`90s`, `15m`, `12h`, `7d`, `2w`) before `now`; undefined if the text is not an age. */
export function ageToTimestamp(text: string, now: number): string | undefined {
  const [, count, unit = ''] = /^(\d+)(s|m|h|d|w)$/.exec(text) ?? [];
  const time = new Date(now - Number(count) * (SECONDS_PER_UNIT[unit] ?? 0) * 1000);
  return time.getTime() >= EARLIEST_MS ? time.toISOString() : undefined;
}

/** As ageToTimestamp. Throws usage for anything but an age. */
export function parseAgeStart(flag: string, text: string, now: number): string {
  const time = ageToTimestamp(text, now);
  if (time !== undefined) return time;
  const problem = /^\d+[smhdw]$/.test(text) ? 'a time before the year 0' : 'not an age';
  const start = flag === '--since' && /^\d{4}-\d\d/.test(text) ? `; for a time, write --start ${text}` : '';
  // `7 days`.
  const [, count, word = ''] = /^(\d+)([a-z]+)$/.exec(text.toLowerCase().replace(/\s/g, '')) ?? [];
  const singular = (one: string): string => one.replace(/(?<=.)s$/, '');
  const unit = UNIT_WORDS.find((one) => singular(one) === singular(word))?.[0];
  const forms = unit && `${count}${unit}` !== text ? `it as ${count}${unit}` : '90s, 15m, 12h, 7d or 2w';
  throw usageFailure(`${flag}: ${JSON.stringify(text)} is ${problem}`, `write ${forms}${start}`);
}
