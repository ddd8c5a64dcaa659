import { REDACTED } from '../output/reporter.ts';
import { isSecretName } from './secret-name.ts';

const SECRET_FLAG = /^--?([A-Za-z][\w-]+)$/;

// A name with its separator, before a value: `NAME=`, `NAME+=`, `"name":`, `name[key]=`, `name => `; and `--flag ` or
// `--arg name ` (of jq) or `config set name ` (of npm and others) in a script.
// A match does not include the value, which may itself hold an assignment: `--header=Authorization: x`,
// `https://host/?token=x`. No pattern may start inside of a name: arguments can be long, and the time has to stay linear.
const ASSIGNMENT = /(?<![\w.-])([\w.-]+)[\\"'\]]*\s*[+?!]?[=:]+>?\s*/g;
const FLAG_BEFORE_VALUE =
  /(?<![\w.-])((?:--arg(?:json)?\s{1,9}|--?)[A-Za-z][\w-]+|config(?:ure)?\s{1,9}(?:(?:set|--global)\s{1,9}){0,2}[^\s=]+)\s+(?!-)/g;
const NAME_FLAG = /^(?:--arg(?:json)?|config|set|--global)$/;

// The user name and password of curl and others. Two numbers are a user and a group; a `/` begins a path or a URL.
const USER_AND_PASSWORD = String.raw`["']?(?!\d{1,10}:\d{1,10}(?![^\s"']))[^\s"':/]{1,128}["']?:["']?[^/\s"']`;
const USER_FLAG = /^(?:-[uU]|--(?:proxy-)?user)$/;
const USER_VALUE = new RegExp(`^${USER_AND_PASSWORD}`);
const USER_BEFORE_VALUE = new RegExp(
  String.raw`(?<![\w.-])(?:-[uU]|--(?:proxy-)?user)(?:\s+|=|(?<=-[uU]))(?=${USER_AND_PASSWORD})`,
  'g',
);

// `-p` is a password for sshpass, after `login` (docker, az and others), and for the programs of MySQL and MariaDB, which
// take it only without a space. For others it is a port, a path or a switch.
const SSHPASS = /(?:^|\/)sshpass$/;
const DATABASE_PROGRAM = /(?:^|\/)(?:mysql|mariadb)[\w-]*$/;
const PASSWORD_VALUE = String.raw`(?!(?:[\d.]+:)*\d{1,5}(?!\w))(?=\S)`;
const JOINED_PASSWORD = new RegExp(`^-p${PASSWORD_VALUE}`);
const LOGIN_PASSWORD = new RegExp(`^${PASSWORD_VALUE}`);
// Each `-p` looks back at a limited number of characters.
const AFTER_SSHPASS = String.raw`(?<=(?<![\w.-])sshpass\s{1,9}(?:-[a-oq-z]\s{1,9}){0,4}-p)\s*`;
const WORDS_BEFORE_FLAG = String.raw`\s{1,9}(?:[^\s;|&]{1,99}\s{1,9}){0,16}-p)`;
const AFTER_DATABASE_PROGRAM = String.raw`(?<=(?<![\w.-])(?:mysql|mariadb)[\w-]{0,19}${WORDS_BEFORE_FLAG}`;
const AFTER_LOGIN = String.raw`(?<=(?<![\w.-])login${WORDS_BEFORE_FLAG}\s*`;
const PASSWORD_FLAG_BEFORE_VALUE = new RegExp(
  `-p(?:${AFTER_SSHPASS}|(?:${AFTER_DATABASE_PROGRAM}|${AFTER_LOGIN})${PASSWORD_VALUE})`,
  'g',
);

// A value of a script or of JSON that is neither an array nor an object, up to a separator. A shell joins quoted parts,
// escaped characters and others to one word.
const VALUE = /(?:(?:Basic|Bearer|Token)\s+)?(?:\\?"(?:[^"\\]|\\.)*"?|'[^']*'?|\\.|[^\s"'`;&|)},\\])*/isy;

// The value of a parameter of a URL, in which most separators of scripts may stand.
const PARAMETER_VALUE = /"[^"]*"?|'[^']*'?|[^\s"'`&#]*/y;

// Brackets, and strings with their quotes, which a script may escape.
const BRACKET_OR_STRING = /[[{]|[\]}]|\\"(?:[^"\\]|\\(?:\\\\"|[^"]))*(?:\\")?|"(?:[^"\\]|\\.)*"?|'[^']*'?/gs;

/** A text without the values after secret names, in scripts, headers, URLs and JSON. */
export function redactNamedValues(text: string): string {
  return [ASSIGNMENT, FLAG_BEFORE_VALUE, USER_BEFORE_VALUE, PASSWORD_FLAG_BEFORE_VALUE].reduce(redactMatches, text);
}

/** The indexes of arguments that are secret because of the arguments before them. */
export function secretArgumentIndexes(words: readonly string[]): Set<number> {
  const databaseAt = words.findIndex((word) => DATABASE_PROGRAM.test(word));
  const loginAt = words.indexOf('login');
  const sshpassAt = words.findIndex((word) => SSHPASS.test(word));
  // Its flags end at the first other word, or with the last word.
  const sshpassEnd = [...words, ''].findIndex((word, at) => sshpassAt >= 0 && at > sshpassAt && !word.startsWith('-'));
  const isSecret = (word: string, at: number): boolean => {
    const [first = '', flag = ''] = [words[at - 2], words[at - 1]];
    if (isSecretFlag(flag)) return !isSecretFlag(word);
    if (NAME_FLAG.test(first)) return isSecretName(flag) && !word.startsWith('--');
    if (at <= sshpassEnd && at > sshpassAt) return flag === '-p' || /^-p./.test(word);
    if (flag === '-p' && loginAt >= 0 && loginAt < at - 1) return LOGIN_PASSWORD.test(word);
    if (USER_FLAG.test(flag)) return USER_VALUE.test(word);
    const isLoginOrDatabase = (loginAt >= 0 && loginAt < at) || (databaseAt >= 0 && databaseAt < at);
    return isLoginOrDatabase && JOINED_PASSWORD.test(word);
  };
  return new Set(words.flatMap((word, at) => (isSecret(word, at) ? [at] : [])));
}

function isSecretFlag(word: string): boolean {
  return isSecretName(SECRET_FLAG.exec(word)?.[1] ?? '');
}

function redactMatches(text: string, pattern: RegExp): string {
  let redacted = '';
  let end = 0;
  let nextName = 0;
  let closing: string | undefined;
  for (const { 0: start, 1: name, index } of text.matchAll(pattern)) {
    const valueStart = index + start.length;
    // `--header=Authorization: x` ends where `--header=x` would.
    if (index === 0 || index !== nextName) closing = closingQuoteFor(start, text[index - 1]);
    nextName = valueStart;
    if (index < end || (name !== undefined && !isSecretName(name))) continue;
    const valueEnd = findValueEnd(text, valueStart, index, closing);
    if (valueEnd === valueStart) continue;
    redacted += `${text.slice(end, valueStart)}${REDACTED}`;
    end = valueEnd;
  }
  return redacted + text.slice(end);
}

// A text that begins with an assignment or a header ends with the text; in a script such a text is quoted. Undefined
// elsewhere: the value ends with its own quotes, or at a separator.
function closingQuoteFor(start: string, before: string | undefined): string | undefined {
  if (before === undefined) return '';
  return /["']/.test(before) && !start.includes(before) ? before : undefined;
}

function findValueEnd(text: string, start: number, nameStart: number, closing: string | undefined): number {
  if (closing !== undefined) {
    const end = closing === '' ? -1 : text.indexOf(closing, start);
    return end < 0 ? text.length : end;
  }
  if (/[[{]/.test(text[start] ?? '')) return findClosingBracket(text, start);
  const pattern = /[?&#]/.test(text[nameStart - 1] ?? '') ? PARAMETER_VALUE : VALUE;
  pattern.lastIndex = start;
  pattern.test(text);
  return pattern.lastIndex;
}

// The end of an array or object; the end of the text if it is not closed.
function findClosingBracket(text: string, start: number): number {
  let depth = 0;
  for (const { 0: token, index } of text.slice(start).matchAll(BRACKET_OR_STRING)) {
    if (/^[[{]/.test(token)) depth += 1;
    if (/^[\]}]/.test(token)) depth -= 1;
    if (depth === 0) return start + index + token.length;
  }
  return text.length;
}
