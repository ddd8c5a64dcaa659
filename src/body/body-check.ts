import { Failure, type Issue } from '../errors.ts';
import { fieldFlag, flagName, type Shape } from '../fields/field.ts';
import type { Finding } from '../fields/finding.ts';
import { likelyJson } from '../fields/mismatch-message.ts';
import { stringFormats } from '../fields/string-formats.ts';
import { flagTerm } from '../flag.ts';
import type { JsonNode, JsonPath } from '../json/json-node.ts';
import { formatJsonPath, getMember, kindOf, membersOf, nodeAtPath, rootOf } from '../json/json-node.ts';
import { allOperations } from '../operations/all-operations.ts';
import { foreignPromptFields, messagesFilter, promptColumn } from '../operations/foreign-chat-fields.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import { formatPlace, issueText } from '../output/failure-text.ts';
import type { Reporter } from '../output/reporter.ts';
import { shellWord } from '../output/shell-quote.ts';
import { bodyFormat } from './body-flags.ts';
import { type Draft, originInDraft, placeInDraft, type StdinUse } from './draft.ts';
import { type JsonSource, nestingHint, placeInSource } from './json-source.ts';

interface Strictness {
  readonly isStrict: boolean;
  /** Warnings about values that most servers reject are errors. */
  readonly isAdviceStrict?: boolean;
  /** Errors of the interface are warnings; invalid JSON stays an error. */
  readonly isCheckDisabled: boolean;
  /** With `--exact` svc fills in no field, so findings name no variable that would. */
  readonly isExact?: boolean;
  /** Where the bodies come from, if not from the command line: findings suggest only what that allows. */
  readonly origin?: 'batch' | 'tool';
  readonly profile?: { readonly isLocal: boolean };
}

/** A finding in a part of the body that was streamed and is not in the draft. */
export interface StreamedFinding extends Issue {
  readonly level: Finding['level'];
  readonly code?: Finding['code'];
  readonly more?: number | undefined;
}

export type BodyCheck = Awaited<ReturnType<typeof createBodyCheck>>;

/** The check of an operation's bodies: all findings at once. Those of `streamedFiles` follow all others. */
export async function createBodyCheck(operation: Operation, strictness: Strictness) {
  const { isStrict, isAdviceStrict = false, isCheckDisabled } = strictness;
  const { createBodyValidator } = await import('../fields/schema-validator.ts');
  const validate = createBodyValidator(operation);
  const isError = ({ level, code }: StreamedFinding): boolean =>
    level === 'error' ? !isCheckDisabled : isStrict || (isAdviceStrict && code === 'advice');
  return (draft: Draft, streamedFindings: readonly StreamedFinding[] = [], streamedFiles: readonly string[] = []) => {
    const allFindings = validate(rootOf(draft.doc));
    // A field that svc does not know makes no other file of a whole body.
    const isForeign = (base: JsonSource): boolean =>
      allFindings.some(({ code }) => code === 'missing') ||
      ![...membersOf(rootOf(base.doc))].some(({ key }) => Object.hasOwn(operation.body, key));
    const other =
      draft.base && allFindings.length > 0
        ? (findOtherOperation(draft.base, operation, strictness.origin) ??
          (isForeign(draft.base) ? otherFile(draft.base, operation) : undefined))
        : undefined;
    if (other && !isCheckDisabled) {
      const otherHint = strictness.origin === 'tool' ? undefined : other.hint;
      return { warnings: [], failure: invalidBodyFailure([other.issue], 0, otherHint) };
    }
    // A field whose input could not become part of the body is named once: it is not missing or invalid as well.
    const inputPaths = draft.issues.map(({ path }) => path);
    const isNamed = ({ code, path }: Finding): boolean =>
      (code === 'missing' || code === 'invalid') &&
      inputPaths.some((input) => `${input}.`.startsWith(`${formatJsonPath(path)}.`));
    const bodyFindings = allFindings.filter((finding) => !isNamed(finding));
    // Without streamed findings they are in order, with flags and files as the draft has them.
    const inOrder = <T extends Issue>(issues: readonly T[]): readonly T[] =>
      streamedFindings.length > 0 ? sortIssuesByLocation(issues, streamedFiles) : issues;
    const located = bodyFindings.map((finding) => locateFinding(draft, finding, operation, strictness));
    if (other) located.unshift(other.issue);
    const isMissing =
      !isCheckDisabled && bodyFindings.some(({ code, level }) => code === 'missing' && level === 'error');
    const unread: StreamedFinding[] = [];
    if (draft.stdinUse === 'unread' && !isMissing) {
      const message = `${stdinMessage('unread', operation)}, or --no-stdin to ignore it`;
      unread.push({ level: 'warning', path: '', message });
    }
    const findings = inOrder([...located, ...streamedFindings, ...unread]);
    const errors = inOrder([...draft.issues, ...findings.filter(isError)]);
    const more = errors.reduce((sum, finding) => sum + (finding.more ?? 0), 0);
    const hint = !isMissing
      ? undefined
      : draft.stdinUse
        ? stdinMessage(draft.stdinUse, operation)
        : strictness.origin === 'batch' && draft.base
          ? rowsHint(draft.base, operation)
          : !strictness.origin && draft.base
            ? foreignBodyHint(draft.base, operation)
            : undefined;
    const isStdinEmpty = isMissing && draft.stdinUse === 'empty';
    return {
      warnings: findings.filter((finding) => !isError(finding)),
      failure: errors.length > 0 ? invalidBodyFailure(errors, more, hint).with({ isStdinEmpty }) : undefined,
    };
  };
}

/** The part of a body that was streamed: its errors, findings and files, and the hint for them. */
export interface StreamedPart {
  readonly errors: readonly StreamedFinding[];
  readonly findings: readonly StreamedFinding[];
  readonly files: readonly string[];
  readonly hint: string | undefined;
}

/** Checks a body: reports the warnings, and throws Failure `body` if it must not be sent. */
export async function enforceChecks(
  draft: Draft,
  operation: Operation,
  strictness: Strictness,
  report: Pick<Reporter, 'warn' | 'note'>,
  { errors = [], findings, files, hint }: Partial<StreamedPart> = {},
): Promise<void> {
  const check = await createBodyCheck(operation, strictness);
  const { warnings, failure } = check({ ...draft, issues: [...draft.issues, ...errors] }, findings, files);
  for (const warning of warnings) await report.warn(issueText(warning));
  if (failure) throw failure.with({ hint: hint ?? failure.facts.hint });
  if (hint) await report.note(hint);
}

// The operation whose body was given instead: all its required fields are there, and it knows more of the fields.
function findOtherOperation(base: JsonSource, operation: Operation, origin: Strictness['origin']) {
  const members = [...membersOf(rootOf(base.doc))];
  const knownIn = ({ body }: Operation): string[] =>
    members.flatMap(({ key, value }) => (Object.hasOwn(body, key) && isOfKind(value, body[key]) ? [key] : []));
  const count = knownIn(operation).length;
  const other = allOperations.find((one) => {
    const known = knownIn(one);
    const required = Object.entries(one.body).filter(([, field]) => field.required && !field.fill);
    return known.length > count && required.every(([name]) => known.includes(name));
  });
  if (!other) return undefined;
  const [given, wanted] = [other, operation].map(({ command }) => `svc ${command.join(' ')}`);
  const isBatch = origin === 'batch';
  const file = base.label === 'stdin' && !isBatch ? '' : ` ${isBatch ? '--batch' : '-f'} ${inputWord(base)}`;
  const message = `is a body of ${given}, not of ${wanted}`;
  const issue: StreamedFinding = { level: 'error', path: '', at: placeInSource(base), message };
  return { issue, hint: `run: ${given}${file}${isBatch ? ' -o <new file>' : ''}` };
}

// What has these members is no body, and which command reads it.
const otherFiles = [
  { names: ['line', 'exit_code', 'applied'], kind: 'a result of a batch', words: 'batch report ', after: '' },
  { names: ['resourceSpans'], kind: 'OTLP/JSON', words: 'call import ', after: '' },
  { names: ['trajectories'], kind: 'a group of trajectories', words: 'train ', after: '' },
  { names: ['type', 'properties'], kind: 'a JSON Schema', words: 'chat --json-schema @', after: ' "<prompt>"' },
  { names: ['messages_and_choices'], kind: 'a trajectory', words: 'train ', after: ' --group-by metadata.task' },
];

// The requests of batches of other services: the names of the id and of the body.
const otherRequests = [
  { id: 'custom_id', body: 'params', service: 'Anthropic' },
  { id: 'key', body: 'request', service: 'Gemini' },
  { id: 'recordId', body: 'modelInput', service: 'Bedrock' },
];

// The next step keeps every field, of which the check of the new lines names those that svc does not know.
function otherRequest(base: JsonSource, operation: Operation) {
  const root = rootOf(base.doc);
  if (operation.arguments?.as !== 'prompt') return undefined;
  const found = otherRequests.find(({ id, body }) => getMember(root, id) && getMember(root, body));
  const inner = found && getMember(root, found.body);
  if (!inner || kindOf(inner) !== 'object') return undefined;
  const filter = messagesFilter(inner, foreignField(inner, operation)?.key ?? '');
  const [id, body] = [found.id === 'custom_id' ? found.id : `custom_id:.${found.id}`, `.${found.body}`];
  const convert = shellWord(`{${id},body:${filter ? `(${body} | ${filter})` : body}}`);
  const file = base.label === 'stdin' ? '' : ` ${shellWord(base.label)}`;
  return {
    kind: `a request of ${found.service}'s batches`,
    hint: `write lines for --batch: jq -c ${convert}${file} > lines.jsonl`,
  };
}

/** The issue of what is no body of any operation but a file of another command, and the next step. */
export function otherFile(base: JsonSource | undefined, operation: Operation) {
  if (!base) return undefined;
  const root = rootOf(base.doc);
  const file = otherFiles.find(({ names }) => names.every((name) => getMember(root, name)));
  const found = file
    ? { kind: file.kind, hint: `run: svc ${file.words}${inputWord(base)}${file.after}` }
    : otherRequest(base, operation);
  if (!found) return undefined;
  const message = `is ${found.kind}, not a body of svc ${operation.command.join(' ')}`;
  const issue: StreamedFinding = { level: 'error', path: '', at: placeInSource(base), message };
  return { issue, hint: found.hint };
}

function inputWord({ label }: JsonSource): string {
  return label === 'stdin' ? '-' : shellWord(label);
}

// The text or the messages of a body of another API, or of the row of a table; `column` if several texts could be the prompt.
function foreignField(
  root: JsonNode,
  { body, accepted = {} }: Operation,
): { readonly key: string; readonly isText: boolean } | undefined {
  const known = { ...body, ...accepted };
  const members = [...membersOf(root)].filter(
    ({ key, value }) => !Object.hasOwn(known, key) && ['string', 'list', 'object'].includes(kindOf(value)),
  );
  const texts = members.flatMap(({ key, value }) => (kindOf(value) === 'string' ? [key] : []));
  const column = promptColumn(texts);
  const [named] = [...foreignPromptFields, column].flatMap((name) => members.filter(({ key }) => key === name));
  const list = texts.length > 0 ? undefined : members.find(({ value }) => kindOf(value) === 'list');
  const { key = column, value } = named ?? list ?? {};
  const isText = value ? kindOf(value) === 'string' : texts.length > 0;
  return (value || isText) && /^\w+$/.test(key) ? { key, isText } : undefined;
}

function foreignFieldHint(root: JsonNode, path: JsonPath, operation: Operation, origin: Strictness['origin']): string {
  const { key, isText } = (path[0] === 'messages' && origin !== 'tool' && foreignField(root, operation)) || {};
  if (key === undefined) return '';
  if (origin === 'batch' && isText)
    return `; for prompts from ${getMember(root, key) ? key : 'a column'}, send the file with --rows and {{${key}}}`;
  if (!getMember(root, key)) return '';
  return `; what other APIs have in ${key} is "messages":[{"role":"user","content":"<text>"}]`;
}

/** The command that sends a body of another API with its prompt in `messages`. */
function foreignBodyHint(base: JsonSource, operation: Operation): string | undefined {
  const { key = '' } = foreignField(rootOf(base.doc), operation) ?? {};
  const filter = bodyFormat(base.label) === 'JSON' ? messagesFilter(rootOf(base.doc), key) : undefined;
  if (filter === undefined) return undefined;
  const file = base.label === 'stdin' ? '<file>' : shellWord(base.label);
  return `run: jq ${shellWord(filter)} ${file} | svc chat`;
}

// The lines of a batch that are rows of prompts.
function rowsHint(base: JsonSource, operation: Operation): string | undefined {
  const { key, isText } = (operation.arguments?.as === 'prompt' && foreignField(rootOf(base.doc), operation)) || {};
  return isText ? `write: svc chat --rows ${inputWord(base)} "{{${key}}}" -o <new file>` : undefined;
}

function isOfKind(node: JsonNode, shape: Shape | undefined): boolean {
  if (shape?.type === 'either') return shape.of.some((one) => isOfKind(node, one));
  const kind = shape?.type === 'integer' ? 'number' : shape?.type;
  return kind === 'json' || kind === kindOf(node);
}

export function stdinMessage(use: StdinUse, operation: Operation): string {
  if (use === 'empty') return `stdin was empty; ${bodySourceHint(operation)}`;
  const reader = operation.arguments?.as === 'prompt' ? '--stdin' : '-f -';
  return `stdin was not read because flags were given; add ${reader} to read it`;
}

export function bodySourceHint(operation: Operation): string {
  const required = Object.entries(flagTarget(operation).fields).flatMap(([name, field]) => {
    const flag = fieldFlag(name, field);
    return flag.group === 'Required' && !field.isReadOnly ? flagTerm(flag) : [];
  });
  const [given, piped] =
    operation.arguments?.as === 'prompt' ? ['a prompt', 'text or '] : [`the flags ${required.join(', ')}`, ''];
  return `give ${given}, pipe ${piped}a JSON object into svc, or use -f body.json`;
}

export function invalidBodyFailure(issues: readonly Issue[], more = 0, hint?: string): Failure {
  const errorCount = issues.length + more;
  const count = errorCount === 1 ? 'the body is invalid' : `the body is invalid in ${errorCount} places`;
  return new Failure('body', `${count}; nothing was sent`, { issues, hint });
}

function locateFinding(draft: Draft, finding: Finding, operation: Operation, strictness: Strictness): StreamedFinding {
  const { path, code, level, more, message, flagMessage } = finding;
  const { source, label, path: sourcePath = path } = originInDraft(draft, path);
  const suffix =
    code === 'missing'
      ? sourceHint(path, operation, strictness) +
        nestingHint(rootOf(draft.doc), path, flagTarget(operation)) +
        foreignFieldHint(rootOf(draft.doc), path, operation, strictness.origin)
      : operation.replaces && (code === 'rule' || code === 'large')
        ? '; one server deletes the old record before it rejects this'
        : firstOccurrence(draft, finding);
  return {
    level,
    code,
    more,
    path: formatJsonPath(sourcePath),
    at: placeInDraft(draft, path),
    message:
      (source ? message : (flagMessage ?? message)) +
      suffix +
      (source ? '' : flagHint(label, finding, operation, nodeAtPath(rootOf(draft.doc), path))),
  };
}

// `--set x=1` is a string; only `:=` is JSON. A field that only the service sets is to be removed instead.
function flagHint(label: string, { code, path }: Finding, operation: Operation, node: JsonNode | undefined): string {
  const { fields, path: target } = flagTarget(operation);
  const isReadOnly = path.length === target.length + 1 && fields[String(path.at(-1))]?.isReadOnly;
  if (code !== 'invalid' || isReadOnly) return '';
  const [, list, index] = /^--set ([^=]*?\w)\.(\d+)\b/.exec(label) ?? [];
  if (list) return `; write the element as ${list}[${index}]`;
  // A flag of a text takes no object.
  const isText =
    fields[String(path.at(-1))]?.wider?.some(({ type }) => type === 'object') && path.length === target.length + 1;
  const name = label.startsWith('--set ') ? label.slice('--set '.length) : isText ? String(path.at(-1)) : undefined;
  const [meant = '<json>'] = node ? likelyJson({ type: 'object', fields: operation.body }, path, node) : [];
  if (name)
    return `; ${meant === '<json>' || isText ? 'to set JSON, ' : ''}write --set ${shellWord(`${name}:=${meant}`)}`;
  const takesAge = Object.entries(fields).some(
    ([name, { acceptsAge }]) => acceptsAge && label === `--${flagName(name)}`,
  );
  return takesAge ? '; or give an age such as 7d' : '';
}

function sourceHint(path: JsonPath, operation: Operation, { isExact, origin, profile }: Strictness): string {
  const { shorthands = {}, arguments: operands } = operation;
  const target = flagTarget(operation);
  const name = String(path.at(-1));
  if (path.length !== target.path.length + 1) return '';
  for (const [flag, shorthand] of Object.entries(origin === 'tool' ? {} : shorthands))
    if (shorthand.sets?.some((set) => set.split('.')[0] === name))
      return `; or give --${flag}${shorthand.kind === 'age' ? `, such as --${flag} 7d` : ''}`;
  if (!origin && typeof operands?.as === 'object' && operands.as.filesOf === name)
    return '; or give files as arguments';
  const { [name]: field } = target.fields;
  const form = origin === 'tool' && field?.type === 'string' && field.format ? stringFormats[field.format] : undefined;
  if (form) return `: ${form.description}`;
  const fill = isExact ? undefined : field?.fill;
  if (fill !== 'project' && fill !== 'model') return '';
  const stored = profile?.isLocal ? ' (the local service uses no profile)' : `, or ${name} in the profile`;
  return `; or set SVC_${name.toUpperCase()}${stored}`;
}

function firstOccurrence(draft: Draft, { code, path }: Finding): string {
  if (code !== 'duplicate') return '';
  const { label, source, node } = originInDraft(draft, path.slice(0, -1));
  if (!source || !node) return '';
  for (const { key, value } of membersOf(node))
    if (key === path.at(-1)) return `; the first one is at ${formatPlace(placeInSource({ ...source, label }, value))}`;
  return '';
}

/** Issues in the order of the text: those without a line, then by file, line and column; those in `lastFiles` last. */
export function sortIssuesByLocation<T extends Pick<Issue, 'at'>>(
  issues: readonly T[],
  lastFiles: readonly string[] = [],
): T[] {
  const located = issues.map((issue) => {
    const { label = '', line = 0, column = 0 } = issue.at ?? {};
    return { issue, file: line > 0 ? label : '', line, column };
  });
  const otherFiles = located.map(({ file }) => file).filter((file) => !lastFiles.includes(file));
  const files = [...new Set(['', ...otherFiles, ...lastFiles])];
  const order = (one: (typeof located)[number], other: typeof one): number =>
    files.indexOf(one.file) - files.indexOf(other.file) || one.line - other.line || one.column - other.column;
  return located.toSorted(order).map(({ issue }) => issue);
}
