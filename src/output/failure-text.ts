import type { Failure, Issue } from '../errors.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { markForeignLines, markFurtherLines } from './foreign-text.ts';

const MAX_MESSAGE_CHARS = 900;
const MAX_EXCERPT_CHARS = 52;
// All of them are in the JSON object.
const MAX_SAME_ISSUES = 5;

export function failureText({ message, facts }: Failure, redact: (text: string) => string): string {
  const { hint, issues = [], ids = {}, requestId, applied, isBatch, isRead } = facts;
  const redactText = (text: string): string => redactAndTruncate(text, redact);
  const lines = [`svc: ${redactText(message)}`];
  for (const issue of issues) {
    const same = issues.filter((other) => other.path === issue.path && other.message === issue.message);
    const at = same.indexOf(issue);
    if (at < MAX_SAME_ISSUES) lines.push(`  ${issueText(issue, redactText)}`, ...excerptLines(issue, redact));
    if (at === MAX_SAME_ISSUES) lines.push(`  ... and ${same.length - at} more like these`);
  }
  if (requestId) lines.push(`  request id: ${redactText(requestId)}`);
  const suffix = applied === 'unknown' ? ', if applied' : '';
  for (const [name, id] of Object.entries(ids)) {
    // `request` is the field request_id of a body, not the request id of the response.
    const label = name === 'request' ? 'request_id' : name.replaceAll('_', ' ');
    lines.push(`  ${label}${suffix}: ${redact(id)}`);
  }
  if (applied === 'yes' && !isBatch && !isRead) lines.push('  the request was applied');
  if (hint) lines.push(`  ${redact(hint)}`);
  return `${lines.map((line, at) => (at === 0 ? markFurtherLines(line) : markForeignLines(line))).join('\n')}\n`;
}

/** A failure as one JSON object (docs/contract.md, section 6), with each text redacted. */
export function failureJson(failure: Failure, redact: (text: string) => string): string {
  return writeJson({ error: failureFields(failure, redact) });
}

export function failureFields(
  failure: Failure,
  redact: (text: string) => string,
): { readonly [name: string]: JsonValue | undefined } {
  const { message, code, exitCode, facts } = failure;
  const { hint, status, serviceCode, url, requestId, applied = 'no', phase, bytesSent, attempts = 0 } = facts;
  const { ids = {}, rateLimit, issues = [] } = facts;
  const redactText = (text: string): string => redactAndTruncate(text, redact);
  const redactValues = (values: { readonly [name: string]: string }): { readonly [name: string]: string } =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, redactText(value)]));
  return {
    schema_version: 1,
    code,
    message: redactText(message),
    hint: hint === undefined ? undefined : redact(hint),
    exit_code: exitCode,
    status,
    service_code: serviceCode === undefined ? undefined : redactText(serviceCode),
    url: url === undefined ? undefined : redact(url),
    request_id: requestId === undefined ? undefined : redactText(requestId),
    retryable: failure.resend.canRerun,
    applied,
    phase,
    bytes_sent: bytesSent,
    attempts,
    ids: redactValues(ids),
    rate_limit: rateLimit && redactValues(rateLimit),
    issues: issues.map(({ path, at, message: text }) => redactValues({ path, at, message: text })),
  };
}

// The line and a caret; nothing of a line that may hold a secret.
function excerptLines({ excerpt }: Issue, redact: (text: string) => string): string[] {
  if (!excerpt?.line.trim() || redact(excerpt.line) !== excerpt.line) return [];
  const start = Math.max(0, excerpt.offset - MAX_EXCERPT_CHARS / 2);
  const shown = excerpt.line.slice(start, start + MAX_EXCERPT_CHARS).replace(/\s/g, ' ');
  return [`    ${shown}`, `    ${' '.repeat(excerpt.offset - start)}^`];
}

/** An issue on one line: location and message, each redacted. A service may report a message without a location. */
export function issueText(issue: Issue, redact: (text: string) => string = String): string {
  return [locationText(issue), issue.message]
    .filter((part) => part !== '')
    .map(redact)
    .join(': ');
}

// A field is named once: `--sample-limit` already names it.
function locationText({ at, path }: Issue): string {
  const flag = /^--(set )?(.*?)(?::\d+:\d+)?$/s.exec(at);
  const field = flag?.[1] ? flag[2] : flag?.[2]?.replaceAll('-', '_');
  const isNamed =
    field !== undefined && (path === field || path.replace(/^_+/, '') === field || path.endsWith(`.${field}`));
  return [at, isNamed ? '' : path].filter((part) => part !== '').join(' ');
}

// Redacted before it is truncated: half of a secret would not be recognized.
function redactAndTruncate(text: string, redact: (text: string) => string): string {
  const redacted = redact(text);
  return redacted.length > MAX_MESSAGE_CHARS ? `${redacted.slice(0, MAX_MESSAGE_CHARS)}…` : redacted;
}

interface Annotation {
  readonly level: 'error' | 'warning';
  readonly title: string;
  readonly message: string;
  /** `groups.jsonl:12:7`, or the name of a file alone. */
  readonly at: string;
}

/** The workflow command, one line without its end, that makes GitHub Actions show a finding; it may be printed to stdout or stderr. */
export function formatGithubAnnotation({ level, title, message, at }: Annotation): string {
  const [, file = at, line, column] = /^(.*?):(\d+):(\d+)$/.exec(at) ?? [];
  const properties = Object.entries({ file: file === 'stdin' ? undefined : file, line, col: column, title })
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value = '']) => `${name}=${escapeData(value).replaceAll(':', '%3A').replaceAll(',', '%2C')}`);
  return `::${level} ${properties.join(',')}::${escapeData(message)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
