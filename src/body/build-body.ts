import type { Issue } from '../errors.ts';
import { uuidV7 } from '../fields/uuid.ts';
import { type FlagTarget, flagTarget } from '../operations/operation.ts';
import { type AutofillSettings, createAutofill } from './autofill.ts';
import { readBodyBase } from './body-base.ts';
import { invalidBodyFailure, stdinMessage } from './body-check.ts';
import type { BodyBase, CommandInput, LabeledBytes } from './command-input.ts';
import { createDraft, type Draft, orderAddedFields, setDraftFields } from './draft.ts';
import { applyFlags, fieldEdits, setFlagEdits } from './flag-edits.ts';
import type { BodyDependencies } from './input-reader.ts';
import {
  emptyBodyJson,
  isIssue,
  isYamlFile,
  type JsonSource,
  type ParsedBody,
  parseJsonSource,
  toParsedBody,
} from './json-source.ts';
import { parseFileArguments } from './named-inputs.ts';

export interface BuildOptions {
  /** The values for absent fields; undefined for `--exact`. */
  readonly settings: AutofillSettings | undefined;
  /** The messages of `--conversation`. */
  readonly conversation: JsonSource | undefined;
  /** What the body starts from, if it was read before. */
  readonly base?: BodyBase;
}

/** A body that is ready to be checked, and the inputs that could not become part of it. */
export interface BuiltBody {
  readonly draft: Draft;
  readonly inputIssues: readonly Issue[];
}

/**
 * Builds the body of a request from a file or stdin, field flags, shorthands, `--set` and autofill, each changing only
 * the fields it names. Throws Failure: usage, `local_file` for files, `body` for a whole body that cannot be parsed.
 */
export async function buildBody(
  input: CommandInput,
  { settings, conversation, ...options }: BuildOptions,
  dependencies: BodyDependencies,
): Promise<BuiltBody> {
  const { operation, args, flags } = input;
  const target = flagTarget(operation);
  const base = options.base ?? (await readBodyBase(input, dependencies));
  const files = parseFileArguments(operation, args, flags);
  const fields = await fieldEdits(target, files.otherFlags, dependencies);
  const sets = setFlagEdits(operation, flags);
  const source = await parseBaseBody(base, target);
  const isChanged = fields.edits.length + files.edits.length > 0;
  const earlyIssues = [
    ...(isIssue(source) ? [source] : isChanged ? source.editIssues : []),
    ...fields.issues,
    ...sets.issues,
  ];
  if (isIssue(source))
    throw invalidBodyFailure(earlyIssues, 0, base.stdinUse ? stdinMessage(base.stdinUse, operation) : yamlHint(source));

  const parsed = createDraft(source.source, emptyBodyJson(target), base.stdinUse);
  const withFields = setDraftFields(parsed, target.path, [...fields.edits, ...files.edits]);
  const messages = { prompt: base.prompt, conversation };
  const { draft, issues } = await applyFlags(withFields, operation, flags, sets.edits, messages, dependencies);
  const { now, randomBytes } = dependencies;
  const generators = { now, newId: () => uuidV7(now(), randomBytes(10)) };
  const added = settings ? createAutofill(target)(draft, settings, generators) : [];
  return {
    draft: orderAddedFields(setDraftFields(draft, target.path, added), target),
    inputIssues: [...earlyIssues, ...issues],
  };
}

// Text that begins with a word, a comment or `---` may be YAML.
function yamlHint({ at, message }: Issue): string | undefined {
  return /:1:(1 invalid JSON: expected a value, found "[\w#]"|2 invalid JSON: a malformed number)$/.test(
    `${at} ${message}`,
  )
    ? 'a body is JSON, or YAML in a file whose name ends in .yaml or .yml: -f body.yaml'
    : undefined;
}

async function parseBaseBody({ whole }: BodyBase, target: FlagTarget): Promise<ParsedBody | Issue> {
  if (!whole) return { source: undefined, editIssues: [] };
  const read = whole.issue ?? (await parseWholeBody(whole));
  return isIssue(read) ? read : toParsedBody({ ...read, position: whole.position ?? read.position }, target);
}

// Only a YAML body loads the library that reads it.
async function parseWholeBody({ label, bytes }: LabeledBytes): Promise<JsonSource | Issue> {
  if (!isYamlFile(label)) return parseJsonSource(label, bytes);
  const { parseYamlSource } = await import('./yaml-source.ts');
  return parseYamlSource(label, bytes);
}
