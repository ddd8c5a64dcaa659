import type { Failure, Issue, Place } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { compactJson, isRecord, type JsonValue, RawJson, writeJson } from '../json/write-json.ts';
import { factsFor } from '../operations/received-facts.ts';
import { markForeignLines, markFurtherLines } from './escape-controls.ts';

const MAX_MESSAGE_CHARS = 900;
const MAX_EXCERPT_CHARS = 52;
// All of them are in the JSON object.
const MAX_SAME_ISSUES = 5;

export function failureText({ message, facts }: Failure, redact: (text: string) => string, isVerbose = false): string {
  const { hint, issues = [], ids = {}, received = {}, applied, isBatch, effect } = facts;
  const redactText = (text: string): string => redactAndTruncate(text, redact);
  const lines = [`svc: ${redactText(message)}`];
  for (const issue of issues) {
    const same = issues.filter((other) => other.path === issue.path && other.message === issue.message);
    const at = same.indexOf(issue);
    if (at < MAX_SAME_ISSUES) lines.push(`  ${issueText(issue, redactText)}`, ...excerptLines(issue, redact));
    if (at === MAX_SAME_ISSUES) lines.push(`  ... and ${same.length - at} more like these`);
  }
  const shown = isVerbose ? factsFor('error', received) : { request_id: received.request_id };
  for (const [name, value] of Object.entries(shown))
    if (value !== undefined) lines.push(`  ${factText(name, value, redactText)}`);
  const suffix = applied === 'unknown' ? ', if applied' : '';
  for (const [name, id] of Object.entries(ids)) {
    // `request` is the field request_id of a body, not the request id of the response.
    const label = name === 'request' ? 'request_id' : name.replaceAll('_', ' ');
    lines.push(`  ${label}${suffix}: ${redact(id)}`);
  }
  if (applied === 'yes' && !isBatch && effect !== 'read') lines.push('  the request was applied');
  if (hint) lines.push(`  ${redact(hint)}`);
  return `${lines.map((line, at) => (at === 0 ? markFurtherLines(line) : markForeignLines(line))).join('\n')}\n`;
}

/** A failure as one JSON object (docs/internals/contract.md, section 6), with each text redacted. */
export function failureJson(failure: Failure, redact: (text: string) => string): string {
  return writeJson({ error: failureFields(failure, redact) });
}

export function failureFields(
  failure: Failure,
  redact: (text: string) => string,
  maxBodyChars = Number.POSITIVE_INFINITY,
): { readonly [name: string]: JsonValue | undefined } {
  const { message, code, exitCode, facts } = failure;
  const { hint, status, url, received, applied = 'no', phase, bytesSent, attempts = 0 } = facts;
  const { ids = {}, issues = [] } = facts;
  const { body, ...shown } = factsFor('error', received);
  const redactText = (text: string): string => redactAndTruncate(text, redact);
  return {
    schema_version: 1,
    code,
    message: redactText(message),
    hint: hint === undefined ? undefined : redact(hint),
    exit_code: exitCode,
    cause: facts.cause,
    ...mapTexts({ stopped: facts.stopped }, redactText),
    status,
    url: url === undefined ? undefined : redact(url),
    ...mapTexts(shown, redactText),
    body: typeof body === 'string' ? bodyValue(redact(body), maxBodyChars) : undefined,
    retryable: failure.resend.canRerun,
    applied,
    phase,
    bytes_sent: bytesSent,
    attempts,
    ids: mapTexts(ids, redactText),
    issues: issues.map(({ path, at, message: text }) =>
      mapTexts({ path, at: formatPlace(at), message: text }, redactText),
    ),
  };
}

// JSON, if it is complete.
function bodyValue(text: string, maxChars: number): JsonValue {
  const root = text.length > maxChars ? undefined : tryParseJson(text);
  return root ? new RawJson(compactJson(root)) : text.slice(0, maxChars);
}

/** A fact as text: `request id: 7f3a`. */
export function factText(name: string, value: JsonValue, redact: (text: string) => string = String): string {
  const text = typeof value === 'string' ? value : Array.isArray(value) ? value.join(', ') : writeJson(value);
  return `${name.replaceAll('_', ' ')}: ${redact(text)}`;
}

/** A value with each text in it mapped; RawJson stays, which is a number or a document. */
export function mapTexts<T>(value: T, map: (text: string) => string): T {
  const mapped = (inner: unknown): unknown => {
    if (typeof inner === 'string') return map(inner);
    if (Array.isArray(inner)) return inner.map(mapped);
    if (!isRecord(inner) || inner instanceof RawJson) return inner;
    const members = Object.entries(inner).filter(([, member]) => member !== undefined);
    return Object.fromEntries(members.map(([name, member]) => [name, mapped(member)]));
  };
  return mapped(value) as T;
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
  const names = path.split('.').map((_, start, steps) => steps.slice(start).join('.'));
  const isNamed = names.some((name) => at && [`--set ${name}`, `--${flagName(name)}`].includes(at.label));
  return [formatPlace(at), isNamed ? '' : path].filter((part) => part !== '').join(' ');
}

/** `body.json:12:7`, `rows.csv row 12` or `--seed`; empty without a place. */
export function formatPlace({ label, line, column }: Place = { label: '' }): string {
  if (line === undefined) return label;
  return column === 0 ? `${label} row ${line}` : [label, line, column ?? []].flat().join(':');
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
  readonly at: Place | undefined;
}

/** The workflow command, one line without its end, that makes GitHub Actions show a finding; it may be printed to stdout or stderr. */
export function formatGithubAnnotation({ level, title, message, at }: Annotation): string {
  const { label: file, line, column: col } = at ?? {};
  const properties = Object.entries({ file: file === 'stdin' ? undefined : file, line, col, title })
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${name}=${escapeData(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`);
  return `::${level} ${properties.join(',')}::${escapeData(message)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
